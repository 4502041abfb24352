"""Objectives without negatives: columns agree between the views and are uncorrelated with each other.

Different columns, not different rows, keep the embedding from collapsing. So these objectives need no memory bank and
no random numbers. Their memory is linear in the number of nodes: two standardised copies, and d×d matrices.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..errors import SignnapError
from ..interfaces import Objective, Terms
from ..ops.dense import matmul
from ..ops.geometry import ROUNDING


class BarlowTwins(Objective):
    """Make the correlations C between the columns of the two views the identity.

    L = Σ_i (1 − C_ii)² + (1/d) Σ_{i≠j} C_ij². The part "loss_1" is the first sum (the views agree), "loss_2" the second
    (the columns differ). This is the loss of Graph Barlow Twins (https://arxiv.org/abs/2106.02466).

    L is 0 exactly where C = I, because standard deviations are biased; the authors' unbiased ones leave d/N². A
    constant column costs 1 and gets no gradient (see ``standardised``).

    There is no ``chance``. Constant columns and unrelated views give about d, but d copies of one good column give
    d − 1, which is hardly less. The watch for collapse finds equal embeddings without it.
    """

    def forward(self, z1: Tensor, z2: Tensor, generator: torch.Generator) -> Terms:
        found = correlations(standardised(z1), standardised(z2))
        own = found.diagonal()
        first = (1 - own).square().sum()
        second = (found - own.diag()).square().sum() / len(found)
        return Terms(first + second, {"loss_1": first, "loss_2": second})


class CCA(Objective):
    """Correlate each column with itself in the other view, and whiten each view.

    L = −Σ_i C_ii + λ (‖I − C₁‖² + ‖I − C₂‖²), with C between the views and C₁, C₂ within each. The part "loss_1" is the
    sum (the views agree), "loss_2" the rest (the columns differ). λ is ``weight``; the authors use 0.001 on most
    graphs. This is the loss of CCA-SSG (https://arxiv.org/abs/2106.12484).

    L is at least −d. It is −d where the views are white and equal up to shift and scale of columns. This holds for
    biased standard deviations; the authors' unbiased ones give −d(N−1)/N + 2λd/N² there. A constant column costs 2λ and
    gets no gradient, where the authors' code gives NaN (see ``standardised``).

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

    A column is constant if it varies by no more than the rounding of its mean (``ROUNDING``), or if its squares
    underflow. Scaled up, such a column would be noise. NaN and infinity become NaN.
    """
    mean = z.mean(dim=0)
    centred = z - mean
    # In float32 the mean of 400,000 equal numbers errs by more than ROUNDING; subtract the remaining mean.
    centred = centred.sub_(centred.detach().mean(dim=0))
    variance = centred.square().mean(dim=0)
    varies = variance > (ROUNDING * mean).square().clamp(min=torch.finfo(z.dtype).tiny)
    # Division by infinity gives values and gradients of 0; division by the square root of 0 gives NaN.
    return centred / torch.where(varies, variance, torch.inf).sqrt()


def correlations(left: Tensor, right: Tensor) -> Tensor:
    """Correlation (d, d) of each standardised column of ``left`` with each of ``right``."""
    return matmul(left.t(), right) / len(left)
