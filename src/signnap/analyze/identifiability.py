"""Identifiability: can a node be told from the others by its embedding alone, even after a perturbation?"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from ..errors import SignnapError
from ..graph.arrays import Array
from ..ops.geometry import directions, effective_rank, uniformity
from ..rows import Embeddings, as_embeddings, dense_rows, expect_finite

#: An own cosine this little above the best other one is a tie. In float64 it covers the rounding of float32 input,
#: which moves a cosine near 1 by the square of 1e-7 only.
_TIE = 1e-9


@dataclass(frozen=True)
class Identifiability:
    """How distinct nodes are across two perturbed copies.

    ``mean`` is the share of nodes whose nearest embedding (cosine) in the other copy is their own, both directions
    averaged; a tie is not recognised, so a map that sends all nodes to one point scores 0. ``margin`` is the mean
    of own cosine − best other one, ``separation`` 1 − the mean cosine of distinct nodes. These three are None for
    a single node, which has no others. ``effective_rank`` and ``uniformity`` (see ``signnap.ops.geometry``) are those
    of the sampled nodes, averaged over the two copies.

    A zero embedding has cosine 1 with another zero and 0 with anything else.
    """

    mean: float | None
    margin: float | None
    separation: float | None
    effective_rank: float
    uniformity: float
    nodes: int


@torch.no_grad()
def identifiability(
    z1: Embeddings | Array, z2: Embeddings | Array, generator: torch.Generator, *, sample: int = 2000
) -> Identifiability:
    """Compare two perturbed copies over ``sample`` random nodes (all, when there are no more)."""
    z1, z2 = as_embeddings(z1), as_embeddings(z2)
    if tuple(z1.shape) != tuple(z2.shape):
        raise SignnapError(f"the two copies have shapes {tuple(z1.shape)} and {tuple(z2.shape)}: expected equal ones")
    if sample < 1 or not z1.shape[0]:
        raise SignnapError("identifiability was asked of no nodes: expected at least one")
    for name, z in (("first", z1), ("second", z2)):
        expect_finite(z, f" in the {name} copy")
    nodes = torch.randperm(z1.shape[0], generator=generator, device=generator.device)[:sample]
    first, second = dense_rows(z1, nodes).double(), dense_rows(z2, nodes).double()
    mean = margin = separation = None
    if len(nodes) > 1:
        cosines = directions(first) @ directions(second).t()
        own = cosines.diagonal().clone()
        separation = 1 - float((cosines.sum() - own.sum()) / (cosines.numel() - len(own)))
        others = cosines.fill_diagonal_(-torch.inf)
        margins = torch.cat([own - others.amax(dim=1), own - others.amax(dim=0)])
        mean, margin = float((margins > _TIE).double().mean()), float(margins.mean())
    return Identifiability(
        mean=mean,
        margin=margin,
        separation=separation,
        effective_rank=(effective_rank(first) + effective_rank(second)) / 2,
        uniformity=(uniformity(first, sample) + uniformity(second, sample)) / 2,
        nodes=len(nodes),
    )
