"""Geometry of embeddings: cosines, effective rank, uniformity and alignment.

The training loop watches these numbers for signs of collapse, and the evaluation reports them.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..rng import generator

#: Differences below this fraction of the numbers that they come from are float32 rounding.
ROUNDING = 1e-6


def cosines(dots: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """Cosines from products and squared lengths: 1 between two zero rows, 0 between a zero row and any other."""
    lengths = (left * right).sqrt()
    return torch.where(lengths > 0, dots / lengths, (left == right).to(dots.dtype))


def directions(z: Tensor) -> Tensor:
    """Rows scaled to length 1, with one more coordinate that is 1 for zero rows.

    A zero row has no direction. The extra coordinate makes its cosine 1 with another zero row, which is the same point,
    and 0 with every other row, as in ``cosines``.
    """
    # Squares of float32 numbers can overflow or vanish in float32; their sum in float64 cannot.
    norm = torch.linalg.vector_norm(z, dim=-1, keepdim=True, dtype=torch.float64).to(z.dtype)
    return torch.cat([torch.where(norm > 0, z / norm, 0), (norm == 0).to(z.dtype)], dim=-1)


@torch.no_grad()
def effective_rank(z: Tensor) -> float:
    """exp(entropy) of the normalised singular values of the centred matrix: the number of directions in use.

    It lies between 1 and min(N − 1, d). It is 0 if all rows coincide, and NaN if a row is not finite. The singular
    values come from the smaller of the two Gram matrices, in float64. Defined by Roy and Vetterli, EUSIPCO 2007.
    """
    z = z.double()
    if not z.isfinite().all():
        return math.nan
    centred = z - z.mean(dim=0)
    if centred.square().sum() <= ROUNDING**2 * z.square().sum():
        return 0.0
    gram = centred.t() @ centred if len(z) >= z.shape[1] else centred @ centred.t()
    singular = torch.linalg.eigvalsh(gram.cpu()).clamp(min=0).sqrt()  # too small for a GPU to be faster
    return float(torch.special.entr(singular / singular.sum()).sum().exp())


@torch.no_grad()
def uniformity(z: Tensor, sample: int = 2000) -> float:
    """log of the mean of exp(−2‖ẑᵢ − ẑⱼ‖²) over pairs of distinct rows: 0 if all directions are equal, else lower.

    At most ``sample`` rows are compared. Every call draws the same rows, so that a curve over training is smooth.
    Defined by Wang and Isola, https://arxiv.org/abs/2005.10242.
    """
    if len(z) < 2:
        return 0.0
    if len(z) > sample:
        z = z[torch.randperm(len(z), generator=generator(0, "uniformity"))[:sample].to(z.device)]
    unit = directions(z)
    affinity = (4 * (unit @ unit.t()) - 4).exp_().fill_diagonal_(0)  # ‖a − b‖² = 2 − 2 a·b
    return float((affinity.sum(dtype=torch.float64) / (len(z) * (len(z) - 1))).log())


def spread(z: Tensor) -> dict[str, float]:
    """The numbers that training logs, and watches for collapse."""
    return {
        "uniformity": uniformity(z, sample=1000),
        "effective_rank": effective_rank(z),
        "norm": float(z.norm(dim=1).mean()),
    }


@torch.no_grad()
def alignment(z1: Tensor, z2: Tensor) -> float:
    """Mean squared distance between the directions of the same node in two embeddings: 0 to 4, lower is closer."""
    return float((directions(z1) - directions(z2)).square().sum(dim=1).mean(dtype=torch.float64))
