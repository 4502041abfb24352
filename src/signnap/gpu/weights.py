"""The weights of a mean over neighbours: what a view stores, normalised row by row."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

_ENTRIES = 32


@triton.jit
def _with_self(
    indices: tl.tensor,
    mirror: tl.tensor,
    stored: tl.tensor,
    entries: tl.tensor,
    valid: tl.tensor,
    row: tl.tensor,
    INCOMING: tl.constexpr,
) -> tl.tensor:
    """The values of some entries of a row before they are normalised: the diagonal counts once more."""
    loop = (tl.load(indices + entries, mask=valid, other=-1) == row).to(tl.float32)
    if INCOMING:
        opposite = tl.load(mirror + entries, mask=valid, other=0)
        heard = tl.load(stored + opposite, mask=valid, other=0.0) != 0.0
        value = tl.maximum(heard.to(tl.float32), loop)
    else:
        value = tl.load(stored + entries, mask=valid, other=0.0)
    return value + loop


@triton.jit
def _mean_row(
    indptr: tl.tensor,
    indices: tl.tensor,
    mirror: tl.tensor,
    stored: tl.tensor,
    weights: tl.tensor,
    transposed: tl.tensor,
    INCOMING: tl.constexpr,
    ENTRIES: tl.constexpr,
) -> None:
    row = tl.program_id(0)
    start = tl.load(indptr + row)
    stop = tl.load(indptr + row + 1)
    sums = tl.full((ENTRIES,), 0.0, tl.float32)
    for first in range(start, stop, ENTRIES):
        entries = first + tl.arange(0, ENTRIES)
        sums += _with_self(indices, mirror, stored, entries, entries < stop, row, INCOMING)
    total = tl.sum(sums, axis=0)
    for first in range(start, stop, ENTRIES):
        entries = first + tl.arange(0, ENTRIES)
        valid = entries < stop
        share = _with_self(indices, mirror, stored, entries, valid, row, INCOMING) / total
        tl.store(weights + entries, share, mask=valid)
        tl.store(transposed + tl.load(mirror + entries, mask=valid, other=0), share, mask=valid)


def mean_with_self(
    indptr: Tensor, indices: Tensor, mirror: Tensor, stored: Tensor, incoming: bool = False
) -> tuple[Tensor, Tensor]:
    """The weights of a mean over each row's entries and, once more, the node itself; and the same weights transposed.

    The entries weigh what is stored (the random walk of spec §2.2) or, for ``incoming``, 1 where the opposite entry
    is stored or the node hears itself (GraphSAGE's mean, spec §2.3). The second result holds at ``mirror[e]`` what
    the first holds at ``e``.
    """
    stored = stored.contiguous()
    weights, transposed = torch.empty_like(stored), torch.empty_like(stored)
    arrays = (indptr, indices, mirror, stored, weights, transposed)
    _mean_row[(indptr.numel() - 1,)](*arrays, INCOMING=incoming, ENTRIES=_ENTRIES, num_warps=1)
    return weights, transposed
