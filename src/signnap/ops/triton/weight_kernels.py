"""Kernels that give every entry of a CSR pattern a weight: GAT's attention with its gradient, and means.

One program computes one row, in attention for all heads at once. Attention scores are computed again wherever they are
needed: reading two vectors per node costs less than reading one number per entry and head.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

#: Below every score, and finite, because the difference of two infinities is NaN.
_LOWEST = tl.constexpr(-3.0e38)

#: Number of entries that a program of ``mean_with_self`` reads at a time.
_ENTRIES = 32


@triton.jit
def _logits(
    indices: tl.tensor,
    sender: tl.tensor,
    own: tl.tensor,
    entries: tl.tensor,
    valid: tl.tensor,
    heads: tl.tensor,
    NUM_HEADS: tl.constexpr,
) -> tl.tensor:
    """The arguments of LeakyReLU for a tile of entries and every head; ``own`` is the row's receiver term."""
    neighbours = tl.load(indices + entries, mask=valid, other=0).to(tl.int64)
    source = neighbours[:, None] * NUM_HEADS + heads[None, :]
    return tl.load(sender + source, mask=valid[:, None] & (heads < NUM_HEADS)[None, :], other=0.0) + own[None, :]


@triton.jit
def _scores(
    indices: tl.tensor,
    sender: tl.tensor,
    own: tl.tensor,
    kept: tl.tensor,
    entries: tl.tensor,
    valid: tl.tensor,
    heads: tl.tensor,
    slope: tl.tensor,
    NUM_HEADS: tl.constexpr,
) -> tl.tensor:
    """The arguments of the softmax: −∞ for entries that are not kept, and behind the end of the row."""
    logits = _logits(indices, sender, own, entries, valid, heads, NUM_HEADS)
    chosen = tl.load(kept + entries, mask=valid, other=0) != 0
    return tl.where(chosen[:, None], tl.where(logits > 0.0, logits, logits * slope), float("-inf"))


@triton.jit
def _attention_row(
    indptr: tl.tensor,
    indices: tl.tensor,
    sender: tl.tensor,
    receiver: tl.tensor,
    kept: tl.tensor,
    weights: tl.tensor,
    slope: tl.tensor,
    NUM_HEADS: tl.constexpr,
    ENTRIES: tl.constexpr,
    HEADS: tl.constexpr,
) -> None:
    row = tl.program_id(0).to(tl.int64)
    heads = tl.arange(0, HEADS)
    own = tl.load(receiver + row * NUM_HEADS + heads, mask=heads < NUM_HEADS, other=0.0)
    start = tl.load(indptr + row)
    stop = tl.load(indptr + row + 1)
    # Every place of the tile has its own running maximum and sum, which are combined after the loop.
    peaks = tl.full((ENTRIES, HEADS), _LOWEST, tl.float32)
    totals = tl.full((ENTRIES, HEADS), 0.0, tl.float32)
    for first in range(start, stop, ENTRIES):
        entries = first + tl.arange(0, ENTRIES)
        valid = entries < stop
        scores = _scores(indices, sender, own, kept, entries, valid, heads, slope, NUM_HEADS)
        higher = tl.maximum(peaks, scores)
        totals = totals * tl.exp(peaks - higher) + tl.exp(scores - higher)
        peaks = higher
    peak = tl.max(peaks, axis=0)
    total = tl.sum(totals * tl.exp(peaks - peak[None, :]), axis=0)
    for first in range(start, stop, ENTRIES):
        entries = first + tl.arange(0, ENTRIES)
        valid = entries < stop
        scores = _scores(indices, sender, own, kept, entries, valid, heads, slope, NUM_HEADS)
        at = entries.to(tl.int64)[:, None] * NUM_HEADS + heads[None, :]
        share = tl.exp(scores - peak[None, :]) / total[None, :]
        tl.store(weights + at, share, mask=valid[:, None] & (heads < NUM_HEADS)[None, :])


@triton.jit
def _for_scores_row(
    indptr: tl.tensor,
    indices: tl.tensor,
    sender: tl.tensor,
    receiver: tl.tensor,
    weights: tl.tensor,
    grad: tl.tensor,
    for_logits: tl.tensor,
    for_receiver: tl.tensor,
    slope: tl.tensor,
    NUM_HEADS: tl.constexpr,
    ENTRIES: tl.constexpr,
    HEADS: tl.constexpr,
) -> None:
    row = tl.program_id(0).to(tl.int64)
    heads = tl.arange(0, HEADS)
    own = tl.load(receiver + row * NUM_HEADS + heads, mask=heads < NUM_HEADS, other=0.0)
    start = tl.load(indptr + row)
    stop = tl.load(indptr + row + 1)
    weighted = tl.full((ENTRIES, HEADS), 0.0, tl.float32)
    for first in range(start, stop, ENTRIES):
        entries = first + tl.arange(0, ENTRIES)
        at = entries.to(tl.int64)[:, None] * NUM_HEADS + heads[None, :]
        inside = (entries < stop)[:, None] & (heads < NUM_HEADS)[None, :]
        weighted += tl.load(weights + at, mask=inside, other=0.0) * tl.load(grad + at, mask=inside, other=0.0)
    mean = tl.sum(weighted, axis=0)
    received = tl.full((ENTRIES, HEADS), 0.0, tl.float32)
    for first in range(start, stop, ENTRIES):
        entries = first + tl.arange(0, ENTRIES)
        valid = entries < stop
        at = entries.to(tl.int64)[:, None] * NUM_HEADS + heads[None, :]
        inside = valid[:, None] & (heads < NUM_HEADS)[None, :]
        logits = _logits(indices, sender, own, entries, valid, heads, NUM_HEADS)
        excess = tl.load(grad + at, mask=inside, other=0.0) - mean[None, :]
        passed = tl.load(weights + at, mask=inside, other=0.0) * excess * tl.where(logits > 0, 1.0, slope)
        tl.store(for_logits + at, passed, mask=inside)
        received += passed
    tl.store(for_receiver + row * NUM_HEADS + heads, tl.sum(received, axis=0), mask=heads < NUM_HEADS)


