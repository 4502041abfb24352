"""Encoders that compute one vector from each of many small dense subgraphs, padded to one size: those of GCC.

GCC: https://doi.org/10.1145/3394486.3403168. ``adjacency`` has the shape (B, n, n), the seed is the first node, and
``real`` (B, n) is False for padding.
"""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout, normalize, pad, relu

from ..graph import Features, drop_features, multiply

#: The largest degree with a vector of its own, and the width of these vectors.
_MOST, _DEGREE_WIDTH = 512, 16
#: A normalised adjacency has eigenvalues of at least −1. Padding gets this smaller one, so it is never a leading one.
_BELOW_ALL = -2.0


@torch.no_grad()
def positional(adjacency: Tensor, real: Tensor, width: int, source: torch.Generator) -> Tensor:
    """Coordinates of the nodes (B, n, width): rows of the leading eigenvectors of D^{-1/2} A D^{-1/2}, of length one.

    There are k = min(nodes − 2, width) eigenvectors; further columns are zero, and so are the rows of padding. The sign
    of an eigenvector is arbitrary and is drawn at random. An edge that is kept in one direction only counts half.
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


class MaskedBatchNorm(nn.BatchNorm1d):
    """Batch norm over the real rows of (B, n, d), equal to ``nn.BatchNorm1d`` of these rows, with static shapes."""

    def forward(self, x: Tensor, real: Tensor) -> Tensor:
        assert self.running_mean is not None and self.running_var is not None and self.momentum is not None
        if self.training:
            count = real.sum()
            share = (real.to(x.dtype) / count).view(1, -1)  # its product is a mean, faster than a masked sum
            mean = (share @ x.flatten(0, 1))[0]
            variance = (share @ (x - mean).square().flatten(0, 1))[0]
            with torch.no_grad():
                self.running_mean.lerp_(mean, self.momentum)
                self.running_var.lerp_(variance * (count / (count - 1).clamp(min=1)), self.momentum)
        else:
            mean, variance = self.running_mean, self.running_var
        scale = (variance + self.eps).rsqrt() * self.weight
        return torch.addcmul(self.bias - mean * scale, x, scale)


class _Isomorphism(nn.Module):
    """A GIN layer: the sum over a node and its neighbours, Linear–norm–ReLU–Linear, then norm–ReLU twice."""

    def __init__(self, in_dim: int, dim: int) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(in_dim, dim), nn.Linear(dim, dim)
        self.norms = nn.ModuleList(MaskedBatchNorm(dim) for _ in range(3))

    def forward(self, h: Tensor, adjacency: Tensor, real: Tensor) -> Tensor:
        inner, after, outer = self.norms
        h = self.second(relu(inner(self.first(h + adjacency @ h), real)))
        return relu(outer(relu(after(h, real)), real))


class SubgraphGIN(nn.Module):
    """GCC's encoder, which reads structure only.

    The input of a node is its coordinates, a learned vector for its degree, and a flag for the seed. The input and the
    output of every layer are each summed over the nodes, mapped by their own Linear layer and thinned by dropout. The
    sum of the results, scaled to length one, is the embedding.
    """

    def __init__(self, positions: int, hidden: int, dim: int, layers: int, dropout: float) -> None:
        super().__init__()
        widths = [positions + _DEGREE_WIDTH + 1, *[hidden] * layers]
        self.degrees = nn.Embedding(_MOST + 1, _DEGREE_WIDTH)
        self.layers = nn.ModuleList(_Isomorphism(a, b) for a, b in pairwise(widths))
        self.readouts = nn.ModuleList(nn.Linear(width, dim) for width in widths)
        self.dropout = dropout

    def forward(self, positions: Tensor, adjacency: Tensor, real: Tensor) -> Tensor:
        degree = adjacency.sum(dim=2).long().clamp_(max=_MOST)
        h = torch.cat([positions, self.degrees(degree), _seed_flag(adjacency)], dim=2)
        z: Tensor | float = 0.0
        for number, readout in enumerate(self.readouts):
            if number:
                h = self.layers[number - 1](h, adjacency, real)
            z = z + dropout(readout((h * real[:, :, None]).sum(dim=1)), self.dropout, self.training)
        assert isinstance(z, Tensor)
        return normalize(z, dim=1)


def _seed_flag(adjacency: Tensor) -> Tensor:
    flag = torch.zeros_like(adjacency[:, :, :1])
    flag[:, 0] = 1
    return flag


class SubgraphGCN(nn.Module):
    """Graph convolutions over the features of a subgraph. GCC has no such encoder; this variant is ours.

    Each layer applies ``D^{-1/2} (A+I) D^{-1/2}`` of the subgraph, with ReLU and dropout between layers. Dropout also
    acts on the features: both subgraphs of a seed contain the seed, and a single feature of it would reveal the pair. A
    further feature marks the seed. The embedding is the row of the seed, scaled to length one.
    """

    def __init__(self, in_dim: int, hidden: int, dim: int, layers: int, dropout: float) -> None:
        super().__init__()
        widths = [*[hidden] * (layers - 1), dim]
        draw = lambda *shape: nn.Parameter(nn.init.xavier_uniform_(torch.empty(*shape)))
        self.first = draw(in_dim + 1, widths[0])
        self.later = nn.ParameterList(draw(a, b) for a, b in pairwise(widths))
        self.biases = nn.ParameterList(torch.zeros(width) for width in widths)
        self.dropout = dropout

    def project(self, x: Features) -> Tensor:
        """Multiply the features of all nodes with the first weight; ``forward`` takes rows of this product."""
        return multiply(drop_features(x, self.dropout, self.training), self.first[:-1])

    def forward(self, rows: Tensor, adjacency: Tensor) -> Tensor:
        looped = adjacency + torch.eye(adjacency.shape[1], device=adjacency.device)
        scale = looped.sum(dim=2).rsqrt()
        operator = looped * scale[:, :, None] * scale[:, None, :]
        h = operator @ (rows + _seed_flag(adjacency) * self.first[-1]) + self.biases[0]
        for weight, bias in zip(self.later, list(self.biases)[1:], strict=True):
            h = operator @ (dropout(relu(h), self.dropout, self.training) @ weight) + bias
        return normalize(h[:, 0], dim=1)
