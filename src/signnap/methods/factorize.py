"""Leading eigenpairs of a large symmetric matrix that is never held, only multiplied."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ..ops.geometry import ROUNDING


def leading_eigenpairs(
    times: Callable[[Tensor], Tensor], start: Tensor, rank: int, passes: int
) -> tuple[Tensor, Tensor]:
    """The eigenvalues of largest size and their vectors, as far as ``passes`` products M·block can find them.

    A product is what costs: every block of ``start``, M·``start``, M²·``start``… is therefore kept, and the best
    approximation in the span of all of them is taken (block Krylov, Rayleigh–Ritz) instead of that in the last one.
    Where the blocks fill the whole space the result is exact, and ``rank`` at most the number of rows.
    """
    basis = images = start[:, :0]
    image = start
    for _ in range(passes):
        block = _new_directions(basis, image)
        if not block.shape[1]:
            break
        image = times(block)
        basis, images = torch.cat([basis, block], dim=1), torch.cat([images, image], dim=1)
    small = (basis.t() @ images).double()
    values, vectors = torch.linalg.eigh((small + small.t()) / 2)
    chosen = values.abs().argsort(descending=True, stable=True)[:rank]
    return values[chosen].to(basis.dtype), _signed(basis @ vectors[:, chosen].to(basis.dtype))


def factor(values: Tensor, vectors: Tensor) -> Tensor:
    """U √S of a symmetric matrix with these eigenpairs; directions that are only rounding become zero."""
    sizes = values.abs()
    return vectors * torch.where(sizes > ROUNDING * sizes.max(), sizes, 0).sqrt()


def _new_directions(basis: Tensor, block: Tensor) -> Tensor:
    """Orthonormal columns that, with the basis, span the block too; no more than there is room for.

    Householder's reflections give them even where the block adds nothing: its columns are then any others.
    """
    return torch.linalg.qr(torch.cat([basis, block], dim=1)).Q[:, basis.shape[1] :]


def _signed(vectors: Tensor) -> Tensor:
    """Every column with its largest entry positive: an eigenvector's sign is arbitrary, a result's should not be."""
    return vectors * vectors.gather(0, vectors.abs().argmax(dim=0, keepdim=True)).sign()
