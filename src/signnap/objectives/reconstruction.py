"""The scaled cosine error of GraphMAE between features and their reconstruction, which is never computed.

GraphMAE: https://arxiv.org/abs/2205.10803. A decoder that ends in a linear map reconstructs the features x
of a node as x̂ = g·W, and the loss compares directions only. With x of length one, cos(x̂, x) = g·(x·Wᵀ) / ‖g·W‖ and
‖g·W‖² = g·(W·Wᵀ)·g. So x stays sparse, and x̂ is not needed. For coauthor_physics it would take 1.2 GB and eight times
the multiplications.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import normalize

from ..graph import Features, SparseFeatures, StreamedFeatures, applied, multiply
from ..ops.dense import matmul

#: Shorter rows count as this long.
_MIN_LENGTH = 1e-12


def unit_rows(x: Features) -> Tensor | SparseFeatures:
    """Features with rows of length one; empty rows stay as they are."""
    x = applied(x)
    if isinstance(x, StreamedFeatures):
        raise TypeError("streamed features are noise, which no decoder can reconstruct")
    if isinstance(x, Tensor):
        return normalize(x, dim=1)
    squares = x.with_values(x.values.square()).times(x.values.new_ones(x.shape[1], 1))
    lengths = torch.repeat_interleave(squares[:, 0].sqrt(), x.indptr.diff(), output_size=x.values.numel())
    return x.with_values(x.values / lengths.clamp(min=_MIN_LENGTH))  # the square of a number may underflow


def product_cosines(left: Tensor, right: Tensor, units: Tensor | SparseFeatures, rows: Tensor) -> Tensor:
    """Cosine of row i of ``left @ right`` with row ``rows[i]`` of ``units``, for every i.

    Rows of ``units`` have length one or zero. A zero row of the product has the cosine 0 with every row and, as in the
    authors' code, the gradient of a row of length 1e-12. That gradient matters. A row is zero where a node's whole
    neighbourhood is hidden, as long as the decoder's bias is zero. The bias's first gradient is then so large that Adam
    moves it for a few steps and, with its large second moment, hardly ever again. Nothing else in this loss depends on
    lengths, so the fixed bias alone keeps decaying weights from vanishing.
    """
    dots = torch.linalg.vecdot(left, multiply(units, right.t()).index_select(0, rows))
    squares = squared_lengths(left, right)
    # If the terms of a row nearly cancel, its length is rounding error, and the quotient may have any value.
    return (dots / torch.where(squares > _MIN_LENGTH**2, squares, _MIN_LENGTH**2).sqrt()).clamp(-1, 1)


def squared_lengths(left: Tensor, right: Tensor) -> Tensor:
    """‖row‖² of ``left @ right``, computed with the fewer multiplications of two ways."""
    if right.shape[1] <= right.shape[0]:
        return matmul(left, right).square().sum(dim=1)
    return torch.linalg.vecdot(matmul(left, right @ right.t()), left)


def sharpened(cosines: Tensor, sharpness: float) -> Tensor:
    """mean (1 − cos)^γ, from 0 to 2^γ: with a larger γ, nodes that are nearly right count less."""
    return (1 - cosines).pow(sharpness).mean()
