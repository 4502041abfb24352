"""Loss and gradient of anchors against rows of a memory bank, without a stored N×K matrix of scores.

Bank rows are constants, so d(loss)/dz follows from the scores alone. The forward pass computes loss and gradient
together, one chunk of anchors at a time, in buffers that fit the cache. The backward pass only scales the gradient.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor
from torch.nn.functional import softplus

from .csr import csr_tensor
from .dense import add_gradients, pairs
from .triton import EXP_IS_SAFE, MAX_DIM, usable

#: Number of scores in a chunk. On a CPU a chunk takes 2 MiB and stays in the cores' caches between passes. On a GPU it
#: takes 128 MiB, so that computing it takes longer than launching its kernels.
_CPU_CHUNK, _GPU_CHUNK = 1 << 19, 1 << 25

#: Minimal number of anchors in a part of a group. Every part reads all bank rows of its group again.
_MIN_ANCHORS = 64

_LOG2_E = math.log2(math.e)

#: Largest logarithm of a float32 number.
_MAX_LOG = 88.0

#: Adds Σ_k score·(bank row) of some anchors to a tensor, with the present values of the scores.
Combine = Callable[[Tensor], object]

#: Maps anchors over the temperature, and a buffer to use, to the anchors' scores and to ``Combine``.
Score = Callable[[Tensor, Tensor], tuple[Tensor, Combine]]


class RowRule(Protocol):
    """How rows of scores become losses.

    A call takes the negatives' scores (rows, K), the positives' scores (rows,) and a buffer as large as the first. It
    overwrites the negatives' scores with their gradients. It returns their part in the loss of each row, and
    log Σ_k exp(score). ``finish`` takes that part and the positives' scores, of all rows at once. It returns the loss
    of each row and the gradient of its positive's score. ``shift`` is the offset of the binary rule, None for softmax.
    """

    @property
    def shift(self) -> Tensor | None: ...

    def __call__(self, scores: Tensor, positive: Tensor, spare: Tensor) -> tuple[Tensor, Tensor]: ...

    def finish(self, negative: Tensor, positive: Tensor) -> tuple[Tensor, Tensor]: ...


class SoftmaxRule:
    """Cross-entropy of the positive among a row's K negatives and itself."""

    shift = None

    def __call__(self, scores: Tensor, positive: Tensor, spare: Tensor) -> tuple[Tensor, Tensor]:
        log_sum = scores.logsumexp(dim=1)
        log_all = torch.logaddexp(log_sum, positive)
        scores.sub_(log_all[:, None]).exp_()
        return log_all, log_sum

    def finish(self, negative: Tensor, positive: Tensor) -> tuple[Tensor, Tensor]:
        return negative - positive, torch.expm1(positive - negative)


@dataclass(frozen=True)
class BinaryRule:
    """One binary decision per candidate, with ``shift`` = log Z + log c; no |score − shift| exceeds the ``bound``.

    With the odds o = exp(score − shift): softplus(score − shift) = log(1 + o), and its slope is o/(1 + o). Where the
    odds may exceed the range of float32, a path with twice the passes computes the same numbers.
    """

    shift: Tensor
    bound: float = math.inf

    def __call__(self, scores: Tensor, positive: Tensor, spare: Tensor) -> tuple[Tensor, Tensor]:
        return (self._by_odds if self.bound < EXP_IS_SAFE else self._by_logarithms)(scores, spare)

    def finish(self, negative: Tensor, positive: Tensor) -> tuple[Tensor, Tensor]:
        odds = positive - self.shift
        return negative + softplus(-odds), torch.sigmoid(odds) - 1

    def _by_odds(self, scores: Tensor, spare: Tensor) -> tuple[Tensor, Tensor]:
        # exp2 is one vectorised pass on every processor; exp is one on Intel's alone.
        odds = torch.add(self.shift * -_LOG2_E, scores, alpha=_LOG2_E, out=scores).exp2_()
        total = odds.sum(dim=1)
        above = torch.add(odds, 1, out=spare)
        odds.div_(above)
        return sum_of_logs(above, self.bound), total.log_() + self.shift

    def _by_logarithms(self, scores: Tensor, spare: Tensor) -> tuple[Tensor, Tensor]:
        log_sum = scores.logsumexp(dim=1)
        negative = softplus(scores.sub_(self.shift)).sum(dim=1)
        scores.sigmoid_()
        return negative, log_sum


