"""The shape of a cloud of embeddings: directions, rank, spread.

A foundation rather than a judge, because the training loop watches the same numbers for signs of collapse.
"""

from __future__ import annotations

from typing import Union

import torch
from torch import Tensor

from .graph import SparseFeatures
from .rng import generator

#: What a judge looks at: learned embeddings, or raw features that are too wide to be dense.
Embeddings = Union[Tensor, SparseFeatures]

#: Differences below this share of the numbers they come from are float32 rounding, not signal.
ROUNDING = 1e-6
_CHUNK_ELEMENTS = 1 << 22


def dense_rows(z: Embeddings, nodes: Tensor) -> Tensor:
    """The rows of these nodes as a dense tensor that carries no gradient."""
    if isinstance(z, SparseFeatures):
        return torch.from_numpy(z.to_scipy()[nodes.cpu().numpy()].toarray()).to(z.values.device)
    return z.detach().index_select(0, nodes.to(z.device))


def in_chunks(nodes: Tensor, width: int) -> tuple[Tensor, ...]:
    """Cut a list of rows so that each piece, at ``width`` numbers a row, fills a modest buffer."""
    return nodes.split(max(1, _CHUNK_ELEMENTS // max(1, width)), dim=-1)


def first_bad_row(z: Embeddings) -> int | None:
    """The first row that holds NaN or infinity, or None."""
    bad = (~torch.isfinite(z.values if isinstance(z, SparseFeatures) else z)).nonzero()
    if not len(bad):
        return None
    first = int(bad[0, 0])
    return int(torch.searchsorted(z.indptr, first, right=True)) - 1 if isinstance(z, SparseFeatures) else first


def unit_rows(z: Tensor, floor: float = 0.0) -> Tensor:
    """Each row (last dimension) scaled to length 1; rows no longer than ``floor`` become zero."""
    # Squares of float32 numbers can overflow or vanish in float32; their sum in float64 cannot.
    norm = torch.linalg.vector_norm(z, dim=-1, keepdim=True, dtype=torch.float64).to(z.dtype)
    return torch.where(norm > floor, z / norm, 0)


def directions(z: Tensor) -> Tensor:
    """Unit rows with one more coordinate that is 1 for zero rows, so that every product is a defined cosine.

    A zero row has no direction. With the extra coordinate its cosine is 1 with another zero row (the two are the
    same point) and 0 with everything else.
    """
    unit = unit_rows(z)
    return torch.cat([unit, (~unit.any(dim=-1, keepdim=True)).to(z.dtype)], dim=-1)


@torch.no_grad()
def effective_rank(z: Tensor) -> float:
    """exp(entropy) of the normalised singular values of the centred matrix: how many directions are in use.

    Between 1 and min(N − 1, d); 0 when all rows coincide. The singular values come from the smaller of the two
    Gram matrices, in float64.
    """
    z = z.double()
    centred = z - z.mean(dim=0)
    if centred.square().sum() <= ROUNDING**2 * z.square().sum():
        return 0.0
    gram = centred.t() @ centred if len(z) >= z.shape[1] else centred @ centred.t()
    singular = torch.linalg.eigvalsh(gram).clamp(min=0).sqrt()
    return float(torch.special.entr(singular / singular.sum()).sum().exp())


@torch.no_grad()
def uniformity(z: Tensor, sample: int = 2000) -> float:
    """log of the mean of exp(−2‖ẑᵢ − ẑⱼ‖²) over pairs of distinct rows: 0 when all point one way, lower is more spread.

    At most ``sample`` rows are compared; the same ones at every call, so that a curve over training is smooth.
    """
    if len(z) < 2:
        return 0.0
    if len(z) > sample:
        z = dense_rows(z, torch.randperm(len(z), generator=generator(0, "uniformity"))[:sample])
    unit = directions(z)
    affinity = (4 * (unit @ unit.t()) - 4).exp_().fill_diagonal_(0)  # ‖a − b‖² = 2 − 2 a·b
    return float((affinity.sum(dtype=torch.float64) / (len(z) * (len(z) - 1))).log())


@torch.no_grad()
def alignment(z1: Tensor, z2: Tensor) -> float:
    """Mean squared distance between the directions of the same node in two copies: 0 to 4, lower is closer."""
    return float((directions(z1) - directions(z2)).square().sum(dim=1).mean(dtype=torch.float64))
