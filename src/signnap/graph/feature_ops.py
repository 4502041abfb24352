"""Functions of node features of every kind: products, dropout, masks, conversion.

An encoder needs only ``multiply(x, weight)``, the product with its first layer, or ``multiply_all`` for several views.
Bags of words stay sparse in it (coauthor_physics would take 1.2 GB as a dense matrix). Noise on sparse features is
dense by nature; every product generates it again. Column masks move to the weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from ..ops.dense import matmul
from ..ops.dropout import dropout
from .arrays import feature_matrix
from .feature_types import Features, MaskedFeatures, SparseFeatures, StreamedFeatures, Unmasked

#: With a larger fraction of non-zeros a dense product is faster (measured: both are equal at about 0.25).
DENSE_ABOVE = 0.25


class _Multiply(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weight: Tensor, x: SparseFeatures | StreamedFeatures) -> Tensor:
        ctx.x = x
        return x.times(weight)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return ctx.x.transposed_times(grads[0].contiguous()), None


def multiply(x: Features, weight: Tensor) -> Tensor:
    """``x @ weight`` for features of every kind, differentiable in the weight alone, because features are data."""
    if isinstance(x, MaskedFeatures):
        return multiply(x.base, weight * x.kept[:, None])
    return matmul(x, weight) if isinstance(x, Tensor) else _Multiply.apply(weight, x)


def multiply_all(xs: Sequence[Features], weight: Tensor) -> list[Tensor]:
    """``x @ weight`` of every x; equal x, and x that differ only by their masks, share the common work.

    On a CPU, masked dense features are multiplied once with the columns that all masks keep, and then with the few
    columns that only some masks keep. A GPU multiplies each x, because shapes must not change between iterations.
    Sparse features are multiplied one by one as well, because selecting their columns would cost more than it saves.
    """
    distinct = {id(x): x for x in xs}
    first, *others = (x.base if isinstance(x, MaskedFeatures) else x for x in distinct.values())
    if isinstance(first, Tensor) and others and not first.is_cuda and all(other is first for other in others):
        products = dict(zip(distinct, _by_columns(first, [*distinct.values()], weight), strict=True))
    else:
        products = {key: multiply(x, weight) for key, x in distinct.items()}
    return [products[id(x)] for x in xs]


def _by_columns(base: Tensor, xs: Sequence[Features], weight: Tensor) -> list[Tensor]:
    """Products of the base under several masks. The columns that all masks keep are multiplied once."""
    everything = weight.new_ones(len(weight), dtype=torch.bool)
    masks = [x.kept if isinstance(x, MaskedFeatures) else everything for x in xs]
    common = torch.stack(masks).all(dim=0)
    shared, found = matmul(base, weight * common[:, None]), []
    for mask in masks:
        own = (mask & ~common).nonzero().squeeze(1)
        found.append(torch.addmm(shared, base.index_select(1, own), weight.index_select(0, own)))
    return found


def drop_features(x: Features, p: float, training: bool) -> Features:
    """Dropout on input features. On sparse features it drops stored values only, which has the same effect."""
    if not training or p <= 0:
        return x
    x = applied(x)
    if isinstance(x, SparseFeatures):
        return x.with_values(dropout(x.values, p))
    if isinstance(x, StreamedFeatures):
        scale = 1 / (1 - p) if p < 1 else 0.0
        return x.then(
            lambda chunk, source: chunk * scale * (torch.rand(chunk.shape, generator=source, device=chunk.device) >= p)
        )
    return dropout(x, p)


def mask_columns(x: Features, kept: Tensor) -> MaskedFeatures:
    """The features with zeros in the columns that are not kept."""
    return MaskedFeatures(x.base, x.kept & kept) if isinstance(x, MaskedFeatures) else MaskedFeatures(x, kept)


def applied(x: Features) -> Unmasked:
    """The same features with the mask multiplied in, for callers that read the numbers."""
    if not isinstance(x, MaskedFeatures):
        return x
    base, kept = x.base, x.kept
    if isinstance(base, SparseFeatures):
        return base.with_values(base.values * kept.index_select(0, base.indices))
    if isinstance(base, StreamedFeatures):
        return base.then(lambda chunk, _: chunk * kept)
    return base * kept


def as_dense(x: Features) -> Tensor:
    """The whole matrix as a tensor: for encoders that accept only dense input, and for small graphs."""
    x = applied(x)
    if isinstance(x, SparseFeatures):
        return x.dense()
    if isinstance(x, StreamedFeatures):
        return torch.cat([chunk for _, chunk in x.chunks()])
    return x


def row_normalized(x: Tensor | SparseFeatures) -> Tensor | SparseFeatures:
    """Each row divided by the sum of its absolute values; empty rows stay as they are.

    For non-negative features this is the usual row normalisation. The plain sum of signed features could be near zero.
    """
    if isinstance(x, SparseFeatures):
        sums = np.asarray(abs(x.to_scipy()).sum(axis=1)).ravel()
        divisor = torch.from_numpy(np.repeat(np.where(sums == 0, 1, sums), np.diff(x.indptr.cpu().numpy())))
        return x.with_values(x.values / divisor.to(x.values))
    total = x.abs().sum(dim=1, keepdim=True)
    return x / torch.where(total == 0, torch.ones_like(total), total)


def row_lengths(x: Unmasked) -> Tensor:
    """The Euclidean length of every row."""
    if isinstance(x, SparseFeatures):
        ends = x.values.double().square().cumsum(0)
        sums = torch.cat([ends.new_zeros(1), ends]).index_select(0, x.indptr.long()).diff()
        return sums.clamp(min=0).sqrt().to(x.values.dtype)
    if isinstance(x, StreamedFeatures):
        return torch.cat([torch.linalg.vector_norm(chunk, dim=1) for _, chunk in x.chunks()])
    return torch.linalg.vector_norm(x, dim=1)


def compact(matrix: Any) -> Tensor | SparseFeatures:
    """Features from any kind of matrix, dense or sparse, whichever is faster for their fraction of non-zeros."""
    if isinstance(matrix, SparseFeatures):
        return matrix
    matrix = feature_matrix(matrix)
    size = max(1, matrix.shape[0] * matrix.shape[1])
    filled = matrix.nnz if sp.issparse(matrix) else np.count_nonzero(matrix)
    if filled / size > DENSE_ABOVE:
        dense = matrix.toarray() if sp.issparse(matrix) else matrix
        return torch.from_numpy(np.array(dense, dtype=np.float32, order="C"))  # a copy, because graphs are immutable
    return SparseFeatures.from_scipy(matrix)


def first_non_finite(x: Tensor | SparseFeatures) -> tuple[int, int, float] | None:
    """Row, column and value of the first number that is NaN or infinite."""
    values = x.values if isinstance(x, SparseFeatures) else x
    bad = (~torch.isfinite(values)).nonzero()
    if not len(bad):
        return None
    at = bad[0].tolist()
    value = float(values[tuple(at)])
    if isinstance(x, SparseFeatures):
        return int(torch.searchsorted(x.indptr, at[0], right=True)) - 1, int(x.indices[at[0]]), value
    return at[0], at[-1], value
