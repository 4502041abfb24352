"""Perturbation of the structure: drop edges at random."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from ..errors import SignnapError, unknown_name
from ..graph import View
from ..ops.triton import usable


@dataclass(frozen=True)
class DropEdge:
    """Drop a share of the stored adjacency entries.

    ``law`` is one of these:

    * ``exact``, as in the authors' code: exactly ⌊(1−ratio)·n⌋ of the n stored directed entries stay, each set of that
      size with the same probability. The entry i→j may stay without j→i, and stored self-loops can be dropped too;
    * ``bernoulli``, as in Eq. 2 of the paper: every stored entry is dropped independently with probability ``ratio``;
    * ``undirected``: as ``bernoulli``, but both directions of an edge stay or go together.
    """

    ratio: float = 0.3
    law: str = "exact"

    def __post_init__(self) -> None:
        if not 0 <= self.ratio <= 1:
            raise SignnapError(f"the share of dropped edges is {self.ratio}: expected a number from 0 to 1")
        if self.law not in ("exact", "bernoulli", "undirected"):
            raise unknown_name("law of edge dropping", self.law, ("exact", "bernoulli", "undirected"))

    def __call__(self, view: View, generator: torch.Generator) -> View:
        if self.ratio == 0:
            return view
        stored = view.stored
        if self.law == "exact":
            return view.with_entries(self._drop_exactly(view, generator))
        fate = torch.rand(stored.shape, generator=generator, device=stored.device)
        if self.law == "undirected":
            upper = view.pattern.rows <= view.pattern.indices
            fate = torch.where(upper, fate, fate.index_select(0, view.pattern.mirror))
        return view.with_entries(stored * (fate >= self.ratio))

    def _drop_exactly(self, view: View, generator: torch.Generator) -> Tensor:
        stored, present = view.stored, view.present
        dropped = len(present) - math.floor((1 - self.ratio) * len(present) + 1e-9)
        if usable(stored):
            from ..ops.triton.random_kernels import KEY_WORDS, without_subset

            key = torch.empty(KEY_WORDS, dtype=torch.int64, device=stored.device)
            key.random_(-(2**63), None, generator=generator)
            return without_subset(stored, view.ranks, len(present), dropped, key)
        kept = ~random_subset(len(present), dropped, generator)
        if len(present) == len(stored):
            return stored * kept
        return stored.index_copy(0, present, stored.index_select(0, present) * kept)


def random_subset(size: int, count: int, generator: torch.Generator) -> Tensor:
    """A uniformly random subset of exactly ``count`` out of ``size`` elements, as a mask.

    This costs half as much as a random permutation. Every element draws a 32-bit key, and the elements with the
    smallest keys form the subset. The largest of these keys lies within six standard deviations of its expected place,
    so only the few keys in that band are sorted, or all keys in the rare case that it lies outside. On a GPU all keys
    are sorted, because the size of the band would have to be copied to the CPU first.
    """
    words = torch.empty(-(-size // 2), dtype=torch.int64, device=generator.device)
    keys = words.random_(-(2**63), None, generator=generator).view(torch.int32)[:size]
    chosen = torch.zeros(size, dtype=torch.bool, device=keys.device)
    if keys.is_cuda:
        return chosen.index_fill_(0, keys.argsort(stable=True)[:count], True)
    share = count / max(size, 1)
    spread = 6 * math.sqrt(share * (1 - share) / max(size, 1))
    low, high = (max(-(2**31), min(2**31 - 1, int((share + s * spread) * 2**32 - 2**31))) for s in (-1, 1))
    certain = keys < low
    band = (~certain & (keys <= high)).nonzero().squeeze(1)
    missing = count - int(certain.sum())
    if not 0 <= missing <= len(band):
        certain, band, missing = chosen, torch.arange(size), count
    return certain.index_fill_(0, band[keys[band].argsort(stable=True)[:missing]], True)
