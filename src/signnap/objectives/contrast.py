"""Loss and gradient of many anchors against bank rows, together, without ever storing N×K scores.

Bank rows are constants, so d(loss)/dz is known as soon as the scores are. Both are computed in the forward
pass, a chunk of anchors at a time, in buffers small enough to stay in cache; the backward pass only scales.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from ..gpu import MAX_DIM, usable
from ..graph.kernels import csr
from ..products import add_gradients, pairs

#: Scores in one chunk: 2 MiB, which stay in the cores' caches between the passes over them, or 128 MiB for a GPU, which
#: is busy for longer than it takes to launch the passes.
_CPU_CHUNK, _GPU_CHUNK = 1 << 19, 1 << 25

#: Anchors in a part of a group, at least, however many negatives: each part reads all their bank rows anew.
_FEWEST = 64

#: Adds Σ_k score·(bank row) of some anchors to what it is given, with the scores as they are by then.
Combine = Callable[[Tensor], object]

#: From anchors over the temperature and a buffer that it may use, to their scores and what combines them.
Score = Callable[[Tensor, Tensor], tuple[Tensor, Combine]]


class RowRule(Protocol):
    """How rows of scores become losses.

    Called with the negatives' scores (rows, K), the positives' (rows,) and a spare buffer like the scores, it
    overwrites the scores with their gradients and returns (what they add to the loss of each row, log Σ_k exp of
    them). ``finish`` takes the former and the positives' scores, of all rows at once, and returns (loss of each row,
    gradient of its positive's score). ``shift`` is the offset of the binary rule, None for the softmax.
    """

    @property
    def shift(self) -> Tensor | None: ...

    def __call__(self, scores: Tensor, positive: Tensor, spare: Tensor) -> tuple[Tensor, Tensor]: ...

    def finish(self, negative: Tensor, positive: Tensor) -> tuple[Tensor, Tensor]: ...


class Chunk(NamedTuple):
    """Some anchors, and their scores with their negatives.

    The scores and ``spare``, as large, are overwritten by the next chunk.
    """

    anchors: slice
    scores: Tensor
    spare: Tensor
    combine: Combine


def score_chunks(scaled: Tensor, bank: Tensor, negatives: Tensor) -> Iterator[Chunk]:
    """Yield the scores of all anchors with their negatives, chunk by chunk, given embeddings over the temperature.

    ``negatives`` is (groups, K): group g serves the anchors from g·share on, where share = ⌈N / groups⌉. A chunk is
    some whole groups or, where one is too large, a part of a group.
    """
    groups, k = negatives.shape
    count = len(scaled)
    share = -(-count // groups)
    own = share == 1 and k <= len(bank)  # torch allows a CSR row no more entries than it has columns
    size = _GPU_CHUNK if scaled.is_cuda else _CPU_CHUNK
    step = max(1, size // (share * k))
    whole = count // share
    starts = [*range(0, whole, step), whole] if whole * share < count else range(0, whole, step)
    # One pair of buffers for all chunks: fresh ones would be handed back to the system and zeroed by it every time.
    height = min(step * share, max(_FEWEST, size // k), count)
    buffers = scaled.new_empty(2, height, k)
    for start in starts:
        stop = min(start + step, whole) if start < whole else groups  # the last group may be short
        score = (_own_negatives if own else _shared_negatives)(bank, negatives[start:stop])
        end = min(stop * share, count)
        for first in range(start * share, end, height):
            anchors = slice(first, min(first + height, end))
            buffer, spare = buffers[:, : anchors.stop - first]
            scores, combine = score(scaled[anchors], buffer)
            yield Chunk(anchors, scores, spare, combine)


def _shared_negatives(bank: Tensor, negatives: Tensor) -> Score:
    """Groups of equally many anchors with common negatives: matrix products, with bank rows that are gathered once."""
    groups, k = negatives.shape
    rows = bank.index_select(0, negatives.reshape(-1)).view(groups, k, -1)

    def score(scaled: Tensor, buffer: Tensor) -> tuple[Tensor, Combine]:
        if groups == 1:
            scores = pairs(scaled, rows[0], out=buffer)
            return scores, lambda out: add_gradients(scores, scaled, rows[0], out)
        by_group = lambda of: of.view(groups, -1, of.shape[1])
        torch.bmm(by_group(scaled), rows.transpose(1, 2), out=by_group(buffer))
        return buffer, lambda out: by_group(out).baddbmm_(by_group(buffer), rows)

    return score


def _own_negatives(bank: Tensor, negatives: Tensor) -> Score:
    """Every anchor with its own negatives: sampled products over a CSR pattern, K entries per row."""
    count, k = negatives.shape

    def score(scaled: Tensor, buffer: Tensor) -> tuple[Tensor, Combine]:
        indptr = torch.arange(0, count * k + 1, k, dtype=torch.int32, device=scaled.device)
        pattern = csr(indptr, negatives.reshape(-1), buffer.zero_().view(-1), (count, len(bank)))
        torch.sparse.sampled_addmm(pattern, scaled, bank.t(), out=pattern)
        return buffer, lambda out: torch.addmm(out, pattern, bank, out=out)

    return score


class _Contrast(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        z: Tensor,
        other: Tensor,
        bank: Tensor,
        negatives: Tensor,
        temperature: float,
        rule: RowRule,
        precision: str,
    ) -> tuple[Tensor, Tensor]:
        given = (z, other, bank, negatives, temperature)
        if usable(z, other, bank) and z.shape[1] <= MAX_DIM:
            from ..gpu.contrast import contrast

            found = contrast(*given, rule.shift, precision, ctx.needs_input_grad[1])
        else:
            found = _by_chunks(*given, rule, ctx.needs_input_grad[1])
        loss, info_nce, z_grad, other_grad = found
        ctx.scale = 1 / (temperature * len(z))
        ctx.save_for_backward(z_grad, other_grad)
        info_nce = info_nce.mean()
        ctx.mark_non_differentiable(info_nce)
        return loss.mean(), info_nce

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        z_grad, other_grad = ctx.saved_tensors
        scale = grads[0] * ctx.scale
        return z_grad * scale, None if other_grad is None else other_grad * scale, *[None] * 5


def _by_chunks(
    z: Tensor, other: Tensor, bank: Tensor, negatives: Tensor, temperature: float, rule: RowRule, want_other: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Loss and InfoNCE value of every anchor, and the gradients of their sums times the temperature."""
    scaled, z_grad = z / temperature, torch.zeros_like(z)
    positive = torch.linalg.vecdot(scaled, other)
    negative, log_sum = torch.empty_like(positive), torch.empty_like(positive)
    for anchors, scores, spare, combine in score_chunks(scaled, bank, negatives):
        negative[anchors], log_sum[anchors] = rule(scores, positive[anchors], spare)
        combine(z_grad[anchors])
    loss, slope = rule.finish(negative, positive)
    z_grad.addcmul_(slope[:, None], other)
    other_grad = z * slope[:, None] if want_other else None
    return loss, torch.logaddexp(log_sum, positive) - positive, z_grad, other_grad


def contrast(
    z: Tensor,
    other: Tensor,
    bank: Tensor,
    negatives: Tensor,
    temperature: float,
    rule: RowRule,
    precision: str = "float32",
) -> tuple[Tensor, Tensor]:
    """Mean loss of all anchors, and the InfoNCE value of the same scores (for the bound of Lemma 1).

    Anchor i has its positive in row i of ``other`` and its negatives in the bank; gradients flow to ``z`` and,
    where it wants them, to ``other``. A ``precision`` of "tf32" or "bf16" allows a GPU coarser products.
    """
    return _Contrast.apply(z.contiguous(), other.contiguous(), bank, negatives, temperature, rule, precision)
