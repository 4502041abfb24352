"""The leading directions of node features: what is left of thousands of columns in a few hundred numbers."""

from __future__ import annotations

import torch
from torch import Tensor

from .feature_ops import multiply, row_lengths
from .feature_types import Features, MaskedFeatures, Unmasked

#: Rounds of subspace iteration, and directions beyond those asked for, which make the last of these exact.
_ROUNDS, _SPARE = 5, 16

#: With fewer columns the length of a row is information; with more it mostly tells how much was written about a node.
_FEW_COLUMNS = 16


def reduce_features(x: Features, directions: Tensor) -> Tensor:
    """The features of every node in the coordinates of some directions; rows with many columns count as unit vectors.

    A row keeps the length of its unmasked features: what a mask hides is missing, and nothing else grows in its place.
    """
    reduced = multiply(x, directions)
    if x.shape[1] < _FEW_COLUMNS:
        return reduced
    lengths = row_lengths(x.base if isinstance(x, MaskedFeatures) else x)
    return reduced / torch.where(lengths == 0, torch.ones_like(lengths), lengths)[:, None]


def leading_directions(x: Unmasked, count: int, generator: torch.Generator) -> Tensor:
    """The first right singular vectors of the features, as columns (F, count), by subspace iteration.

    All are scaled by one factor, so that the first coordinate of a reduced row has a mean square of 1. If features have
    fewer directions than ``count``, the other columns are zero.
    """
    width = min(count + _SPARE, *x.shape)
    found = torch.randn(x.shape[1], width, generator=generator, device=generator.device)
    for _ in range(_ROUNDS):
        found = _orthonormal(_transposed_times(x, reduce_features(x, _orthonormal(found))))
    basis = _orthonormal(found)
    squares, vectors = _eigen(reduce_features(x, basis))
    squares, vectors = squares.flip(0)[:count], vectors.flip(1)[:, :count]
    directions = found.new_zeros(x.shape[1], count)
    if len(squares):
        directions[:, : len(squares)] = basis @ vectors * (x.shape[0] / squares[0]).sqrt()
    return directions


def _transposed_times(x: Unmasked, reduced: Tensor) -> Tensor:
    """Xᵀ·reduced, where X has the rows that ``reduce_features`` multiplies."""
    if x.shape[1] >= _FEW_COLUMNS:
        lengths = row_lengths(x)
        reduced = reduced / torch.where(lengths == 0, torch.ones_like(lengths), lengths)[:, None]
    return x.t() @ reduced if isinstance(x, Tensor) else x.transposed_times(reduced)


def _orthonormal(matrix: Tensor) -> Tensor:
    """An orthonormal basis of the columns; dependent columns leave the basis smaller."""
    squares, vectors = _eigen(matrix)
    return matrix @ (vectors / squares.sqrt())


def _eigen(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """Squares of the singular values that are not zero, ascending, and their right singular vectors."""
    exact = matrix.double()
    squares, vectors = torch.linalg.eigh(exact.t() @ exact)
    kept = squares > squares.max() * 1e-12 if squares.numel() and squares.max() > 0 else squares > 0
    return squares[kept].to(matrix.dtype), vectors[:, kept].to(matrix.dtype)
