"""Loss and gradient of many anchors against bank rows, together, without ever storing N×K scores.

Bank rows are constants, so d(loss)/dz is known as soon as the scores are. Both are computed in the forward
pass, a chunk of anchors at a time, in buffers small enough to stay in cache; the backward pass only scales.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import torch
from torch import Tensor

from ..graph.kernels import csr

#: Scores in one chunk: 2 MiB, which stay in the cores' caches between the passes over them.
_CHUNK_SCORES = 1 << 19


class RowRule(Protocol):
    """How rows of scores become losses.

    ``rows`` sees a chunk: the negatives' scores (rows, K) and the positive's (rows,). It overwrites the former
    with their gradients and returns (what the row costs, log Σ_k exp of the negatives' scores). ``finish`` then
    adds the positives of all anchors at once: (loss per anchor, gradient of its positive's score).
    """

    def rows(self, scores: Tensor, positive: Tensor) -> tuple[Tensor, Tensor]: ...

    def finish(self, cost: Tensor, log_sum: Tensor, positive: Tensor) -> tuple[Tensor, Tensor]: ...


#: (anchors, their scores, a function that writes Σ_k score·bank, with the scores as they are by then)
Chunk = tuple[slice, Tensor, Callable[[Tensor], object]]


def score_chunks(z: Tensor, bank: Tensor, negatives: Tensor) -> Iterator[Chunk]:
    """Yield the scores of all anchors with their negatives, chunk by chunk.

    ``negatives`` is (groups, K): group g serves the anchors from g·share on, where share = ⌈N / groups⌉.
    """
    groups, k = negatives.shape
    share = -(-len(z) // groups)
    if share == 1 and k <= len(bank):  # torch allows a CSR row no more entries than it has columns
        yield from _own_chunks(z, bank, negatives)
        return
    step = max(1, _CHUNK_SCORES // (share * k))
    for start in range(0, groups, step):
        yield from _shared_chunk(z, bank, negatives[start : start + step], start * share, share)


def _shared_chunk(z: Tensor, bank: Tensor, negatives: Tensor, first: int, share: int) -> Iterator[Chunk]:
    """Groups of anchors with common negatives: matrix products; the last group may be short."""
    groups, k = negatives.shape
    dim = z.shape[1]
    whole = min(groups, (len(z) - first) // share)
    parts = [(first, whole, share)] if whole else []
    if whole < groups:
        parts.append((first + whole * share, 1, len(z) - first - whole * share))
    for at, count, size in parts:
        chosen = negatives[(at - first) // share :][:count].reshape(-1)
        rows = bank.index_select(0, chosen).view(count, k, dim)
        anchors = slice(at, at + count * size)
        scores = torch.bmm(z[anchors].view(count, size, dim), rows.transpose(1, 2))
        combine = lambda out, s=scores, rows=rows: torch.bmm(s, rows, out=out.view(s.shape[0], s.shape[1], dim))
        yield anchors, scores.view(-1, k), combine


def _own_chunks(z: Tensor, bank: Tensor, negatives: Tensor) -> Iterator[Chunk]:
    """Every anchor with its own negatives: sampled products over a CSR pattern, K entries per row."""
    k = negatives.shape[1]
    step = max(1, _CHUNK_SCORES // k)
    for start in range(0, len(z), step):
        anchors = slice(start, min(start + step, len(z)))
        count = anchors.stop - start
        indptr = torch.arange(0, count * k + 1, k, dtype=torch.int32, device=z.device)
        indices = negatives[anchors].reshape(-1)
        shape = (count, len(bank))
        empty = csr(indptr, indices, z.new_zeros(count * k), shape)
        scores = torch.sparse.sampled_addmm(empty, z[anchors], bank.t()).values().view(count, k)
        combine = lambda out, s=scores, p=indptr, i=indices, shape=shape: torch.addmm(
            out, csr(p, i, s.view(-1), shape), bank, beta=0, out=out
        )
        yield anchors, scores, combine


class _Contrast(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, z: Tensor, other: Tensor, bank: Tensor, negatives: Tensor, temperature: float, rule: RowRule
    ) -> tuple[Tensor, Tensor]:
        scaled = z / temperature
        positive = torch.linalg.vecdot(scaled, other)
        z_grad, cost, log_sum = torch.empty_like(z), torch.empty_like(positive), torch.empty_like(positive)
        for anchors, scores, combine in score_chunks(scaled, bank, negatives):
            cost[anchors], log_sum[anchors] = rule.rows(scores, positive[anchors])
            combine(z_grad[anchors])
        loss, slope = rule.finish(cost, log_sum, positive)
        z_grad.addcmul_(slope[:, None], other).div_(temperature * len(z))
        other_grad = scaled.mul_(slope[:, None] / len(z)) if ctx.needs_input_grad[1] else None
        ctx.save_for_backward(z_grad, other_grad)
        info_nce = (torch.logaddexp(log_sum, positive) - positive).mean()
        ctx.mark_non_differentiable(info_nce)
        return loss.mean(), info_nce

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        z_grad, other_grad = ctx.saved_tensors
        return z_grad * grads[0], None if other_grad is None else other_grad * grads[0], None, None, None, None


def contrast(
    z: Tensor, other: Tensor, bank: Tensor, negatives: Tensor, temperature: float, rule: RowRule
) -> tuple[Tensor, Tensor]:
    """Mean loss of all anchors, and the InfoNCE value of the same scores (for the bound of Lemma 1).

    Anchor i has its positive in row i of ``other`` and its negatives in the bank; gradients flow to ``z`` and,
    where it wants them, to ``other``.
    """
    return _Contrast.apply(z.contiguous(), other, bank, negatives, temperature, rule)
