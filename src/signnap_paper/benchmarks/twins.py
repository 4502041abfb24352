"""Slow twins: methods written directly from their formulas, with nothing clever in them, to compare ours with.

The first ones are what ``signnap bench`` compares with. Those of GRACE, DGI and BGRL have PyG's layers and the same
widths, rates, settings and losses as ours (tests compare them): dense features, a full pass of the encoder for every
graph that is embedded, and all similarities of GRACE in memory.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, cosine_similarity, dropout, elu, normalize

from signnap.errors import SignnapError
from signnap.graph import Graph, as_dense
from signnap.methods.base import clean_view
from signnap.train.schedules import rate_factor


def pyg(module: str) -> Any:
    """Import a module of PyG; nothing but these twins needs PyG."""
    try:
        return import_module(f"torch_geometric.{module}")
    except ImportError as error:
        raise SignnapError(
            "this comparison needs torch-geometric, which is not installed: in a clone, pip install '.[pyg]'"
        ) from error


class PlainGCN(nn.Module):
    """SIGNNAP's two-layer GCN as its formula reads, on a torch sparse matrix: Â H W + H W_self + b in each layer."""

    def __init__(self, in_dim: int, dim: int) -> None:
        super().__init__()
        drawn = lambda *shape: nn.Parameter(torch.empty(*shape).uniform_(-(dim**-0.5), dim**-0.5))
        self.neighbours = nn.ParameterList([drawn(in_dim, dim), drawn(dim, dim)])
        self.own = nn.ParameterList([drawn(in_dim, dim), drawn(dim, dim)])
        self.bias = nn.ParameterList([drawn(dim), drawn(dim)])

    def _layer(self, number: int, h: Tensor, adjacency: Tensor) -> Tensor:
        around = torch.sparse.mm(adjacency, h @ self.neighbours[number])
        return around + h @ self.own[number] + self.bias[number]

    def forward(self, x: Tensor, adjacency: Tensor) -> Tensor:
        return self._layer(1, dropout(torch.relu(self._layer(0, x, adjacency)), 0.5), adjacency)


class PerAnchorStep:
    """A SIGNNAP step written directly: gather an N×(K+1)×d tensor of bank rows per view, leave the rest to autograd.

    With ``shared`` all anchors have the same K negatives, and their scores are one matrix product. The step works on
    the device of the graph, and draws its numbers there.
    """

    def __init__(
        self, graph: Graph, dim: int = 128, negatives: int = 1024, temperature: float = 0.1, shared: bool = False
    ) -> None:
        self.x, self.negatives, self.temperature = as_dense(graph.view().x), negatives, temperature
        self.device, self.shared = self.x.device, shared
        self.entries = graph.pattern.edge_index(loops=True)
        self.encoder = PlainGCN(graph.num_features, dim).to(self.device)
        self.optimizer = torch.optim.Adam(self.encoder.parameters(), lr=1e-3)
        self.banks = [normalize(torch.randn(graph.num_nodes, dim, device=self.device)) for _ in range(2)]
        self.constants: list[float | None] = [None, None]

    def _dropped(self) -> Tensor:
        """Keep 70 % of the entries, add the identity, divide rows by their sums."""
        n, count = len(self.x), self.entries.shape[1]
        kept = self.entries[:, torch.randperm(count, device=self.device)[: int(0.7 * count)]]
        pairs = torch.cat([kept, torch.arange(n, device=self.device).expand(2, n)], dim=1)
        ones = torch.ones(pairs.shape[1], device=self.device)
        adjacency = torch.sparse_coo_tensor(pairs, ones, (n, n), check_invariants=False).coalesce()
        index, values = adjacency.indices(), adjacency.values()
        sums = torch.zeros(n, device=self.device).index_add(0, index[0], values)
        weights = values / sums[index[0]]
        return torch.sparse_coo_tensor(index, weights, (n, n), is_coalesced=True, check_invariants=False)

    def __call__(self) -> Tensor:
        z = [self.encoder(self.x, self._dropped()) for _ in range(2)]
        index = self._drawn(len(z[0]))
        loss = self._loss(0, z[0], self.banks[1], index) + self._loss(1, z[1], self.banks[0], index)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        for bank, fresh in zip(self.banks, z, strict=True):
            bank.copy_(normalize(0.5 * bank + 0.5 * fresh.detach()))
        return loss.detach()

    def _drawn(self, n: int) -> Tensor:
        """Draw negatives: K that all anchors share, or K for each, in the columns after its positive."""
        if self.shared:
            return torch.randint(n, (self.negatives,), device=self.device)
        index = torch.randint(n, (n, self.negatives + 1), device=self.device)
        index[:, 0] = torch.arange(n, device=self.device)
        return index

    def _products(self, z: Tensor, bank: Tensor, index: Tensor) -> Tensor:
        """Return the (N, K+1) products of embeddings with bank rows, each anchor's own first."""
        if self.shared:
            return torch.cat([(z * bank).sum(dim=1, keepdim=True), z @ bank[index].t()], dim=1)
        rows = bank.index_select(0, index.view(-1)).view(len(z), self.negatives + 1, -1)
        return torch.bmm(rows, z.unsqueeze(2)).squeeze(2)

    def _loss(self, number: int, z: Tensor, bank: Tensor, index: Tensor) -> Tensor:
        n, k = len(z), self.negatives
        scores = torch.exp(self._products(z, bank, index) / self.temperature)
        constant = self.constants[number] = self.constants[number] or float(scores.detach().mean()) * n
        p, c, eps = scores / constant, k / n, 1e-12
        positive = torch.log(p[:, 0] / (p[:, 0] + c + eps) + eps)
        negative = torch.log(c / (p[:, 1:] + c + eps) + eps).sum(dim=1)
        return -(positive + negative).mean()


