"""DeepWalk and Node2Vec: nodes that occur together on random walks get similar vectors.

DeepWalk: https://doi.org/10.1145/2623330.2623732. Node2Vec: https://doi.org/10.1145/2939672.2939754.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import inf

import torch
from torch import Tensor, nn

from .. import rng
from ..encoders.wrap import Table
from ..graph import Graph, View
from ..interfaces import Encoder, Step, Task, region
from ..objectives.skipgram import SkipGram
from ..walks import BiasedWalks, Neighbours, Starts, expected_visits, uniform_walks
from .base import Method, Sizes
from .settings import BaseSettings

_log = logging.getLogger(__name__)

#: Computes walks from starting nodes, a length and a generator.
Walker = Callable[[Tensor, int, torch.Generator], Tensor]

#: The largest number of walks in one iteration: with few iterations on a large graph, memory has to suffice.
_MOST_WALKS = 2048

#: The share of biased steps above which a remark is logged.
_NEGLIGIBLE = 0.01


@dataclass(frozen=True)
class DeepWalkSettings(BaseSettings):
    """DeepWalk: every node starts ``walks`` walks of ``length`` nodes, spread evenly over the iterations.

    An iteration has a whole number of walks, rounded up, so on a small graph every node starts more of them. The pairs
    of a walk are at most ``window`` steps apart. Each pair has ``negatives`` negatives.
    """

    method: str = "deepwalk"
    walks: int = 10
    length: int = 80
    window: int = 10
    negatives: int = 5
    iterations: int = 1000
    lr: float = 0.01
    schedule: str = "linear:0"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._expect(("walks", "window"), lambda value: value >= 1, "a whole number of at least 1")
        self._expect(("length",), lambda value: value >= 2, "a whole number of at least 2")


@dataclass(frozen=True)
class Node2VecSettings(DeepWalkSettings):
    """Node2Vec: a step back has weight 1/p, a step away from the previous node weight 1/q."""

    method: str = "node2vec"
    p: float = 1.0
    q: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        self._expect(("p", "q"), lambda value: 0 < value < inf, "a positive number")


class DeepWalk(Method):
    """Gives nodes that occur together on uniform random walks similar vectors, by skip-gram."""

    name = "deepwalk"
    reads_features = False
    inductive = False
    extendable = False  # the walks are spread over all iterations

    def build_encoder(self, settings: DeepWalkSettings, sizes: Sizes) -> Encoder:
        return Table(sizes.num_nodes, settings.dim)

    def walker(self, settings: DeepWalkSettings, view: View) -> Walker:
        """The function that computes walks."""
        return partial(uniform_walks, Neighbours.of(view))

    def build_task(self, settings: DeepWalkSettings, graph: Graph, view: View, encoder: Encoder) -> Walking:
        return Walking(settings, view, encoder, self.walker(settings, view))


class Node2Vec(DeepWalk):
    """As DeepWalk, but walks prefer to return to, or to move away from, the node before the last one."""

    name = "node2vec"

    def walker(self, settings: Node2VecSettings, view: View) -> Walker:  # type: ignore[override]
        walks = BiasedWalks(Neighbours.of(view), settings.p, settings.q)
        if walks.failure > _NEGLIGIBLE:
            told = "node2vec with q = %s: up to %.0f %% of the steps refuse all of %s proposals and take one of them"
            _log.info(told, settings.q, 100 * walks.failure, f"{walks.proposals:,}")
        return walks


class Walking(Task):
    """Draw a batch of walks and fit the embeddings of their nodes to each other."""

    def __init__(self, settings: DeepWalkSettings, view: View, encoder: Encoder, walker: Walker) -> None:
        self.view, self.walker, self.length, self.allow_tf32 = view, walker, settings.length, settings.allow_tf32
        nodes, device = view.pattern.num_nodes, view.stored.device
        self.count = min(-(-nodes * settings.walks // settings.iterations), _MOST_WALKS)
        self.generators = rng.generators(settings.seed, ("starts", "walks", "negatives"), device)
        self.encoder = encoder.to(device)
        visits = expected_visits(view.pattern, settings.length)
        self.objective = SkipGram(visits, settings.dim, settings.length, settings.window, settings.negatives)
        self.starts = Starts(nodes, self.generators["starts"])
        parts = {"encoder": self.encoder, "objective": self.objective, "starts": self.starts}
        self.modules = nn.ModuleDict(parts)

    def step(self) -> Step:
        with region("views"):
            starts, line = self.starts.draw(self.count, self.generators["starts"])
            walks = self.walker(starts, self.length, self.generators["walks"])
        z = self.encoder(self.view)
        with region("contrast"):
            terms = self.objective(z, walks, self.generators["negatives"])
        return Step(terms.total, terms.numbers(), (line,))

    def advance(self, step: Step) -> None:
        self.starts.update(self.count, *step.outputs)
