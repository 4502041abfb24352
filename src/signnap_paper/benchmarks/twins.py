"""Slow, obvious formulations to be compared with: written from the definitions, with nothing clever in them."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout, elu, normalize

from signnap.graph import Graph, as_dense


class PlainGCN(nn.Module):
    """The two-layer GCN of spec §2.3 as its formula reads, on a torch sparse matrix."""

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
    """SIGNNAP as first written down: gather an N×(K+1)×d tensor of bank rows per view, leave the rest to autograd.

    With ``shared`` all anchors have the same K negatives, and their scores are one matrix product. It works where
    the graph is, and draws its numbers there.
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
        """Keep 70 % of the entries, add the identity, divide rows by their sums (spec §2.1 and §2.2)."""
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
        """Negatives: K that all anchors share, or K for each, in the columns after its positive."""
        if self.shared:
            return torch.randint(n, (self.negatives,), device=self.device)
        index = torch.randint(n, (n, self.negatives + 1), device=self.device)
        index[:, 0] = torch.arange(n, device=self.device)
        return index

    def _products(self, z: Tensor, bank: Tensor, index: Tensor) -> Tensor:
        """(N, K+1) products of embeddings with bank rows, each anchor's own first."""
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

    def __call__(self) -> float:
        loss = dense_grace_loss(normalize(self._embed()), normalize(self._embed()), self.temperature)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return float(loss.detach())


def dense_grace_loss(u: Tensor, v: Tensor, temperature: float) -> Tensor:
    """GRACE's loss of two views (spec §4.7): exp of all similarities, within each view and between them, in memory."""

    def half(u: Tensor, v: Tensor) -> Tensor:
        within, between = torch.exp(u @ u.t() / temperature), torch.exp(u @ v.t() / temperature)
        return -torch.log(between.diag() / (within.sum(1) + between.sum(1) - within.diag()))

    return (half(u, v) + half(v, u)).mean() / 2


def scatter_propagation(edge_index: Tensor, weights: Tensor, h: Tensor) -> Tensor:
    """PyG's gather–scatter: one message per entry, materialised, then summed where it arrives."""
    from torch_geometric.utils import scatter

    return scatter(weights[:, None] * h[edge_index[0]], edge_index[1], dim=0, dim_size=len(h), reduce="sum")
