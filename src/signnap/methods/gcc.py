"""GCC: two random-walk subgraphs of a node recognise each other, by structure only or with features.

GCC: https://doi.org/10.1145/3394486.3403168.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
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
from .base import Method, Sizes
from .settings import BaseSettings

#: The number of subgraphs that are embedded at once.
_AT_ONCE = 512


@dataclass(frozen=True)
class GccSettings(BaseSettings):
    """GCC with the values of the SIGNNAP paper's comparison, and those of GCC's authors where it gives none.

    The number of layers is that of the authors, too.
    """

    method: str = "gcc"
    dim: int = 64
    hidden: int = 64
    layers: int = 4
    dropout: float = 0.5
    #: steps of a walk, probability to return to the seed after each step, and the largest number of nodes to keep
    steps: int = 256
    restart: float = 0.8
    size: int = 128
    #: number of eigenvectors that give the coordinates of a node in its subgraph
    positions: int = 32
    #: seeds in an iteration; the negatives of a seed are the other ones
    batch: int = 32
    temperature: float = 0.07
    iterations: int = 1000
    lr: float = 0.005
    schedule: str = "linear:0.1"
    weight_decay: float = 1e-5
    clip: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._expect(("steps", "size", "batch"), lambda value: value >= 1, "a whole number of at least 1")
        self._expect(("positions",), lambda value: value >= 0, "a whole number of at least 0")
        self._expect(("restart",), lambda value: 0 <= value <= 1, "a number from 0 to 1")


@dataclass(frozen=True)
class AttributedGccSettings(GccSettings):
    """GCC's walks and loss with a graph convolution over features. This variant is ours."""

    method: str = "gcc-attributed"
    layers: int = 2


S = TypeVar("S", bound=GccSettings)


class GCC(Method):
    """Two random-walk subgraphs of a node recognise each other; structure only, no features."""

    name = "gcc"
    reads_features = False
    equivariant = False

    def build_encoder(self, settings: GccSettings, sizes: Sizes) -> SubgraphEncoder[Any]:
        return StructureEncoder(settings)

    def build_task(self, settings: GccSettings, graph: Graph, view: View, encoder: Encoder) -> TwoDraws:
        assert isinstance(encoder, SubgraphEncoder)
        return TwoDraws(view, encoder, settings)


class AttributedGCC(GCC):
    """Our variant of GCC: a graph convolution reads the features of the subgraphs."""

    name = "gcc-attributed"
    reads_features = True

    def build_encoder(self, settings: AttributedGccSettings, sizes: Sizes) -> AttributeEncoder:  # type: ignore[override]
        return AttributeEncoder(settings, sizes.num_features)


class SubgraphEncoder(Encoder, Generic[S]):
    """Embeds a node by the mean over two subgraphs of it. Every call draws the same subgraphs."""

    def __init__(self, settings: S) -> None:
        super().__init__()
        self.settings = settings

    def shared(self, view: View) -> Any:
        """A value that is computed once for all subgraphs of a call."""
        return None

    def read(self, subgraphs: Subgraphs, shared: Any, source: torch.Generator) -> Tensor:
        """Compute one vector of length one for each subgraph."""
        raise NotImplementedError

    def draw(self, neighbours: Neighbours, seeds: Tensor, source: torch.Generator) -> Subgraphs:
        """Draw a subgraph of each seed.

        All subgraphs get the room that the largest one needs. Training on a GPU reserves room for the largest possible
        subgraph, because a recorded iteration cannot depend on sizes.
        """
        walk = visits(neighbours, seeds, self.settings.steps, self.settings.restart, source)
        nodes, real = first_visits(walk, self.settings.size)
        room = self.settings.size if self.training and seeds.is_cuda else int(real.sum(dim=1).max())
        return induced(neighbours, nodes[:, :room], real[:, :room])

    @torch.no_grad()
    def forward(self, view: View) -> Tensor:
        """Embed every node. Nodes of similar degree share a batch, because their subgraphs need about the same room."""
        source = rng.generator(self.settings.seed, "embedding", view.stored.device)
        neighbours, shared = Neighbours.of(view), self.shared(view)
        order = neighbours.starts.diff().argsort(stable=True)
        found = []
        for seeds in order.split(_AT_ONCE // 2):
            subgraphs = self.draw(neighbours, seeds.repeat(2), source)
            found.append(self.read(subgraphs, shared, source).view(2, len(seeds), -1).mean(dim=0))
        return torch.cat(found).index_select(0, order.argsort())


class StructureEncoder(SubgraphEncoder[GccSettings]):
    """Reads structure only: a GIN over positions, degrees and a flag for the seed."""

    def __init__(self, settings: GccSettings) -> None:
        super().__init__(settings)
        s = settings
        self.gin = SubgraphGIN(s.positions, s.hidden, s.dim, s.layers, s.dropout)

    def read(self, subgraphs: Subgraphs, shared: Any, source: torch.Generator) -> Tensor:
        _, real, adjacency = subgraphs
        return self.gin(positional(adjacency, real, self.settings.positions, source), adjacency, real)


class AttributeEncoder(SubgraphEncoder[AttributedGccSettings]):
    """Reads the features of a subgraph: graph convolutions along its edges."""

    def __init__(self, settings: AttributedGccSettings, num_features: int) -> None:
        super().__init__(settings)
        s = settings
        self.gcn = SubgraphGCN(num_features, s.hidden, s.dim, s.layers, s.dropout)

    def shared(self, view: View) -> Tensor:
        return self.gcn.project(view.x)

    def read(self, subgraphs: Subgraphs, shared: Tensor, source: torch.Generator) -> Tensor:
        nodes, _, adjacency = subgraphs
        return self.gcn(
            embedding(nodes, shared), adjacency
        )  # unlike indexing, ``embedding`` sums gradients in a fixed order on a GPU


class InBatch(Objective):
    """Cross-entropy of finding a seed's other subgraph among those of the whole batch: GCC trained end to end.

    The total and the part "loss_1" look for z2 with z1. The part "loss_2" looks for z1 with z2 and is only logged.
    """

    def __init__(self, temperature: float, batch: int) -> None:
        super().__init__()
        self.temperature, self.batch = temperature, batch

    def forward(self, z1: Tensor, z2: Tensor, generator: torch.Generator) -> Terms:
        scores, own = z1 @ z2.mT / self.temperature, torch.arange(len(z1), device=z1.device)
        first, second = cross_entropy(scores, own), cross_entropy(scores.detach().mT, own)
        return Terms(first, {"loss_1": first, "loss_2": second}, math.log(len(z1)) - first.detach())

    def chance(self) -> float:
        """log B, the loss if every subgraph of the batch is equally likely."""
        return math.log(self.batch)


class TwoDraws(Task):
    """Draw a batch of seeds, embed two subgraphs of each, and contrast them."""

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
        """The embedding of the first subgraphs of the batch. All nodes would take as long as many iterations."""
        source = rng.generator(0, "look", self.view.stored.device)
        return encoder.read(step.outputs[2], encoder.shared(self.view), source)
