"""Objectives without negatives: columns agree between the views and do not repeat each other.

What keeps the embedding from collapsing is that its columns must differ, not its rows. So there is no memory bank,
nothing is drawn, and memory is linear in the number of nodes: two standardised copies and matrices of d×d.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..contracts import Objective, Terms
from ..errors import SignnapError
from ..ops.dense import matmul
from ..ops.geometry import ROUNDING


class BarlowTwins(Objective):
    """Make the correlations C between the columns of the two views the identity (Graph Barlow Twins, spec §4.10).

    L = Σ_i (1 − C_ii)² + (1/d) Σ_{i≠j} C_ij². The part "loss_1" is the first sum (the views agree), "loss_2"
    the other (the columns differ).

    L is 0 exactly where C = I, since the standard deviation is the biased one; the authors' unbiased one leaves d/N².
    A constant column costs 1 and gets no gradient (see ``standardised``).

    There is no ``chance``: constant columns and unrelated views give about d, but copies of one good column give
    d − 1, which is hardly less. That all embeddings are the same, the watch on training sees without it.
    """

    def forward(self, z1: Tensor, z2: Tensor, generator: torch.Generator) -> Terms:
        found = correlations(standardised(z1), standardised(z2))
        own = found.diagonal()
        first = (1 - own).square().sum()
        second = (found - own.diag()).square().sum() / len(found)
        return Terms(first + second, {"loss_1": first, "loss_2": second})


class CCA(Objective):
    """Correlate each column with itself in the other view, and make each view white (CCA-SSG, spec §5.1).

    L = −Σ_i C_ii + λ (‖I − C₁‖² + ‖I − C₂‖²), with C between the views and C₁, C₂ within each. The part "loss_1" is
    the sum (the views agree), "loss_2" the rest (the columns differ); λ is ``weight``, and 0.001 the authors'
    on most graphs.

    L is at least −d, and equal to it where the views are white and, up to shift and scale of columns, the same. This
    is with the biased standard deviation; the authors' unbiased one gives −d(N−1)/N + 2λd/N² there. A constant column
    costs 2λ and gets no gradient, where the authors' code gives NaN (see ``standardised``).

    There is no ``chance``: the 2λd of constant columns is an ordinary value on the way down to −d.
    """

    def __init__(self, weight: float = 1e-3) -> None:
        super().__init__()
        if not (math.isfinite(weight) and weight >= 0):
            raise SignnapError(f"the weight of the decorrelation is {weight}: expected a finite number of at least 0")
        self.weight = weight

    def forward(self, z1: Tensor, z2: Tensor, generator: torch.Generator) -> Terms:
        views = standardised(z1), standardised(z2)
        identity = torch.eye(z1.shape[1], dtype=z1.dtype, device=z1.device)
        distances = [(correlations(z, z) - identity).square().sum() for z in views]
        # The diagonal alone takes N·d products, not N·d².
        first = -(views[0] * views[1]).sum() / len(z1)
        second = self.weight * (distances[0] + distances[1])
        return Terms(first + second, {"loss_1": first, "loss_2": second})


def standardised(z: Tensor) -> Tensor:
    """Columns with mean 0 and biased standard deviation 1; a constant column becomes 0, and no gradient flows to it.

    A column is constant when it varies by no more than the rounding of its mean (``ROUNDING``), or so little that
    squares underflow. Scaled up, it would be noise. NaN and infinity stay visible as NaN.
    """
    mean = z.mean(dim=0)
    centred = z - mean
    # In float32 the mean of 400,000 equal numbers is off by more than ROUNDING; take away what it missed.
    centred = centred.sub_(centred.detach().mean(dim=0))
    variance = centred.square().mean(dim=0)
    varies = variance > (ROUNDING * mean).square().clamp(min=torch.finfo(z.dtype).tiny)
    # Divided by infinity, values and gradients are 0; by the square root of 0 they would be NaN.
    return centred / torch.where(varies, variance, torch.inf).sqrt()


def correlations(left: Tensor, right: Tensor) -> Tensor:
    """Correlation (d, d) of each standardised column on the left with each on the right."""
    return matmul(left.t(), right) / len(left)
