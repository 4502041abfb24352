"""Sparse products over a fixed pattern: the part of message passing that nothing can avoid.

On a CPU every kernel is one or two calls into torch's CSR routines, which measured about twenty times faster on
two cores than gathering and scattering messages; on a GPU with Triton it is one of the kernels of ``gpu``. The
slow twins that state what each one computes are in ``tests/graph/test_kernels.py``.
"""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import Tensor

from ..gpu import usable
from .pattern import Pattern


def csr(indptr: Tensor, indices: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    """Wrap CSR arrays as a torch tensor without checking them: ours are valid by construction."""
    return torch.sparse_csr_tensor(indptr, indices, values, shape, check_invariants=False)


with warnings.catch_warnings():  # torch says once that such tensors are in beta: it has said so now
    warnings.simplefilter("ignore")
    _none = torch.zeros(1, dtype=torch.int32, device="cpu")
    csr(_none, _none[:0], _none[:0], (0, 0))


def _multiply(
    pattern: Pattern,
    values: Tensor,
    dense: Tensor,
    out: Tensor | None = None,
    *,
    add: bool = False,
    transpose: bool = False,
) -> Tensor:
    """Write the product into ``out``, or add it to what is there; rows of both may lie apart.

    With (E, H) values there are H matrices, one for each of H equal blocks of columns.
    """
    if out is None:
        out = dense.new_empty(pattern.num_nodes, dense.shape[1])
    if usable(values, dense):
        from ..gpu.propagate import spmm

        options = {"order": pattern.mirror if transpose else None, "pieces": pattern.pieces}
        return spmm(pattern.indptr, pattern.indices, values, dense, out if add else None, out, **options)
    values = mirrored(pattern, values) if transpose else values
    if values.dim() == 2:
        blocks = zip(values.t().contiguous(), *(t.chunk(values.shape[1], dim=1) for t in (dense, out)), strict=True)
        for head, columns, into in blocks:
            _multiply(pattern, head, columns, into, add=add)
        return out
    # With beta 0 the result is only written; torch.sparse.mm would first fill it with zeros and then copy those.
    matrix = csr(pattern.indptr, pattern.indices, values, (pattern.num_nodes,) * 2)
    return torch.addmm(out, matrix, dense, beta=int(add), out=out)


class _SpMM(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, transposed: Tensor | None, dense: Tensor, pattern: Pattern) -> Tensor:
        ctx.pattern, ctx.given = pattern, transposed is not None
        ctx.save_for_backward(values if transposed is None else transposed, dense if ctx.needs_input_grad[0] else None)
        return _multiply(pattern, values, dense)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        grad = grads[0].contiguous()
        values, dense = ctx.saved_tensors
        for_values = for_dense = None
        if ctx.needs_input_grad[0]:
            for_values = sddmm(ctx.pattern, grad, dense, values[0].numel()).view_as(values)
        if ctx.needs_input_grad[2]:
            for_dense = _multiply(ctx.pattern, values, grad, transpose=not ctx.given)
        return for_values, None, for_dense, None


def spmm(pattern: Pattern, values: Tensor, dense: Tensor, transposed: Tensor | None = None) -> Tensor:
    """out[i] = Σ_j values[ij] · dense[j], differentiable in both.

    With (E, H) values, each head multiplies its own block of columns of ``dense``. ``transposed`` are the values in
    mirrored order; pass them when several products share one matrix.
    """
    return _SpMM.apply(values, transposed, dense, pattern)


def _multiply_and_add(pattern: Pattern, values: Tensor, left: Tensor, right: Tensor, bias: Tensor, out: Tensor) -> None:
    """Write the product with the left matrix, plus the right one, plus a bias for every column."""
    if usable(values, left):
        from ..gpu.propagate import spmm

        spmm(pattern.indptr, pattern.indices, values, left, right, out, bias=bias, pieces=pattern.pieces)
    else:
        torch.add(right, bias, out=out)
        _multiply(pattern, values, left, out, add=True)


class _Convolve(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, products: Tensor, bias: Tensor, pattern: Pattern, values: list[Tensor], transposed: list[Tensor]
    ) -> Tensor:
        ctx.pattern, ctx.transposed, ctx.shape = pattern, transposed, products.shape
        half = products.shape[-1] // 2
        out = products.new_empty(len(values), pattern.num_nodes, half)
        for into, of_view, own in zip(out, products.expand(len(values), -1, -1), values, strict=True):
            _multiply_and_add(pattern, own, of_view[:, :half], of_view[:, half:], bias, into)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        grad = grads[0].contiguous()
        result = grad.new_empty(ctx.shape)
        half = grad.shape[-1]
        shared = len(result) < len(grad)
        if shared:
            torch.sum(grad, dim=0, keepdim=True, out=result[..., half:])
        else:
            result[..., half:].copy_(grad)
        for number, (of_view, values) in enumerate(zip(grad, ctx.transposed, strict=True)):
            into = result[0 if shared else number]
            _multiply(ctx.pattern, values, of_view, into[:, :half], add=shared and number > 0)
        rows = grad.view(-1, half)
        return result, (rows.new_ones(1, len(rows)) @ rows)[0], None, None, None  # faster than a sum, on a GPU by far


def convolve(
    pattern: Pattern, products: Tensor, bias: Tensor, values: list[Tensor], transposed: list[Tensor]
) -> Tensor:
    """For several views at once: out[v, i] = Σ_j values[v][ij] · left[v, j] + right[v, i] + bias.

    ``products`` is [left | right] (views, N, 2d), or (1, N, 2d) where all views share it. Entry values are
    constants; gradients come back in the layout of ``products``, so that both halves take part in one product.
    """
    return _Convolve.apply(products, bias, pattern, values, transposed)


def mirrored(pattern: Pattern, values: Tensor) -> Tensor:
    """The values of the transposed matrix, on the same pattern."""
    return values.index_select(0, pattern.mirror)


def sddmm(pattern: Pattern, left: Tensor, right: Tensor, heads: int = 1) -> Tensor:
    """out[ij] = left[i] · right[j] for every entry, of each block of columns if there are several heads.

    Not differentiable: it is itself a gradient.
    """
    left, right = left.detach(), right.detach()
    if usable(left, right):
        from ..gpu.propagate import sddmm

        return sddmm(pattern.indptr, pattern.indices, left, right, heads, pieces=pattern.pieces)
    blocks = zip(left.chunk(heads, dim=1), right.chunk(heads, dim=1), strict=True)
    found = [_sampled_product(pattern, a.contiguous(), b) for a, b in blocks]
    return found[0] if heads == 1 else torch.stack(found, dim=1)


def _sampled_product(pattern: Pattern, left: Tensor, right: Tensor) -> Tensor:
    empty = csr(pattern.indptr, pattern.indices, left.new_zeros(pattern.num_entries), (pattern.num_nodes,) * 2)
    return torch.sparse.sampled_addmm(empty, left, right.t()).values()


def row_sums(pattern: Pattern, values: Tensor) -> Tensor:
    """Σ over each row's entries, of a vector (E,) or of several side by side (E, H)."""
    if values.dim() == 1:
        return _multiply(pattern, values, values.new_ones(pattern.num_nodes, 1)).squeeze(1)
    return torch.segment_reduce(values, "sum", offsets=pattern.offsets, axis=0)
