"""Where a node is in its subgraph: coordinates from the leading eigenvectors of its adjacency (spec §4.6, item 3)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import normalize, pad

#: Eigenvalues of a normalised adjacency are at least −1: padding that has this one is never among the largest.
_BELOW_ALL = -2.0


@torch.no_grad()
def positional(adjacency: Tensor, real: Tensor, width: int, source: torch.Generator) -> Tensor:
    """(B, n, width): rows of the k = min(nodes − 2, width) leading eigenvectors of D^{-1/2} A D^{-1/2}, of length one.

    Columns beyond k are zero, and so are the rows of padding. The sign of an eigenvector says nothing and is drawn at
    random. Where an edge is kept in one direction only it counts half.
    """
    both = (adjacency + adjacency.mT) / 2
    scale = both.sum(dim=2).clamp(min=1e-12).rsqrt()
    matrix = both * scale[:, :, None] * scale[:, None, :] + torch.diag_embed(torch.where(real, 0.0, _BELOW_ALL))
    leading = torch.linalg.eigh(matrix).eigenvectors.flip(2)[:, :, :width]
    leading = pad(leading, (0, width - leading.shape[2]))
    signs = torch.rand(len(leading), 1, width, generator=source, device=source.device) < 0.5
    wanted = torch.arange(width, device=real.device) < real.sum(dim=1, keepdim=True) - 2
    leading = torch.where(signs, leading, -leading) * (wanted[:, None, :] & real[:, :, None])
    return normalize(leading, dim=2)
