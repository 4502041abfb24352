"""Perturbation by importance: edges and features of peripheral nodes are dropped more often (GCA).

GCA: https://doi.org/10.1145/3442381.3449802. The importance of a node is its degree, its entry in the leading
eigenvector, or its PageRank in the clean graph.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from ..errors import SignnapError, unknown_name
from ..graph import Features, Pattern, SparseFeatures, StreamedFeatures, View, applied, mask_columns
from ..graph.feature_types import chunk_rows
from ..ops.sparse import spmm

#: Features with a larger fraction of non-zeros than this count as dense: their columns are weighted by their amounts.
_MOSTLY = 0.5
#: No entry and no column is dropped with a higher probability.
HIGHEST = 0.7
#: Scores are logarithms. Differences below this are rounding.
_EQUAL = 1e-6
_CHUNK_ELEMENTS = 1 << 20
#: The probability that the walk of PageRank follows an edge instead of jumping to any node.
DAMPING = 0.85
#: An iteration ends when the changes to a vector of sum one add up to less than this, or after ``MAX_ROUNDS`` rounds.
#: PageRank needs about 100 rounds; the number for the eigenvector depends on the graph.
TOLERANCE = 1e-10
MAX_ROUNDS = 1000


@dataclass(frozen=True)
class DropUnimportant:
    """Drop unimportant entries and feature columns more often than important ones.

    Before the cap of 0.7 per entry and column, the average probability is ``drop_edge`` for stored entries and
    ``mask_features`` for columns. The score of an entry is the ``centrality`` (degree, eigenvector or pagerank) of its
    target, that is, its row. The score of a column is the total centrality of the nodes that have it, weighted by |x|
    if more than half of all features are not zero.

    Entries are dropped independently, so i→j may stay without j→i. Stored self-loops have no score and are dropped with
    probability ``drop_edge``. The probabilities are computed once per view and shared by all draws from it. In a
    ``Compose``, put this perturbation first, so that it sees the clean view.
    """

    drop_edge: float = 0.3
    mask_features: float = 0.1
    centrality: str = "degree"
    _known: WeakKeyDictionary[View, tuple[Tensor, Tensor]] = field(
        default_factory=WeakKeyDictionary, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        for what, rate in (("dropped edges", self.drop_edge), ("masked features", self.mask_features)):
            if not 0 <= rate <= 1:
                raise SignnapError(f"the share of {what} is {rate}: expected a number from 0 to 1")
        if self.centrality not in CENTRALITIES:
            raise unknown_name("centrality", self.centrality, CENTRALITIES)

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave the probabilities out of a copy: they belong to views of this process."""
        return type(self), (self.drop_edge, self.mask_features, self.centrality)

    def __call__(self, view: View, generator: torch.Generator) -> View:
        of_entries, of_columns = self.probabilities(view)
        if self.drop_edge:
            view = view.with_entries(view.stored * _kept(of_entries, generator))
        if self.mask_features:
            view = view.with_features(mask_columns(view.x, _kept(of_columns, generator)))
        return view

    def probabilities(self, view: View) -> tuple[Tensor, Tensor]:
        """The probabilities of dropping each entry (E) and each feature column (F) of this view."""
        known = self._known.get(view)
        if known is None:
            nodes = CENTRALITIES[self.centrality](view.pattern)
            targets = nodes.index_select(0, view.pattern.rows) * (view.stored != 0)
            targets = targets.index_fill(0, view.pattern.diagonal.long(), 0)
            known = (
                drop_probabilities(targets, self.drop_edge),
                drop_probabilities(column_weights(view.x, nodes), self.mask_features),
            )
            self._known[view] = known
        return known


def drop_probabilities(weights: Tensor, rate: float) -> Tensor:
    """Probabilities min(q·rate, 0.7) with q = (max s − s)/(max s − mean s) and s = log weight.

    Low weights are dropped more often, and q has mean one. q is one for a weight of zero, which has no logarithm (an
    empty column, a self-loop) and counts for neither maximum nor mean, and for all weights if they are equal.
    """
    scored = weights > 0
    scores = weights[scored].log()
    q = torch.ones_like(weights)
    if scores.numel() and float(scores.max() - scores.min()) > _EQUAL:
        q[scored] = (scores.max() - scores) / (scores.max() - scores.mean())
    return (rate * q).clamp(max=HIGHEST).float()


