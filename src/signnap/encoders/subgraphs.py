"""Encoders that read one vector from each of many small dense subgraphs, padded to one size (spec §4.6).

``adjacency`` is (B, n, n), the seed comes first, and ``real`` (B, n) is False where there is padding.
"""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout, normalize, relu

from ..graph import Features, drop_features, multiply

#: Degrees that have a vector of their own, and its width (spec §4.6, item 2).
_MOST, _DEGREE_WIDTH = 512, 16


class MaskedBatchNorm(nn.BatchNorm1d):
    """Batch norm over the real rows of (B, n, d): what ``nn.BatchNorm1d`` does to them stacked, in a static shape."""

    def forward(self, x: Tensor, real: Tensor) -> Tensor:
        assert self.running_mean is not None and self.running_var is not None and self.momentum is not None
        if self.training:
            count = real.sum()
            share = (real.to(x.dtype) / count).view(1, -1)  # a product with it is a mean, and faster than a masked sum
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
    """A GIN layer: the sum over a node and its neighbours, through Linear–norm–ReLU–Linear, and twice norm–ReLU."""

    def __init__(self, in_dim: int, dim: int) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(in_dim, dim), nn.Linear(dim, dim)
        self.norms = nn.ModuleList(MaskedBatchNorm(dim) for _ in range(3))

    def forward(self, h: Tensor, adjacency: Tensor, real: Tensor) -> Tensor:
        inner, after, outer = self.norms
        h = self.second(relu(inner(self.first(h + adjacency @ h), real)))
        return relu(outer(relu(after(h, real)), real))


class SubgraphGIN(nn.Module):
    """GCC's encoder: structure only (spec §4.6, item 2).

    A node begins with its coordinates, a learned vector for its degree and a mark if it is the seed. The input and
    every layer are summed over the nodes, each sum goes through a Linear of its own and dropout, and what these add
    up to is given length one.
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
    """Graph convolutions over features, a variant of our own (spec §4.6, item 8b).

    ``D^{-1/2} (A+I) D^{-1/2}`` of the subgraph is applied in each layer, with ReLU and dropout between layers. Features
    are dropped as well: both draws of a seed contain it, and would be recognised by a single one of its words. One more
    feature marks the seed. The embedding is the seed's own row, of length one.
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
        """The features of every node through the first layer's weights, for ``forward`` to be given rows of."""
        return multiply(drop_features(x, self.dropout, self.training), self.first[:-1])

    def forward(self, rows: Tensor, adjacency: Tensor) -> Tensor:
        looped = adjacency + torch.eye(adjacency.shape[1], device=adjacency.device)
        scale = looped.sum(dim=2).rsqrt()
        operator = looped * scale[:, :, None] * scale[:, None, :]
        h = operator @ (rows + _seed_flag(adjacency) * self.first[-1]) + self.biases[0]
        for weight, bias in zip(self.later, list(self.biases)[1:], strict=True):
            h = operator @ (dropout(relu(h), self.dropout, self.training) @ weight) + bias
        return normalize(h[:, 0], dim=1)
