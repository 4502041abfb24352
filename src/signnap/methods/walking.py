"""DeepWalk and Node2Vec: nodes that random walks meet together get similar vectors (spec §4.1, §4.2)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from .. import rng
from ..encoders.wrap import Table
from ..graph import Graph, View
from ..interfaces import Encoder, Step, Task, region
from ..objectives.skipgram import SkipGram
from ..walks import BiasedWalks, Neighbours, Starts, expected_visits, uniform_walks
from .method import Method
from .sizes import Sizes
from .walk_settings import DeepWalkSettings, Node2VecSettings

_log = logging.getLogger(__name__)

#: From starting nodes, a length and a generator to walks.
Walker = Callable[[Tensor, int, torch.Generator], Tensor]

#: Walks in one iteration, at most: few iterations on a large graph must not fill the memory.
_MOST_WALKS = 2048

#: If more steps than this share may be other than they should be, that is told.
_NEGLIGIBLE = 0.01


class DeepWalk(Method):
    """Nodes that meet on uniform random walks get similar vectors, by skip-gram (spec §4.1)."""

    name = "deepwalk"
    reads_features = False
    inductive = False
    extendable = False  # the walks are spread over all iterations

    def build_encoder(self, settings: DeepWalkSettings, sizes: Sizes) -> Encoder:
        return Table(sizes.nodes, settings.dim)

    def walker(self, settings: DeepWalkSettings, view: View) -> Walker:
        """How one gets from node to node."""
        return partial(uniform_walks, Neighbours.of(view))

    def build_task(self, settings: DeepWalkSettings, graph: Graph, view: View, encoder: Encoder) -> Walking:
        return Walking(settings, view, encoder, self.walker(settings, view))


class Node2Vec(DeepWalk):
    """DeepWalk, but walks are drawn away from, or back to, where they came from (spec §4.2)."""

    name = "node2vec"

    def walker(self, settings: Node2VecSettings, view: View) -> Walker:  # type: ignore[override]
        walks = BiasedWalks(Neighbours.of(view), settings.p, settings.q)
        if walks.failure > _NEGLIGIBLE:
            told = "node2vec with q = %s: up to %.0f %% of the steps refuse all of %s proposals and take one of them"
            _log.info(told, settings.q, 100 * walks.failure, f"{walks.proposals:,}")
        return walks


class Walking(Task):
    """A batch of walks and what they say about the embeddings, as a task for the loop."""

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
