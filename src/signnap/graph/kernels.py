"""Sparse products over a fixed pattern: what message passing costs nothing less than.

Every kernel is one or two calls into torch's CSR routines (MKL on a CPU, cuSPARSE on a GPU), which measured
about twenty times faster on two cores than gathering and scattering messages. The slow twins that state what
each one computes are in ``tests/graph/test_kernels.py``.
"""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import Tensor

from .pattern import Pattern

warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
warnings.filterwarnings("ignore", message="Sparse invariant checks are implicitly disabled")


def csr(indptr: Tensor, indices: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    """Wrap CSR arrays as a torch tensor without checking them: ours are valid by construction."""
    return torch.sparse_csr_tensor(indptr, indices, values, shape, check_invariants=False)


def _multiply(pattern: Pattern, values: Tensor, dense: Tensor, plus: Tensor | None = None) -> Tensor:
    n = pattern.num_nodes
    matrix = csr(pattern.indptr, pattern.indices, values, (n, n))
    if plus is not None:
        return torch.addmm(plus, matrix, dense)
    # With beta 0 the result is only written; torch.sparse.mm would first fill it with zeros and then copy those.
    out = dense.new_empty(n, dense.shape[1])
    return torch.addmm(out, matrix, dense, beta=0, out=out)


class _SpMM(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, values: Tensor, transposed: Tensor, dense: Tensor, plus: Tensor | None, pattern: Pattern
    ) -> Tensor:
        ctx.pattern = pattern
        ctx.save_for_backward(transposed, dense if ctx.needs_input_grad[0] else None)
        return _multiply(pattern, values, dense, plus)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        grad = grads[0].contiguous()
        transposed, dense = ctx.saved_tensors
        for_values = for_dense = None
        if ctx.needs_input_grad[0]:
            for_values = sddmm(ctx.pattern, grad, dense)
        if ctx.needs_input_grad[2]:
            for_dense = _multiply(ctx.pattern, transposed, grad)
        return for_values, None, for_dense, grad if ctx.needs_input_grad[3] else None, None


def spmm(
    pattern: Pattern, values: Tensor, dense: Tensor, plus: Tensor | None = None, transposed: Tensor | None = None
) -> Tensor:
    """out[i] = Σ_j values[ij] · dense[j] + plus[i], differentiable in all three.

    ``transposed`` are the values in mirrored order; pass them when several products share one matrix.
    """
    if transposed is None:
        transposed = mirrored(pattern, values.detach())
    return _SpMM.apply(values, transposed, dense, plus, pattern)


def mirrored(pattern: Pattern, values: Tensor) -> Tensor:
    """The values of the transposed matrix, on the same pattern."""
    return values.index_select(0, pattern.mirror)


def sddmm(pattern: Pattern, left: Tensor, right: Tensor) -> Tensor:
    """out[ij] = left[i] · right[j] for every entry (not differentiable: it is itself a gradient)."""
    n = pattern.num_nodes
    empty = csr(pattern.indptr, pattern.indices, left.new_zeros(pattern.num_entries), (n, n))
    return torch.sparse.sampled_addmm(empty, left.detach().contiguous(), right.detach().t()).values()


def row_sums(pattern: Pattern, values: Tensor) -> Tensor:
    """Σ over each row's entries, of a vector (E,) or of several side by side (E, H)."""
    if values.dim() == 1:
        return _multiply(pattern, values, values.new_ones(pattern.num_nodes, 1)).squeeze(1)
    return torch.segment_reduce(values, "sum", offsets=pattern.offsets, axis=0)


class _RowSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, scores: Tensor, kept: Tensor, pattern: Pattern) -> Tensor:
        scores = scores.masked_fill(~kept[:, None], -torch.inf)
        peak = torch.segment_reduce(scores, "max", offsets=pattern.offsets, axis=0)
        weights = (scores - peak.index_select(0, pattern.rows)).exp_()
        weights /= row_sums(pattern, weights).index_select(0, pattern.rows)
        ctx.pattern = pattern
        ctx.save_for_backward(weights)
        return weights

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (weights,) = ctx.saved_tensors
        weighted = grads[0] * weights
        total = row_sums(ctx.pattern, weighted).index_select(0, ctx.pattern.rows)
        return weighted - weights * total, None, None


def row_softmax(pattern: Pattern, scores: Tensor, kept: Tensor) -> Tensor:
    """Softmax of the (E, H) scores over the kept entries of each row; entries not kept get weight 0."""
    return _RowSoftmax.apply(scores, kept, pattern)


def _kept(x: Tensor, dropped: int, bits: int) -> Tensor:
    """A random mask that is False with probability dropped / 2^bits."""
    kind, per_word = (torch.int8, 8) if bits == 8 else (torch.int16, 4)
    words = torch.empty(-(-x.numel() // per_word), dtype=torch.int64, device=x.device).random_(-(2**63), None)
    return words.view(kind)[: x.numel()].view(x.shape) >= dropped - 2 ** (bits - 1)


class _RectifiedDropout(torch.autograd.Function):
    """relu and dropout at once: where the result is positive, and only there, the gradient passes."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, kept: Tensor, scale: float) -> Tensor:
        out = torch.relu(x).mul_(kept).mul_(scale)
        ctx.scale = scale
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        (out,) = ctx.saved_tensors
        return torch.ops.aten.threshold_backward(grads[0], out, 0).mul_(ctx.scale), None, None


def dropout(x: Tensor, p: float, training: bool = True, *, rectify: bool = False) -> Tensor:
    """Dropout, optionally of relu(x), whose mask costs an eighth or a quarter of a random word per element.

    Torch's own took a tenth of a training step here. The drop probability is rounded to 1/65536 (multiples of
    1/256 need half the bits); the scale uses the rounded value, so the mean is exact.
    """
    bits = 8 if p * 256 == round(p * 256) else 16
    dropped = round(p * 2**bits)
    if not training or dropped <= 0:
        return torch.relu(x) if rectify else x
    if dropped == 2**bits:
        return torch.zeros_like(x)
    kept, scale = _kept(x, dropped, bits), 2**bits / (2**bits - dropped)
    return _RectifiedDropout.apply(x, kept, scale) if rectify else x * (kept * scale)
