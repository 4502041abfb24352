"""The shape of a cloud of embeddings: directions, rank, spread.

A foundation rather than a judge, because the training loop watches the same numbers for signs of collapse.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..rng import generator

#: Differences below this share of the numbers they come from are float32 rounding, not signal.
ROUNDING = 1e-6


def cosines(dots: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """Cosines from products and squared lengths: between two zero rows 1, between a zero row and another 0."""
    lengths = (left * right).sqrt()
    return torch.where(lengths > 0, dots / lengths, (left == right).to(dots.dtype))


def directions(z: Tensor) -> Tensor:
    """Rows scaled to length 1, with one more coordinate that is 1 for zero rows: every product is a defined cosine.

    A zero row has no direction. With the extra coordinate its cosine is 1 with another zero row (the two are the
    same point) and 0 with everything else, as in ``cosines``.
    """
    # Squares of float32 numbers can overflow or vanish in float32; their sum in float64 cannot.
    norm = torch.linalg.vector_norm(z, dim=-1, keepdim=True, dtype=torch.float64).to(z.dtype)
    return torch.cat([torch.where(norm > 0, z / norm, 0), (norm == 0).to(z.dtype)], dim=-1)


@torch.no_grad()
def effective_rank(z: Tensor) -> float:
    """exp(entropy) of the normalised singular values of the centred matrix: how many directions are in use.

    Between 1 and min(N − 1, d); 0 when all rows coincide, NaN when one is not finite. The singular values come from
    the smaller of the two Gram matrices, in float64.
    """
    z = z.double()
    if not z.isfinite().all():
        return math.nan
    centred = z - z.mean(dim=0)
    if centred.square().sum() <= ROUNDING**2 * z.square().sum():
        return 0.0
    gram = centred.t() @ centred if len(z) >= z.shape[1] else centred @ centred.t()
    singular = torch.linalg.eigvalsh(gram.cpu()).clamp(min=0).sqrt()  # too small to be worth a GPU's while
    return float(torch.special.entr(singular / singular.sum()).sum().exp())


@torch.no_grad()
def uniformity(z: Tensor, sample: int = 2000) -> float:
    """log of the mean of exp(−2‖ẑᵢ − ẑⱼ‖²) over pairs of distinct rows: 0 when all point one way, lower is more spread.

    At most ``sample`` rows are compared; the same ones at every call, so that a curve over training is smooth.
    """
    if len(z) < 2:
        return 0.0
    if len(z) > sample:
        z = z[torch.randperm(len(z), generator=generator(0, "uniformity"))[:sample].to(z.device)]
    unit = directions(z)
    affinity = (4 * (unit @ unit.t()) - 4).exp_().fill_diagonal_(0)  # ‖a − b‖² = 2 − 2 a·b
    return float((affinity.sum(dtype=torch.float64) / (len(z) * (len(z) - 1))).log())


def spread(z: Tensor) -> dict[str, float]:
    """What training logs, and watches, about the embeddings of a graph."""
    return {
        "uniformity": uniformity(z, sample=1000),
        "effective_rank": effective_rank(z),
        "norm": float(z.norm(dim=1).mean()),
    }


@torch.no_grad()
def alignment(z1: Tensor, z2: Tensor) -> float:
    """Mean squared distance between the directions of the same node in two copies: 0 to 4, lower is closer."""
    return float((directions(z1) - directions(z2)).square().sum(dim=1).mean(dtype=torch.float64))
