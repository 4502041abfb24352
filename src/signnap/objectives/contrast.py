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

#: Scores in one chunk: 2 MiB, which stays in a core's cache between the passes over it.
_CHUNK_SCORES = 1 << 19


class RowRule(Protocol):
    """How one row of scores becomes a loss.

    Called with the negatives' scores (rows, K) and the positive's (rows,), it must overwrite the former with
    their gradient and return (loss per row, gradient of the positive's score, log Σ exp of all K+1 scores).
    """

    def __call__(self, scores: Tensor, positive: Tensor) -> tuple[Tensor, Tensor, Tensor]: ...


#: (anchors, their scores, a function that writes Σ_k score·bank, with the scores as they are by then)
Chunk = tuple[slice, Tensor, Callable[[Tensor], object]]


def score_chunks(z: Tensor, bank: Tensor, negatives: Tensor) -> Iterator[Chunk]:
    """Yield the scores of all anchors with their negatives, chunk by chunk.

    ``negatives`` is (groups, K): group g serves the anchors from g·share on, where share = ⌈N / groups⌉.
    """
    groups, k = negatives.shape
    share = -(-len(z) // groups)
    if share == 1:
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
    step = max(1, 2 * _CHUNK_SCORES // k)
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
        ctx: Any, z: Tensor, positive: Tensor, bank: Tensor, negatives: Tensor, rule: RowRule
    ) -> tuple[Tensor, Tensor]:
        n = len(z)
        z_grad, positive_grad = torch.empty_like(z), torch.empty_like(positive)
        total, information = z.new_zeros((), dtype=torch.float64), z.new_zeros((), dtype=torch.float64)
        for anchors, scores, combine in score_chunks(z, bank, negatives):
            loss, positive_grad[anchors], log_sum = rule(scores, positive[anchors])
            total += loss.sum(dtype=torch.float64)
            information += (log_sum - positive[anchors]).sum(dtype=torch.float64)
            if ctx.needs_input_grad[0]:
                combine(z_grad[anchors])
        ctx.save_for_backward(z_grad.div_(n), positive_grad.div_(n))
        info_nce = (information / n).to(z.dtype)
        ctx.mark_non_differentiable(info_nce)
        return (total / n).to(z.dtype), info_nce

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        z_grad, positive_grad = ctx.saved_tensors
        return z_grad * grads[0], positive_grad * grads[0], None, None, None


def contrast(z: Tensor, positive: Tensor, bank: Tensor, negatives: Tensor, rule: RowRule) -> tuple[Tensor, Tensor]:
    """Mean loss of all anchors, and the InfoNCE value of the same scores (for the bound of Lemma 1).

    ``z`` are the anchors already divided by the temperature, ``positive`` their scores with their positives;
    gradients flow to both.
    """
    return _Contrast.apply(z.contiguous(), positive, bank, negatives, rule)
