"""Slow, obvious formulations to be compared with: written from the definitions, with nothing clever in them."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import elu, normalize

from ..encoders import build_encoder
from ..graph import Graph, View, as_dense


class PerAnchorStep:
    """SIGNNAP as first written down: gather an N×(K+1)×d tensor of bank rows per view, leave the rest to autograd.

    Everything but the loss uses the same encoder as the fast step, so the comparison is about the formulation.
    """

    def __init__(self, view: View, dim: int = 128, negatives: int = 1024, temperature: float = 0.1) -> None:
        self.view, self.negatives, self.temperature = view, negatives, temperature
        self.encoder = build_encoder("gcn", in_dim=int(view.x.shape[1]), dim=dim)
        self.optimizer = torch.optim.Adam(self.encoder.parameters(), lr=1e-3)
        self.banks = [normalize(torch.randn(view.pattern.num_nodes, dim)) for _ in range(2)]
        self.constants: list[float | None] = [None, None]

    def _dropped(self) -> View:
        present = self.view.stored.nonzero().squeeze(1)
        kept = present[torch.randperm(len(present))[: int(0.7 * len(present))]]
        stored = torch.zeros_like(self.view.stored)
        stored[kept] = self.view.stored[kept]
        return self.view.with_entries(stored)

    def __call__(self) -> float:
        z = [self.encoder(self._dropped()), self.encoder(self._dropped())]
        n = len(z[0])
        index = torch.randint(n, (n, self.negatives + 1))
        index[:, 0] = torch.arange(n)
        loss = self._loss(0, z[0], self.banks[1], index) + self._loss(1, z[1], self.banks[0], index)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        for bank, fresh in zip(self.banks, z, strict=True):
            bank.copy_(normalize(0.5 * bank + 0.5 * fresh.detach()))
        return float(loss.detach())

    def _loss(self, number: int, z: Tensor, bank: Tensor, index: Tensor) -> Tensor:
        n, k = len(z), self.negatives
        rows = bank.index_select(0, index.view(-1)).view(n, k + 1, -1)
        scores = torch.exp(torch.bmm(rows, z.unsqueeze(2)).squeeze(2) / self.temperature)
        constant = self.constants[number] = self.constants[number] or float(scores.detach().mean()) * n
        p, c, eps = scores / constant, k / n, 1e-12
        positive = torch.log(p[:, 0] / (p[:, 0] + c + eps) + eps)
        negative = torch.log(c / (p[:, 1:] + c + eps) + eps).sum(dim=1)
        return -(positive + negative).mean()


class DenseGraceStep:
    """A GRACE step the usual way: PyG's GCNConv and dense N×N similarities (spec §4.7)."""

    def __init__(self, graph: Graph, dim: int = 128, temperature: float = 0.3) -> None:
        from torch_geometric.nn import GCNConv

        self.x, self.edges, self.temperature = as_dense(graph.view().x), graph.pattern.edge_index(), temperature
        self.first, self.second = GCNConv(graph.num_features, 2 * dim), GCNConv(2 * dim, dim)
        self.projector = nn.Sequential(nn.Linear(dim, dim), nn.ELU(), nn.Linear(dim, dim))
        parts = nn.ModuleList([self.first, self.second, self.projector])
        self.optimizer = torch.optim.Adam(parts.parameters(), lr=1e-3, weight_decay=1e-5)

    def _embed(self) -> Tensor:
        edges = self.edges[:, torch.rand(self.edges.shape[1]) >= 0.3]
        x = self.x * (torch.rand(self.x.shape[1]) >= 0.1)
        return self.projector(elu(self.second(elu(self.first(x, edges)), edges)))

    def _half(self, u: Tensor, v: Tensor) -> Tensor:
        within = torch.exp(u @ u.t() / self.temperature)
        between = torch.exp(u @ v.t() / self.temperature)
        return -torch.log(between.diag() / (within.sum(1) + between.sum(1) - within.diag()))

    def __call__(self) -> float:
        u, v = normalize(self._embed()), normalize(self._embed())
        loss = (self._half(u, v) + self._half(v, u)).mean() / 2
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return float(loss.detach())


def scatter_propagation(edge_index: Tensor, weights: Tensor, h: Tensor) -> Tensor:
    """PyG's gather–scatter: one message per entry, materialised, then summed where it arrives."""
    from torch_geometric.utils import scatter

    return scatter(weights[:, None] * h[edge_index[0]], edge_index[1], dim=0, dim_size=len(h), reduce="sum")