class DenseGraceStep:
    """A GRACE step the usual way (Zhu et al., 2020): PyG's GCNConv and dense N×N similarities."""

    def __init__(self, graph: Graph, dim: int = 128, temperature: float = 0.3) -> None:
        convolution = pyg("nn").GCNConv
        self.x, self.edges, self.temperature = as_dense(graph.view().x), graph.pattern.edge_index(), temperature
        self.first, self.second = convolution(graph.num_features, 2 * dim), convolution(2 * dim, dim)
        self.projector = nn.Sequential(nn.Linear(dim, dim), nn.ELU(), nn.Linear(dim, dim))
        parts = nn.ModuleList([self.first, self.second, self.projector])
        self.optimizer = torch.optim.Adam(parts.parameters(), lr=1e-3, weight_decay=1e-5)

    def _embed(self) -> Tensor:
        edges = self.edges[:, torch.rand(self.edges.shape[1]) >= 0.3]
        x = self.x * (torch.rand(self.x.shape[1]) >= 0.1)
        return self.projector(elu(self.second(elu(self.first(x, edges)), edges)))

    def __call__(self) -> float:
        loss = dense_grace_loss(normalize(self._embed()), normalize(self._embed()), self.temperature)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return float(loss.detach())


def dense_grace_loss(u: Tensor, v: Tensor, temperature: float) -> Tensor:
    """Compute GRACE's loss of two views: exp of all similarities, within each view and between them, in memory."""

    def half(u: Tensor, v: Tensor) -> Tensor:
        within, between = torch.exp(u @ u.t() / temperature), torch.exp(u @ v.t() / temperature)
        return -torch.log(between.diag() / (within.sum(1) + between.sum(1) - within.diag()))

    return (half(u, v) + half(v, u)).mean() / 2


def scatter_propagation(edge_index: Tensor, weights: Tensor, h: Tensor) -> Tensor:
    """Propagate by gather and scatter: one message per entry, held in memory, then summed at its receiver."""
    return pyg("utils").scatter(
        weights[:, None] * h[edge_index[0]], edge_index[1], dim=0, dim_size=len(h), reduce="sum"
    )


# -- with the layers of PyG --------------------------------------------------------------------------------------------

ACTIVATIONS = {"relu": nn.ReLU, "prelu": nn.PReLU, "rrelu": lambda: nn.LeakyReLU(11 / 48)}


class GCN(nn.Module):
    """Graph convolutions, each followed by the module given for it."""

    def __init__(self, widths: Sequence[int], then: Sequence[nn.Module]) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList(map(pyg("nn").GCNConv, widths[:-1], widths[1:]))
        self.then = nn.ModuleList(then)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        for convolution, then in zip(self.convolutions, self.then, strict=True):
            x = then(convolution(x, edges))
        return x


class Twin(nn.Module):
    """The common part of the three: a graph and, at each call, an optimiser's step on the loss of one epoch."""

    #: the number of N×N float32 matrices that an epoch holds at once
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
        """Return features and edges of two corrupted graphs."""
        s = self.settings
        rates = (s.drop_edge, s.mask_features), (s.drop_edge_2, s.mask_features_2)
        drop_edges = pyg("utils").dropout_edge
        return [(self._masked(mask), drop_edges(self.edges, drop)[0]) for drop, mask in rates]

    def _masked(self, rate: float) -> Tensor:
        return self.x * (torch.rand(self.x.shape[1], device=self.x.device) >= rate)


class GraceTwin(Twin):
    """GRACE (Zhu et al., 2020): exp of all similarities, within each view and between them."""

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
    """DGI (Veličković et al., 2019) with two layers: both graphs go through the whole encoder."""

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
        if loss < self.lowest:  # early stopping goes back to these weights
            self.lowest, self.best = loss, copy.deepcopy(self.encoder.state_dict())
        return loss


class BgrlTwin(Twin):
    """BGRL (Thakoor et al., 2022): two encoders see two views each, and the second follows the first."""

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