@triton.jit
def _column_sums(
    indptr: tl.tensor,
    mirror: tl.tensor,
    values: tl.tensor,
    out: tl.tensor,
    NUM_HEADS: tl.constexpr,
    ENTRIES: tl.constexpr,
    HEADS: tl.constexpr,
) -> None:
    row = tl.program_id(0).to(tl.int64)
    heads = tl.arange(0, HEADS)
    stop = tl.load(indptr + row + 1)
    total = tl.full((ENTRIES, HEADS), 0.0, tl.float32)
    for first in range(tl.load(indptr + row), stop, ENTRIES):
        entries = first + tl.arange(0, ENTRIES)
        opposite = tl.load(mirror + entries, mask=entries < stop, other=0).to(tl.int64)
        inside = (entries < stop)[:, None] & (heads < NUM_HEADS)[None, :]
        total += tl.load(values + opposite[:, None] * NUM_HEADS + heads[None, :], mask=inside, other=0.0)
    tl.store(out + row * NUM_HEADS + heads, tl.sum(total, axis=0), mask=heads < NUM_HEADS)


def attention(indptr: Tensor, indices: Tensor, sender: Tensor, receiver: Tensor, kept: Tensor, slope: float) -> Tensor:
    """The weights (E, H): softmax over the kept entries (i, j) of row i of leaky(sender[j] + receiver[i]).

    ``sender`` and ``receiver`` are (N, H); an entry that is not kept gets weight 0; every row keeps at least one.
    """
    sender, receiver = sender.contiguous(), receiver.contiguous()
    weights = sender.new_empty(indices.numel(), sender.shape[1])
    arrays = (indptr, indices, sender, receiver, kept.contiguous(), weights)
    _attention_row[(indptr.numel() - 1,)](*arrays, slope, **_shape(sender.shape[1]))
    return weights


def attention_backward(
    indptr: Tensor,
    indices: Tensor,
    mirror: Tensor,
    sender: Tensor,
    receiver: Tensor,
    weights: Tensor,
    grad: Tensor,
    slope: float,
) -> tuple[Tensor, Tensor]:
    """The gradients of ``sender`` and ``receiver``, given the gradient ``grad`` of the weights."""
    sender, receiver = sender.contiguous(), receiver.contiguous()
    for_logits = torch.empty_like(weights, memory_format=torch.contiguous_format)
    for_sender, for_receiver = torch.empty_like(sender), torch.empty_like(receiver)
    rows, shape = (indptr.numel() - 1,), _shape(sender.shape[1])
    arrays = (indptr, indices, sender, receiver, weights.contiguous(), grad.contiguous(), for_logits, for_receiver)
    _for_scores_row[rows](*arrays, slope, **shape)
    _column_sums[rows](indptr, mirror, for_logits, for_sender, **shape)
    return for_sender, for_receiver


def _shape(heads: int) -> dict[str, int]:
    """The shape of a tile (powers of two), and the number of warps."""
    padded = triton.next_power_of_2(heads)
    entries = max(32, 128 // padded)
    return {
        "NUM_HEADS": heads,
        "ENTRIES": entries,
        "HEADS": padded,
        "num_warps": min(4, max(1, entries * padded // 512)),
    }


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
    """The values of some entries of a row before normalisation; the diagonal counts once more."""
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
    """The weights of the mean over each row's entries and, once more, the node itself; and the transposed weights.

    An entry counts its stored value (random walk) or, with ``incoming``, 1 if the transposed entry is stored or the
    entry is a self-loop (GraphSAGE). The second result holds at ``mirror[e]`` the value of the first at ``e``.
    """
    stored = stored.contiguous()
    weights, transposed = torch.empty_like(stored), torch.empty_like(stored)
    arrays = (indptr, indices, mirror, stored, weights, transposed)
    _mean_row[(indptr.numel() - 1,)](*arrays, INCOMING=incoming, ENTRIES=_ENTRIES, num_warps=1)
    return weights, transposed
