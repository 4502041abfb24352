"""How well features are rebuilt, without rebuilding them: the loss of GraphMAE (spec §5.2).

A decoder that ends in a linear map rebuilds the features x of a node as x̂ = g·W, and only directions are compared. With
x scaled to length one, cos(x̂, x) = g·(x·Wᵀ) / ‖g·W‖ and ‖g·W‖² = g·(W·Wᵀ)·g. So x̂, which would take 1.2 GB for
coauthor_physics and eight times the multiplications, is not needed, and x stays sparse.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import normalize

from ..graph import Features, SparseFeatures, StreamedFeatures, applied, multiply
from ..ops.dense import matmul

#: Shorter rows are taken for this long.
_SHORTEST = 1e-12


def unit_rows(x: Features) -> Tensor | SparseFeatures:
    """Features with rows of length one; empty rows are left alone."""
    x = applied(x)
    if isinstance(x, StreamedFeatures):
        raise TypeError("streamed features are noise, which nobody could rebuild")
    if isinstance(x, Tensor):
        return normalize(x, dim=1)
    squares = x.with_values(x.values.square()).times(x.values.new_ones(x.shape[1], 1))
    lengths = torch.repeat_interleave(squares[:, 0].sqrt(), x.indptr.diff(), output_size=x.values.numel())
    return x.with_values(x.values / lengths.clamp(min=_SHORTEST))  # a square may vanish where its number does not


def product_cosines(left: Tensor, right: Tensor, units: Tensor | SparseFeatures, rows: Tensor) -> Tensor:
    """Cosine of every row of ``left @ right`` with the one of ``units`` whose number is at that place of ``rows``.

    Rows of ``units`` have length one, or zero. A zero row has the cosine 0 with everything and, as in the authors'
    code, the gradient of a row of length 1e-12. That matters: rows are zero where a node's whole neighbourhood is
    hidden, as long as the decoder's bias is. Its first gradient is then so large that Adam moves it a few steps and,
    remembering the size, hardly ever again; and a bias that stays where it is keeps weights that decay from vanishing,
    for nothing else in this loss depends on lengths.
    """
    dots = torch.linalg.vecdot(left, multiply(units, right.t()).index_select(0, rows))
    squares = squared_lengths(left, right)
    # Where a row is nearly cancelled, its length is rounding, and the quotient may be anything.
    return (dots / torch.where(squares > _SHORTEST**2, squares, _SHORTEST**2).sqrt()).clamp(-1, 1)


def squared_lengths(left: Tensor, right: Tensor) -> Tensor:
    """‖row‖² of ``left @ right``, by whichever way takes fewer multiplications."""
    if right.shape[1] <= right.shape[0]:
        return matmul(left, right).square().sum(dim=1)
    return torch.linalg.vecdot(matmul(left, right @ right.t()), left)


def sharpened(cosines: Tensor, sharpness: float) -> Tensor:
    """mean (1 − cos)^γ, from 0 to 2^γ: the larger γ is, the less a node counts that is nearly right."""
    return (1 - cosines).pow(sharpness).mean()
