"""Loss and gradient of many anchors against bank rows, together, without ever storing N×K scores.

Bank rows are constants, so d(loss)/dz is known as soon as the scores are. Both are computed in the forward
pass, a chunk of anchors at a time, in buffers small enough to stay in cache; the backward pass only scales.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from ..graph.kernels import csr

#: Scores in one chunk: 2 MiB, which stay in the cores' caches between the passes over them.
_CHUNK_SCORES = 1 << 19


class RowRule(Protocol):
    """How rows of scores become losses.

    Called with the negatives' scores (rows, K) and the positives' (rows,), it overwrites the former with their
    gradients and returns (loss of each row, gradient of its positive's score, log Σ_k exp of its negatives' scores).
    """

    def __call__(self, scores: Tensor, positive: Tensor) -> tuple[Tensor, Tensor, Tensor]: ...


class Chunk(NamedTuple):
    """Some anchors, their embeddings over the temperature, and their scores with their negatives.

    ``combine(out)`` writes Σ_k score·(bank row) into ``out``, with the scores as they are by then.
    """

    anchors: slice
    scaled: Tensor
    scores: Tensor
    combine: Callable[[Tensor], Tensor]


def score_chunks(z: Tensor, bank: Tensor, negatives: Tensor, temperature: float) -> Iterator[Chunk]:
    """Yield the scores of all anchors with their negatives, chunk by chunk.

    ``negatives`` is (groups, K): group g serves the anchors from g·share on, where share = ⌈N / groups⌉.
    """
    groups, k = negatives.shape
    share = -(-len(z) // groups)
    if share == 1 and k <= len(bank):  # torch allows a CSR row no more entries than it has columns
        step = max(1, _CHUNK_SCORES // k)
        for start in range(0, len(z), step):
            anchors = slice(start, min(start + step, len(z)))
            yield _own_negatives(anchors, z[anchors] / temperature, bank, negatives[anchors])
        return
    step = max(1, _CHUNK_SCORES // (share * k))
    whole = len(z) // share
    for start in range(0, whole, step):
        anchors = slice(start * share, min(start + step, whole) * share)
        yield _shared_negatives(
            anchors, z[anchors] / temperature, bank, negatives[start : start + step][: whole - start]
        )
    if whole * share < len(z):  # the last group may be short
        anchors = slice(whole * share, len(z))
        yield _shared_negatives(anchors, z[anchors] / temperature, bank, negatives[whole : whole + 1])


def _shared_negatives(anchors: slice, scaled: Tensor, bank: Tensor, negatives: Tensor) -> Chunk:
    """Groups of equally many anchors with common negatives: matrix products."""
    groups, k = negatives.shape
    dim = scaled.shape[1]
    rows = bank.index_select(0, negatives.reshape(-1)).view(groups, k, dim)
    scores = torch.bmm(scaled.view(groups, -1, dim), rows.transpose(1, 2))

    def combine(out: Tensor) -> Tensor:
        torch.bmm(scores, rows, out=out.view(groups, -1, dim))
        return out

    return Chunk(anchors, scaled, scores.view(-1, k), combine)


def _own_negatives(anchors: slice, scaled: Tensor, bank: Tensor, negatives: Tensor) -> Chunk:
    """Every anchor with its own negatives: sampled products over a CSR pattern, K entries per row."""
    count, k = negatives.shape
    indptr = torch.arange(0, count * k + 1, k, dtype=torch.int32, device=scaled.device)
    pattern = lambda values: csr(indptr, negatives.reshape(-1), values, (count, len(bank)))
    scores = torch.sparse.sampled_addmm(pattern(scaled.new_zeros(count * k)), scaled, bank.t()).values()

    def combine(out: Tensor) -> Tensor:
        return torch.addmm(out, pattern(scores), bank, beta=0, out=out)

    return Chunk(anchors, scaled, scores.view(count, k), combine)


class _Contrast(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, z: Tensor, other: Tensor, bank: Tensor, negatives: Tensor, temperature: float, rule: RowRule
    ) -> tuple[Tensor, Tensor]:
        z_grad, positive = torch.empty_like(z), z.new_empty(len(z))
        loss, log_sum = torch.empty_like(positive), torch.empty_like(positive)
        other_grad = torch.empty_like(z) if ctx.needs_input_grad[1] else None
        for anchors, scaled, scores, combine in score_chunks(z, bank, negatives, temperature):
            torch.linalg.vecdot(scaled, other[anchors], out=positive[anchors])
            loss[anchors], slope, log_sum[anchors] = rule(scores, positive[anchors])
            combine(z_grad[anchors]).addcmul_(slope[:, None], other[anchors]).div_(temperature * len(z))
            if other_grad is not None:
                torch.mul(scaled, slope[:, None] / len(z), out=other_grad[anchors])
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
