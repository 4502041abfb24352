"""The encoder of ``steady``: features are propagated at three reaches, and a perceptron reads each of them.

No single reach suits every graph: two hops are best on some, a long diffusion on others. Propagation has no weights. So
a perturbed copy of the graph is propagated once, before training, and training reads single rows of the result.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from ..graph import View
from ..graph.reduction import reduce_features
from ..interfaces import Encoder
from ..ops.dense import Linear
from .diffusion import DiffusedDirections

#: Steps of the read-out's smoothing, and the share of the node itself in each.
_SMOOTHING_STEPS, _OWN_SHARE = 3, 0.3


class Reaches(Encoder):
    """Three perceptrons on propagated features, and the diffused features themselves: four blocks of equal width.

    - near: the features and their averages over one and two hops, side by side;
    - middle: the average over two hops;
    - far: personalised PageRank.

    Every block has unit length. Their mean is taken away, so that the cosine of two unrelated nodes is near zero, and
    each node is averaged with its smoothed neighbourhood. The result has unit length.
    """

    shift: Tensor
    scale: Tensor
    centre: Tensor

    def __init__(self, in_dim: int, dim: int, hidden: int, rank: int, hops: int, alpha: float) -> None:
        super().__init__()
        self.rank, self.block = min(rank, in_dim), max(1, dim // 4)
        self.features = DiffusedDirections(in_dim, self.rank, hops, alpha)
        self.register_buffer("shift", torch.zeros(4 * self.rank))
        self.register_buffer("scale", torch.ones(4 * self.rank))
        widths = {"near": 3 * self.rank, "middle": self.rank, "far": self.rank}
        self.readers = nn.ModuleDict({name: perceptron(width, hidden, self.block) for name, width in widths.items()})
        self.register_buffer("centre", torch.zeros(3 * self.block + min(self.block, self.rank)))

    def spread(self, view: View) -> Tensor:
        """Propagated features, (N, 4·rank): of the node, of one hop, of two hops, and diffused."""
        reduced = reduce_features(view.x, self.features.directions)
        once = view.symmetric(reduced)
        return torch.cat([reduced, once, view.symmetric(once), self.features.diffused(view, reduced)], dim=1)

    @torch.no_grad()
    def fit_features(self, view: View, generator: torch.Generator) -> None:
        """Take the leading directions of the features; bring propagated coordinates half way to equal variance."""
        self.features.fit_directions(view, generator)
        rows = self.spread(view)
        deviation = rows.std(dim=0, correction=0).clamp(min=1e-6)
        self.shift.copy_(rows.mean(dim=0))
        for part in deviation.split(self.rank):
            part.copy_((part * part.square().mean().sqrt()).sqrt())
        self.scale.copy_(1 / deviation)

    def read(self, rows: Tensor) -> Tensor:
        """What the perceptrons make of propagated rows: three blocks side by side."""
        rows, rank = (rows - self.shift) * self.scale, self.rank
        parts = {"near": rows[:, : 3 * rank], "middle": rows[:, 2 * rank : 3 * rank], "far": rows[:, 3 * rank :]}
        return torch.cat([reader(parts[name]) for name, reader in self.readers.items()], dim=1)

    def joined(self, rows: Tensor, blocks: Tensor) -> Tensor:
        """The four blocks at unit length; the three learned ones weigh together as much as the diffused features."""
        learned = [normalize(block, dim=1) / 3**0.5 for block in blocks.split(self.block, dim=1)]
        diffused = rows[:, 3 * self.rank :][:, : self.block]
        return torch.cat([*learned, normalize(diffused, dim=1)], dim=1)

    def observe(self, rows: Tensor, blocks: Tensor) -> None:
        """Follow the mean of the joined blocks while training goes on."""
        self.centre.lerp_(self.joined(rows, blocks).mean(dim=0), 0.02)

    def forward(self, view: View) -> Tensor:
        rows = self.spread(view)
        z = normalize(self.joined(rows, self.read(rows)) - self.centre, dim=1)
        smooth = z
        for _ in range(_SMOOTHING_STEPS):
            smooth = (1 - _OWN_SHARE) * view.symmetric(smooth) + _OWN_SHARE * z
        return normalize(z + normalize(smooth, dim=1), dim=1)


def perceptron(in_dim: int, hidden: int, out_dim: int) -> nn.Sequential:
    """Two layers, each followed by batch norm and a leaky ReLU."""

    def layers() -> Iterator[nn.Module]:
        for width, next_width in ((in_dim, hidden), (hidden, out_dim)):
            yield Linear(width, next_width, bias=False)
            yield nn.BatchNorm1d(next_width)
            yield nn.LeakyReLU(0.25)

    return nn.Sequential(*layers())
