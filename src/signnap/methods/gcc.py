"""GCC: recognise a node by another random-walk subgraph of it (spec §4.6); with structure only, or with features."""

from __future__ import annotations

import math
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, embedding

from .. import rng
from ..encoders.subgraphs import SubgraphGCN, SubgraphGIN, positional
from ..graph import Graph, View
from ..interfaces import Encoder, Objective, Step, Task, Terms, region
from ..ops.geometry import alignment
from ..walks import Neighbours
from ..walks.restart import Subgraphs, first_visits, induced, visits
from .gcc_settings import AttributedGccSettings, GccSettings
from .method import Method
from .sizes import Sizes

#: Subgraphs that are embedded at once.
_AT_ONCE = 512

S = TypeVar("S", bound=GccSettings)


class SubgraphEncoder(Encoder, Generic[S]):
    """Embeds a node by what it reads in subgraphs of it: the mean of two draws, the same ones at every call."""

    def __init__(self, settings: S) -> None:
        super().__init__()
        self.settings = settings

    def shared(self, view: View) -> Any:
        """What is computed once for all subgraphs that are read together."""
        return None

    def read(self, subgraphs: Subgraphs, shared: Any, source: torch.Generator) -> Tensor:
        """One vector of length one for each subgraph."""
        raise NotImplementedError

    def draw(self, neighbours: Neighbours, seeds: Tensor, source: torch.Generator) -> Subgraphs:
        """A subgraph of each seed.

        They get as much room as the largest needs, but in training on a GPU all of it: a recorded iteration cannot ask.
        """
        walk = visits(neighbours, seeds, self.settings.steps, self.settings.restart, source)
        nodes, real = first_visits(walk, self.settings.size)
        room = self.settings.size if self.training and seeds.is_cuda else int(real.sum(dim=1).max())
        return induced(neighbours, nodes[:, :room], real[:, :room])

    @torch.no_grad()
    def forward(self, view: View) -> Tensor:
        """Embed every node. Those of similar degree go together: their subgraphs need about the same room."""
        source = rng.generator(self.settings.seed, "embedding", view.stored.device)
        neighbours, shared = Neighbours.of(view), self.shared(view)
        order = neighbours.starts.diff().argsort(stable=True)
        found = []
        for seeds in order.split(_AT_ONCE // 2):
            subgraphs = self.draw(neighbours, seeds.repeat(2), source)
            found.append(self.read(subgraphs, shared, source).view(2, len(seeds), -1).mean(dim=0))
        return torch.cat(found).index_select(0, order.argsort())


class StructureEncoder(SubgraphEncoder[GccSettings]):
    """Reads structure alone: positions, degrees and the seed, by a GIN."""

    def __init__(self, settings: GccSettings) -> None:
        super().__init__(settings)
        s = settings
        self.gin = SubgraphGIN(s.positions, s.hidden, s.dim, s.layers, s.dropout)

    def read(self, subgraphs: Subgraphs, shared: Any, source: torch.Generator) -> Tensor:
        _, real, adjacency = subgraphs
        return self.gin(positional(adjacency, real, self.settings.positions, source), adjacency, real)


class AttributeEncoder(SubgraphEncoder[AttributedGccSettings]):
    """Reads features along the edges of a subgraph, by graph convolutions."""

    def __init__(self, settings: AttributedGccSettings, num_features: int) -> None:
        super().__init__(settings)
        s = settings
        self.gcn = SubgraphGCN(num_features, s.hidden, s.dim, s.layers, s.dropout)

    def shared(self, view: View) -> Tensor:
        return self.gcn.project(view.x)

    def read(self, subgraphs: Subgraphs, shared: Tensor, source: torch.Generator) -> Tensor:
        nodes, _, adjacency = subgraphs
        return self.gcn(embedding(nodes, shared), adjacency)  # whose gradient has one order of sums, even on a GPU


class InBatch(Objective):
    """Cross-entropy of finding a seed's other subgraph among those of the whole batch (spec §4.6, item 4, end to end).

    "loss_1" and the total look for z2 with z1. "loss_2" looks for z1 with z2; it is only logged.
    """

    def __init__(self, temperature: float, batch: int) -> None:
        super().__init__()
        self.temperature, self.batch = temperature, batch

    def forward(self, z1: Tensor, z2: Tensor, generator: torch.Generator) -> Terms:
        scores, own = z1 @ z2.mT / self.temperature, torch.arange(len(z1), device=z1.device)
        first, second = cross_entropy(scores, own), cross_entropy(scores.detach().mT, own)
        return Terms(first, {"loss_1": first, "loss_2": second}, math.log(len(z1)) - first.detach())

    def chance(self) -> float:
        """log B: every subgraph of the batch equally likely."""
        return math.log(self.batch)


class TwoDraws(Task):
    """A batch of seeds and two subgraphs of each, as a task for the loop."""

    def __init__(self, view: View, encoder: SubgraphEncoder[Any], settings: GccSettings) -> None:
        self.view, self.allow_tf32 = view, settings.allow_tf32
        device = view.stored.device
        self.generators = rng.generators(settings.seed, ("views", "layers"), device)
        self.neighbours = Neighbours.of(view)
        self.batch = min(settings.batch, self.neighbours.num_nodes)
        self.encoder, self.objective = encoder.to(device), InBatch(settings.temperature, self.batch)
        self.modules = nn.ModuleDict({"encoder": self.encoder, "objective": self.objective})

    def step(self) -> Step:
        source = self.generators["views"]
        with region("views"):
            order = torch.randperm(self.neighbours.num_nodes, generator=source, device=source.device)
            drawn = self.encoder.draw(self.neighbours, order[: self.batch].repeat(2), source)
            halves = [Subgraphs(*half) for half in zip(*(part.chunk(2) for part in drawn), strict=True)]
        with region("encoder"), rng.as_default(self.generators["layers"]):
            z1, z2 = (self.encoder.read(half, self.encoder.shared(self.view), source) for half in halves)
        with region("contrast"):
            terms = self.objective(z1, z2, source)
        return Step(terms.total, terms.numbers(), (z1.detach(), z2.detach(), halves[0]))

    def describe(self, step: Step, encoder: nn.Module) -> dict[str, float]:
        z1, z2, _ = step.outputs
        return {"alignment": alignment(z1, z2)} | super().describe(step, encoder)

    def embedding(self, step: Step, encoder: Any) -> Tensor:
        """What an encoder reads in the batch's first subgraphs: those of all nodes would cost many iterations."""
        source = rng.generator(0, "look", self.view.stored.device)
        return encoder.read(step.outputs[2], encoder.shared(self.view), source)


class GCC(Method):
    """Two random-walk subgraphs of a node recognise each other; structure only, no features (spec §4.6)."""

    name = "gcc"
    reads_features = False
    equivariant = False

    def build_encoder(self, settings: GccSettings, sizes: Sizes) -> SubgraphEncoder[Any]:
        return StructureEncoder(settings)

    def build_task(self, settings: GccSettings, graph: Graph, view: View, encoder: Encoder) -> TwoDraws:
        assert isinstance(encoder, SubgraphEncoder)
        return TwoDraws(view, encoder, settings)


class AttributedGCC(GCC):
    """GCC with features: a graph convolution reads the subgraphs (our variant, spec §4.6, item 8b)."""

    name = "gcc-attributed"
    reads_features = True

    def build_encoder(self, settings: AttributedGccSettings, sizes: Sizes) -> AttributeEncoder:  # type: ignore[override]
        return AttributeEncoder(settings, sizes.features)