def column_weights(x: Features, nodes: Tensor) -> Tensor:
    """Σ_i φ(i)·1[x_ik ≠ 0] for every column k, or Σ_i φ(i)·|x_ik| for dense features (F, float64).

    Features count as dense if more than half of their entries are not zero, however they are stored. Random noise on
    the features does not count.
    """
    x = applied(x)
    if isinstance(x, StreamedFeatures):
        x = x.base
    values = x.values if isinstance(x, SparseFeatures) else x
    filled = int(values.count_nonzero()) / max(1, x.shape[0] * x.shape[1])
    amount = (lambda part: part.abs().double()) if filled > _MOSTLY else (lambda part: (part != 0).double())
    if isinstance(x, SparseFeatures):
        return x.with_values(amount(values)).transposed_times(nodes[:, None]).squeeze(1)
    rows = chunk_rows(x.shape[1], _CHUNK_ELEMENTS)
    total = nodes.new_zeros(x.shape[1])
    for part, of_part in zip(x.split(rows), nodes.split(rows), strict=True):
        total += of_part @ amount(part)
    return total


def _kept(probabilities: Tensor, generator: torch.Generator) -> Tensor:
    return torch.rand(probabilities.shape, generator=generator, device=probabilities.device) >= probabilities


# -- centrality --------------------------------------------------------------------------------------------------------


def degree(pattern: Pattern) -> Tensor:
    """The number of neighbours."""
    return pattern.degree.double()


def eigenvector(pattern: Pattern) -> Tensor:
    """The leading eigenvector of the adjacency A at unit length, plus 1e-8 so that every entry has a logarithm.

    The power iteration runs on A + I: it has the eigenvectors of A, but on bipartite graphs no second eigenvalue of
    equal size. The iteration starts from equal numbers, so no entry becomes negative, and the result is unique even if
    several components share the largest eigenvalue.
    """
    ones = _ones(pattern, pattern.num_entries)

    def step(x: Tensor) -> Tensor:
        x = _product(pattern, ones, x)
        return x / x.sum()

    found = _settled(step, _ones(pattern, pattern.num_nodes) / pattern.num_nodes)
    return found / found.norm() + 1e-8


def pagerank(pattern: Pattern) -> Tensor:
    """The PageRank of every node: how often a random walk visits it.

    The walk jumps to any node with probability 0.15, and always from an isolated node. The public code of GCA has no
    jumps; on an undirected graph its result is proportional to the degree.
    """
    edges = _ones(pattern, pattern.num_entries).index_fill_(0, pattern.diagonal.long(), 0)
    neighbours, isolated = degree(pattern).clamp(min=1), pattern.degree == 0

    def step(x: Tensor) -> Tensor:
        jump = (1 - DAMPING) + DAMPING * (x * isolated).sum()
        return DAMPING * _product(pattern, edges, x / neighbours) + jump / pattern.num_nodes

    return _settled(step, _ones(pattern, pattern.num_nodes) / pattern.num_nodes)


#: The centralities by name. None of them counts self-loops. Each gives one float64 number of at least 0 per node. The
#: iterations run on the device of the pattern and hold a few vectors.
CENTRALITIES: dict[str, Callable[[Pattern], Tensor]] = {
    "degree": degree,
    "eigenvector": eigenvector,
    "pagerank": pagerank,
}


def _ones(pattern: Pattern, size: int) -> Tensor:
    return torch.ones(size, dtype=torch.float64, device=pattern.device)


def _product(pattern: Pattern, values: Tensor, x: Tensor) -> Tensor:
    return spmm(pattern, values, x[:, None]).squeeze(1)


@torch.no_grad()
def _settled(step: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Repeat a step until the changes are below ``TOLERANCE``."""
    for _ in range(MAX_ROUNDS):
        x, before = step(x), x
        if float((x - before).abs().sum()) < TOLERANCE:
            break
    return x
