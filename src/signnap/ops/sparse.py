"""Differentiable operations over a fixed sparse pattern: products, row sums, averaging weights, attention weights.

On a CPU each product is one or two calls of torch's CSR routines. On two cores they are about twenty times faster than
gathering and scattering messages. On a GPU with Triton each operation is one of the kernels in ``triton``. The tests
state slowly and plainly what each operation computes.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import leaky_relu

from .csr import Pieces, SymmetricCSR, csr_tensor
from .triton import usable


def spmm(pattern: SymmetricCSR, values: Tensor, dense: Tensor, transposed: Tensor | None = None) -> Tensor:
    """out[i] = Σ_j values[ij] · dense[j], differentiable in ``values`` and ``dense``.

    With (E, H) values, head h multiplies the h-th block of columns of ``dense``. ``transposed`` holds the values in
    mirrored order; pass it when several products use the same matrix.
    """
    return _SpMM.apply(values, transposed, dense, pattern)


def convolve(
    pattern: SymmetricCSR, products: Tensor, bias: Tensor, values: list[Tensor], transposed: list[Tensor]
) -> Tensor:
    """Several views at once: out[v, i] = Σ_j values[v][ij] · left[v, j] + right[v, i] + bias.

    ``products`` is [left | right] of shape (views, N, 2d), or (1, N, 2d) where all views have the same. Entry values
    are constants. The gradient has the layout of ``products``, so one product computes both halves.
    """
    return _Convolve.apply(products, bias, pattern, values, transposed)


def csr_product(indptr: Tensor, indices: Tensor, values: Tensor, dense: Tensor, pieces: Pieces | None = None) -> Tensor:
    """The product of any CSR matrix with a dense one, without gradients. A GPU kernel needs the ``pieces``."""
    if pieces is not None and usable(values, dense):
        from .triton.sparse_kernels import spmm

        return spmm(indptr, indices, values, dense, pieces=pieces)
    return torch.sparse.mm(csr_tensor(indptr, indices, values, (len(indptr) - 1, len(dense))), dense)


def sddmm(pattern: SymmetricCSR, left: Tensor, right: Tensor, heads: int = 1) -> Tensor:
    """out[ij] = left[i] · right[j] for every entry, separately for each head's block of columns.

    It has no gradient, because it is the gradient of ``spmm`` in the values.
    """
    left, right = left.detach(), right.detach()
    if usable(left, right):
        from .triton.sparse_kernels import sddmm

        return sddmm(pattern.indptr, pattern.indices, left, right, heads, pieces=pattern.pieces)
    blocks = zip(left.chunk(heads, dim=1), right.chunk(heads, dim=1), strict=True)
    found = [_sampled_product(pattern, a.contiguous(), b) for a, b in blocks]
    return found[0] if heads == 1 else torch.stack(found, dim=1)


def mirrored(pattern: SymmetricCSR, values: Tensor) -> Tensor:
    """The values of the transposed matrix, on the same pattern."""
    return values.index_select(0, pattern.mirror)


def row_sums(pattern: SymmetricCSR, values: Tensor) -> Tensor:
    """Sum over each row's entries, of one value per entry (E,) or of H values per entry (E, H)."""
    if values.dim() == 1:
        return _multiply(pattern, values, values.new_ones(pattern.num_nodes, 1)).squeeze(1)
    return torch.segment_reduce(values, "sum", offsets=pattern.offsets, axis=0)


def incoming_entries(pattern: SymmetricCSR, stored: Tensor) -> Tensor:
    """(E,) booleans: the transposed entry is stored, or the entry lies on the diagonal."""
    kept = mirrored(pattern, stored) != 0
    return kept.index_fill_(0, pattern.diagonal.long(), True)


def mean_weights(pattern: SymmetricCSR, stored: Tensor, incoming: bool = False) -> tuple[Tensor, Tensor | None]:
    """The weights of the mean over each row's entries and, once more, the node itself.

    An entry counts its stored value or, with ``incoming``, 1 where ``incoming_entries`` is true. The second result
    holds the weights of the transposed matrix where the same pass computes them, else None.
    """
    if usable(stored):
        from .triton.weight_kernels import mean_with_self

        return mean_with_self(pattern.indptr, pattern.indices, pattern.mirror, stored, incoming)
    values = incoming_entries(pattern, stored).to(stored.dtype) if incoming else stored
    looped = values.index_add(0, pattern.diagonal, values.new_ones(pattern.num_nodes))
    return looped / row_sums(pattern, looped).index_select(0, pattern.rows), None


def attention(pattern: SymmetricCSR, sender: Tensor, receiver: Tensor, kept: Tensor, slope: float = 0.2) -> Tensor:
    """GAT's attention weights (E, H): softmax over each row's kept entries of LeakyReLU(sender[j] + receiver[i]).

    ``sender`` and ``receiver`` are (N, H). An entry that is not kept has weight 0. Every row keeps an entry.
    See Eq. 3 of Veličković et al. (2018), https://arxiv.org/abs/1710.10903.
    """
    return _Attention.apply(sender, receiver, kept, pattern, slope)


