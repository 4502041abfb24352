"""Steady: contrast between perturbed copies of the graph that were propagated before training.

The graph leaves the training loop. Features are reduced to their leading directions, propagated over perturbed copies
of the graph, and kept as rows of a pool. A step draws the rows of some nodes from two copies and trains perceptrons to
recognise each node among all others. The cost of a step does not depend on the number of edges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from .. import rng
from ..encoders.diffusion import DiffusedDirections
from ..encoders.reach import Reaches
from ..errors import SignnapError
from ..graph import Graph, View
from ..interfaces import Encoder, Objective, Step, Task, Terms, region
from ..objectives.all_pairs import AllPairs
from ..perturb.compose import build_perturbation
from ..train.progress import Report
from .base import ClosedForm, Method, Sizes
from .settings import BaseSettings


@dataclass(frozen=True)
class SteadySettings(BaseSettings):
    """One setting for all graphs. Widths: embedding, hidden layer, and directions kept of the features."""

    method: str = "steady"
    dim: int = 512
    hidden: int = 512
    rank: int = 256
    #: the diffusion of the far reach: number of steps, and probability of a restart
    hops: int = 10
    alpha: float = 0.2
    #: number of perturbed copies, and fractions of edges and feature columns that each copy lacks
    copies: int = 8
    drop_edge: float = 0.5
    mask_features: float = 0.5
    #: the fraction of positives that are a neighbour in the other copy, and not the node itself
    neighbours: float = 0.3
    #: nodes of a step; each is a negative of all others
    batch: int = 1024
    temperature: float = 0.3
    projector: int = 256
    iterations: int = 1000
    schedule: str = "cosine:0.1"
    weight_decay: float = 1e-5
    decoupled_decay: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self._expect(("rank", "batch"), lambda value: value >= 1, "a whole number of at least 1")
        self._expect(("alpha", "neighbours"), lambda value: 0 <= value <= 1, "a number from 0 to 1")
        if self.copies < 2:
            raise SignnapError(f"copies is {self.copies}: expected at least 2, since two of them are compared")


@dataclass(frozen=True)
class DiffusedSettings(BaseSettings):
    """The diffusion: number of steps, and probability of a restart."""

    method: str = "diffused-svd"
    dim: int = 256
    hops: int = 16
    alpha: float = 0.15


class Steady(Method):
    """Perturbed copies of the graph agree on every node, at three reaches; no edge is read while it trains."""

    name = "steady"

    def build_encoder(self, settings: SteadySettings, sizes: Sizes) -> Encoder:
        return Reaches(sizes.num_features, settings.dim, settings.hidden, settings.rank, settings.hops, settings.alpha)

    def prepare(self, settings: SteadySettings, view: View, encoder: Encoder, report: Report) -> None:
        assert isinstance(encoder, Reaches)
        encoder.fit_features(view, rng.generator(settings.seed, "directions", view.stored.device))

    def build_task(self, settings: SteadySettings, graph: Graph, view: View, encoder: Encoder) -> Task:
        assert isinstance(encoder, Reaches)
        return PoolTask(settings, view, encoder)


class DiffusedSVD(ClosedForm):
    """Leading directions of the features, diffused over the graph, without any training."""

    name = "diffused-svd"

    def build_encoder(self, settings: DiffusedSettings, sizes: Sizes) -> Encoder:
        return DiffusedDirections(sizes.num_features, settings.dim, settings.hops, settings.alpha)

    def prepare(self, settings: DiffusedSettings, view: View, encoder: Encoder, report: Report) -> None:
        assert isinstance(encoder, DiffusedDirections)
        encoder.fit_directions(view, rng.generator(settings.seed, "directions", view.stored.device))


class PoolTask(Task):
    """Rows of two propagated copies, drawn for the same nodes; the graph itself is not read again."""

    def __init__(self, settings: SteadySettings, view: View, encoder: Reaches) -> None:
        self.view, self.allow_tf32, self.neighbours = view, settings.allow_tf32, settings.neighbours
        device, self.num_nodes = view.stored.device, view.pattern.num_nodes
        self.copies, self.batch = settings.copies, min(settings.batch, self.num_nodes)
        self.generators = rng.generators(settings.seed, ("batches", "negatives"), device)
        self.encoder = encoder
        perturb = build_perturbation(settings.drop_edge, "undirected", settings.mask_features)
        source = rng.generator(settings.seed, "views", device)
        with region("views"), torch.no_grad():
            self.pool = torch.cat([self.encoder.spread(perturb(view, source)) for _ in range(self.copies)])
        source = rng.generator(settings.seed, "order", device)
        self.order = torch.randperm(self.num_nodes, generator=source, device=device)
        self.objective = PerBlock(
            [AllPairs(settings.temperature, settings.projector, settings.precision) for _ in encoder.readers]
        ).to(device)
        self.objective.prepare(self.batch, 3 * encoder.block, rng.generator(settings.seed, "bank", device))
        self.modules = nn.ModuleDict({"encoder": self.encoder, "objective": self.objective})

    def step(self) -> Step:
        with region("views"):
            rows = self.pool.index_select(0, self._places())
        with region("encoder"):
            blocks = self.encoder.read(rows)
        with region("contrast"):
            first, second = blocks.chunk(2)
            terms = self.objective(first, second, self.generators["negatives"])
        return Step(terms.total, terms.numbers(), (rows, blocks.detach()))

    def advance(self, step: Step) -> None:
        self.encoder.observe(*step.outputs)

    def _places(self) -> Tensor:
        """Rows of the pool: a batch of nodes in one copy, and their partners in another."""
        nodes, draw = self._nodes(), self._draw
        first = (draw(1) * self.copies).long()
        second = (first + 1 + (draw(1) * (self.copies - 1)).long()) % self.copies
        partners = torch.where(draw(self.batch) < self.neighbours, self._neighbours(nodes), nodes)
        return torch.cat([first * self.num_nodes + nodes, second * self.num_nodes + partners])

    def _nodes(self) -> Tensor:
        """A batch of different nodes: one out of every stretch of a random order, which begins anywhere."""
        bounds = torch.arange(self.batch + 1, device=self.order.device) * self.num_nodes // self.batch
        places = bounds[:-1] + (self._draw(self.batch) * bounds.diff()).long()
        begin = (self._draw(1) * self.num_nodes).long()
        return self.order.index_select(0, (places + begin) % self.num_nodes)

    def _neighbours(self, nodes: Tensor) -> Tensor:
        """For each node one of its neighbours or the node itself, all with the same chance."""
        pattern = self.view.pattern
        begin, end = (pattern.indptr.index_select(0, nodes + step).long() for step in (0, 1))
        chosen = begin + (self._draw(len(nodes)) * (end - begin)).long()
        return pattern.indices.index_select(0, torch.minimum(chosen, end - 1)).long()

    def _draw(self, count: int) -> Tensor:
        """Uniform numbers from 0 to 1."""
        source = self.generators["batches"]
        return torch.rand(count, generator=source, device=source.device, dtype=torch.float64)


class PerBlock(Objective):
    """The mean of several objectives, each of which compares one block of columns."""

    def __init__(self, parts: Sequence[Objective]) -> None:
        super().__init__()
        self.parts = nn.ModuleList(parts)

    def prepare(self, num_nodes: int, dim: int, generator: torch.Generator) -> None:
        for part in self.parts:
            part.prepare(num_nodes, dim // len(self.parts), generator)

    def forward(self, z1: Tensor, z2: Tensor, generator: torch.Generator) -> Terms:
        blocks = zip(*(z.chunk(len(self.parts), dim=1) for z in (z1, z2)), strict=True)
        terms = [part(a, b, generator) for part, (a, b) in zip(self.parts, blocks, strict=True)]
        bounds = [term.mutual_information_bound for term in terms if term.mutual_information_bound is not None]
        total = torch.stack([term.total for term in terms]).mean()
        return Terms(total, mutual_information_bound=torch.stack(bounds).mean() if bounds else None)

    def chance(self) -> float | None:
        return self.parts[0].chance()
