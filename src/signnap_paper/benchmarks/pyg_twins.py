"""GRACE, DGI and BGRL as their formulas read, with PyG's layers and torch's autograd: what ours are compared with.

The same widths, rates and settings as ours, and the same losses (tests compare them), but nothing clever: dense
features, a full pass of the encoder for every graph that is embedded, and all similarities of GRACE in memory.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, cosine_similarity, normalize
from torch_geometric.nn import GCNConv
from torch_geometric.utils import dropout_edge

from signnap.graph import Graph, as_dense
from signnap.methods.method import clean_view
from signnap.train.rates import rate_factor

from .twins import dense_grace_loss

ACTIVATIONS = {"relu": nn.ReLU, "prelu": nn.PReLU, "rrelu": lambda: nn.LeakyReLU(11 / 48)}


class GCN(nn.Module):
    """Graph convolutions, each followed by the module given for it."""

    def __init__(self, widths: Sequence[int], then: Sequence[nn.Module]) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList(map(GCNConv, widths[:-1], widths[1:]))
        self.then = nn.ModuleList(then)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        for convolution, then in zip(self.convolutions, self.then, strict=True):
            x = then(convolution(x, edges))
        return x


class Twin(nn.Module):
    """What the three share: a graph and, at each call, an optimiser's step on the loss of one epoch."""

    #: matrices of N×N float32 numbers that an epoch holds at once
    squares = 0

    def __init__(self, graph: Graph, settings: Any) -> None:
        super().__init__()
        self.settings = settings
        self.x, self.edges = as_dense(clean_view(graph, settings).x), graph.pattern.edge_index()
        self.build(self.x.shape[1])
        self.to(self.x.device)
        kind = torch.optim.AdamW if settings.decoupled_decay else torch.optim.Adam
        learned = [p for p in self.parameters() if p.requires_grad]
        self.optimizer = kind(learned, lr=settings.lr, weight_decay=settings.weight_decay)
        factor = rate_factor(settings.schedule, settings.iterations) or (lambda epoch: 1.0)
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, factor)

    def build(self, num_features: int) -> None:
        """Make the modules."""
        raise NotImplementedError

    def loss(self) -> Tensor:
        """The loss of one epoch."""
        raise NotImplementedError

    def forward(self) -> float:
        loss = self.loss()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.scheduler.step()
        return loss.item()

    def views(self) -> list[tuple[Tensor, Tensor]]:
        """Features and edges of two corrupted graphs (spec §4.7, item 3)."""
        s = self.settings
        rates = (s.drop_edge, s.mask_features), (s.drop_edge_2, s.mask_features_2)
        return [(self._masked(mask), dropout_edge(self.edges, drop)[0]) for drop, mask in rates]

    def _masked(self, rate: float) -> Tensor:
        return self.x * (torch.rand(self.x.shape[1], device=self.x.device) >= rate)


class GraceTwin(Twin):
    """GRACE (spec §4.7): exp of all similarities, within each view and between them."""

    squares = 8

    def build(self, num_features: int) -> None:
        s = self.settings
        activations = [ACTIVATIONS[s.activation]() for _ in range(2)]
        self.encoder = GCN([num_features, s.hidden, s.dim], activations)
        self.projector = nn.Sequential(nn.Linear(s.dim, s.projector), nn.ELU(), nn.Linear(s.projector, s.dim))

    def loss(self) -> Tensor:
        u, v = (normalize(self.projector(self.encoder(x, edges))) for x, edges in self.views())
        return dense_grace_loss(u, v, self.settings.temperature)


class DgiTwin(Twin):
    """DGI with two layers (spec §4.4, items 4 and 7): both graphs go through the whole encoder."""

    def build(self, num_features: int) -> None:
        s = self.settings
        self.encoder = GCN([num_features, s.hidden, s.dim], [nn.PReLU(s.hidden), nn.Identity()])
        self.critic = nn.Parameter(torch.empty(s.dim, s.dim).uniform_(-(s.dim**-0.5), s.dim**-0.5))
        self.lowest, self.best = math.inf, self.encoder.state_dict()

    def loss(self) -> Tensor:
        order = torch.randperm(len(self.x), device=self.x.device)
        real, fake = self.encoder(self.x, self.edges), self.encoder(self.x[order], self.edges)
        probe = self.critic @ real.mean(dim=0).sigmoid()
        right, wrong = real @ probe, fake @ probe
        genuine = binary_cross_entropy_with_logits(right, torch.ones_like(right))
        return genuine + binary_cross_entropy_with_logits(wrong, torch.zeros_like(wrong))

    def forward(self) -> float:
        loss = super().forward()
        if loss < self.lowest:  # what early stopping goes back to
            self.lowest, self.best = loss, copy.deepcopy(self.encoder.state_dict())
        return loss


class BgrlTwin(Twin):
    """BGRL (spec §4.9): two encoders see two views each, and the second follows the first."""

    epoch = 0

    def build(self, num_features: int) -> None:
        s = self.settings
        widths = [num_features, s.hidden, s.dim]
        follows = lambda: [
            nn.Sequential(nn.BatchNorm1d(width, momentum=0.01), ACTIVATIONS[s.activation]()) for width in widths[1:]
        ]
        self.encoder = GCN(widths, follows())
        self.target = GCN(widths, follows()).requires_grad_(False)
        self.predictor = nn.Sequential(nn.Linear(s.dim, 512), nn.PReLU(), nn.Linear(512, s.dim))

    def loss(self) -> Tensor:
        first, second = self.views()
        q1, q2 = self.predictor(self.encoder(*first)), self.predictor(self.encoder(*second))
        with torch.no_grad():
            y1, y2 = self.target(*first), self.target(*second)
        return 2 - cosine_similarity(q1, y2).mean() - cosine_similarity(q2, y1).mean()

    def forward(self) -> float:
        loss = super().forward()
        share = 0.01 * (1 + math.cos(math.pi * self.epoch / self.settings.iterations)) / 2
        for slow, online in zip(self.target.parameters(), self.encoder.parameters(), strict=True):
            slow.data.mul_(1 - share).add_(online.data, alpha=share)
        self.epoch += 1
        return loss


#: The twin of a method, by the method's name.
TWINS: dict[str, type[Twin]] = {"grace": GraceTwin, "dgi": DgiTwin, "bgrl": BgrlTwin}