class _SpMM(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, transposed: Tensor | None, dense: Tensor, pattern: SymmetricCSR) -> Tensor:
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


class _Convolve(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, products: Tensor, bias: Tensor, pattern: SymmetricCSR, values: list[Tensor], transposed: list[Tensor]
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
        return result, (rows.new_ones(1, len(rows)) @ rows)[0], None, None, None  # a product is faster than a sum


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, sender: Tensor, receiver: Tensor, kept: Tensor, pattern: SymmetricCSR, slope: float
    ) -> Tensor:
        if usable(sender, receiver):
            from .triton.weight_kernels import attention

            weights = attention(pattern.indptr, pattern.indices, sender, receiver, kept, slope)
        else:
            weights = _row_softmax(pattern, leaky_relu(_score_sums(pattern, sender, receiver), slope), kept)
        ctx.pattern, ctx.slope = pattern, slope
        ctx.save_for_backward(sender, receiver, weights)
        return weights

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        sender, receiver, weights = ctx.saved_tensors
        pattern, grad = ctx.pattern, grads[0]
        if usable(grad):
            from .triton.weight_kernels import attention_backward

            arrays = (pattern.indptr, pattern.indices, pattern.mirror)
            return *attention_backward(*arrays, sender, receiver, weights, grad, ctx.slope), None, None, None
        weighted = grad * weights
        inner = weighted - weights * row_sums(pattern, weighted).index_select(0, pattern.rows)
        inner = torch.where(_score_sums(pattern, sender, receiver) > 0, inner, inner * ctx.slope)
        return row_sums(pattern, mirrored(pattern, inner)), row_sums(pattern, inner), None, None, None


def _multiply(
    pattern: SymmetricCSR,
    values: Tensor,
    dense: Tensor,
    out: Tensor | None = None,
    *,
    add: bool = False,
    transpose: bool = False,
) -> Tensor:
    """Write the product into ``out``, or add it to ``out``; the rows of ``dense`` and ``out`` may lie apart.

    With (E, H) values there are H matrices, one for each of H equal blocks of columns.
    """
    if out is None:
        out = dense.new_empty(pattern.num_nodes, dense.shape[1])
    if usable(values, dense):
        from .triton.sparse_kernels import spmm

        order = pattern.mirror if transpose else None
        plus = out if add else None
        return spmm(pattern.indptr, pattern.indices, values, dense, plus, out, order=order, pieces=pattern.pieces)
    values = mirrored(pattern, values) if transpose else values
    if values.dim() == 2:
        blocks = zip(values.t().contiguous(), *(t.chunk(values.shape[1], dim=1) for t in (dense, out)), strict=True)
        for head, columns, into in blocks:
            _multiply(pattern, head, columns, into, add=add)
        return out
    # With beta 0, addmm only writes ``out``; torch.sparse.mm would fill a new matrix with zeros and copy it.
    matrix = csr_tensor(pattern.indptr, pattern.indices, values, (pattern.num_nodes,) * 2)
    return torch.addmm(out, matrix, dense, beta=int(add), out=out)


def _multiply_and_add(
    pattern: SymmetricCSR, values: Tensor, left: Tensor, right: Tensor, bias: Tensor, out: Tensor
) -> None:
    """Write the product with ``left``, plus ``right``, plus a bias for every column."""
    if usable(values, left):
        from .triton.sparse_kernels import spmm

        spmm(pattern.indptr, pattern.indices, values, left, right, out, bias=bias, pieces=pattern.pieces)
    else:
        torch.add(right, bias, out=out)
        _multiply(pattern, values, left, out, add=True)


def _sampled_product(pattern: SymmetricCSR, left: Tensor, right: Tensor) -> Tensor:
    zeros = left.new_zeros(pattern.num_entries)
    empty = csr_tensor(pattern.indptr, pattern.indices, zeros, (pattern.num_nodes,) * 2)
    return torch.sparse.sampled_addmm(empty, left, right.t()).values()


def _score_sums(pattern: SymmetricCSR, sender: Tensor, receiver: Tensor) -> Tensor:
    """sender[j] + receiver[i] for every entry ij."""
    return sender.index_select(0, pattern.indices) + receiver.index_select(0, pattern.rows)


def _row_softmax(pattern: SymmetricCSR, scores: Tensor, kept: Tensor) -> Tensor:
    scores = scores.masked_fill(~kept[:, None], -torch.inf)
    peak = torch.segment_reduce(scores, "max", offsets=pattern.offsets, axis=0)
    weights = (scores - peak.index_select(0, pattern.rows)).exp_()
    return weights.div_(row_sums(pattern, weights).index_select(0, pattern.rows))