def sum_of_logs(above: Tensor, bound: float) -> Tensor:
    """Σ_k log above_k of every row, given 1 ≤ above_k ≤ 1 + exp(bound).

    One logarithm takes as long as ten products. So up to 16 numbers are multiplied before one logarithm: as many as
    divide a row and cannot overflow float32.
    """
    count, k = above.shape
    together = 16
    while k % together or together * (max(bound, 0.0) + math.log(2)) > _MAX_LOG:
        together //= 2
    return above.view(count, together, -1).prod(dim=1).log_().sum(dim=1)


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

    Anchor i has its positive in row i of ``other`` and its negatives in the bank. ``negatives`` is (groups, K): group g
    serves ⌈N / groups⌉ consecutive anchors. Gradients flow to ``z`` and, if required, to ``other``. On a GPU,
    ``precision`` "tf32" or "bf16" computes products with fewer bits.
    """
    return _Contrast.apply(z.contiguous(), other.contiguous(), bank, negatives, temperature, rule, precision)


def log_normaliser(z: Tensor, bank: Tensor, negatives: Tensor, temperature: float) -> Tensor:
    """log( N · mean of exp(score) ) over all anchors and their K+1 candidates; row i of the bank is i's positive."""
    chunks = score_chunks(z / temperature, bank, negatives)
    parts = [chunk.scores.logsumexp(dim=1).logsumexp(dim=0) for chunk in chunks]
    parts.append((torch.linalg.vecdot(z, bank) / temperature).logsumexp(dim=0))
    return torch.stack(parts).logsumexp(dim=0) - math.log(negatives.shape[1] + 1)


class Chunk(NamedTuple):
    """Some anchors and their scores with their negatives.

    The next chunk overwrites the scores and ``spare``, a buffer of the same size.
    """

    anchors: slice
    scores: Tensor
    spare: Tensor
    combine: Combine


def score_chunks(scaled: Tensor, bank: Tensor, negatives: Tensor) -> Iterator[Chunk]:
    """Yield the scores of all anchors with their negatives, chunk by chunk, given embeddings over the temperature.

    Group g of ``negatives`` (groups, K) serves the anchors from g·size on, with size = ⌈N / groups⌉. A chunk is a
    number of whole groups, or a part of a group that is too large for one chunk.
    """
    groups, k = negatives.shape
    count = len(scaled)
    size = -(-count // groups)
    own = size == 1 and k <= len(bank)  # torch limits the entries of a CSR row to the number of columns
    limit = _GPU_CHUNK if scaled.is_cuda else _CPU_CHUNK
    step = max(1, limit // (size * k))
    whole = count // size
    starts = [*range(0, whole, step), whole] if whole * size < count else range(0, whole, step)
    # All chunks share one pair of buffers. The system would reclaim and zero new buffers for every chunk.
    height = min(step * size, max(_MIN_ANCHORS, limit // k), count)
    buffers = scaled.new_empty(2, height, k)
    for start in starts:
        stop = min(start + step, whole) if start < whole else groups  # the last group may be short
        score = (_own_negatives if own else _shared_negatives)(bank, negatives[start:stop])
        end = min(stop * size, count)
        for first in range(start * size, end, height):
            anchors = slice(first, min(first + height, end))
            buffer, spare = buffers[:, : anchors.stop - first]
            scores, combine = score(scaled[anchors], buffer)
            yield Chunk(anchors, scores, spare, combine)


def _shared_negatives(bank: Tensor, negatives: Tensor) -> Score:
    """Equally large groups of anchors with common negatives: gather the bank rows once, then multiply matrices."""
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
    """Separate negatives for each anchor: sampled products over a CSR pattern with K entries per row."""
    count, k = negatives.shape

    def score(scaled: Tensor, buffer: Tensor) -> tuple[Tensor, Combine]:
        indptr = torch.arange(0, count * k + 1, k, dtype=torch.int32, device=scaled.device)
        pattern = csr_tensor(indptr, negatives.reshape(-1), buffer.zero_().view(-1), (count, len(bank)))
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
            from .triton.contrast_kernels import contrast

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
