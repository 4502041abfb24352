"""Perturbing what matters least: entries and features of peripheral nodes disappear more often (GCA, spec §4.8)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from ..errors import SignnapError, unknown_name
from ..graph import Features, SparseFeatures, StreamedFeatures, View, applied, mask_columns
from ..graph.feature_types import chunk_rows
from .centrality import CENTRALITIES

#: Of features that are mostly not zero, columns differ by how much there is of them, not by who has it.
_MOSTLY = 0.5
#: No entry and no column is dropped more often than this.
HIGHEST = 0.7
#: Scores are logarithms: if none differs more than this from the others, all are equal up to rounding.
_EQUAL = 1e-6
_CHUNK_ELEMENTS = 1 << 20


@dataclass(frozen=True)
class DropUnimportant:
    """Drop stored entries with probability ``drop_edge`` and feature columns with ``mask_features`` on average.

    What is central is dropped less often, what is peripheral more often, but never with more than 0.7; the averages are
    those before this cap. An entry scores by the ``centrality`` (degree, eigenvector or pagerank) of its target, the
    row it sends to; a column by the total centrality of the nodes that have it, weighted by |x| if more than half of
    all features are not zero.

    Entries fall independently, so i→j may survive without j→i. Self-loops are no edges: where a view stores them they
    have no score, and fall at the plain rate.
    Probabilities are computed once for every view, when it is first seen, and shared by all draws from it: in a
    ``Compose`` this perturbation belongs first, where it is given the clean view.
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
        """A copy starts without the probabilities: they belong to views of this process."""
        return type(self), (self.drop_edge, self.mask_features, self.centrality)

    def __call__(self, view: View, generator: torch.Generator) -> View:
        of_entries, of_columns = self.probabilities(view)
        if self.drop_edge:
            view = view.with_entries(view.stored * _kept(of_entries, generator))
        if self.mask_features:
            view = view.with_features(mask_columns(view.x, _kept(of_columns, generator)))
        return view

    def probabilities(self, view: View) -> tuple[Tensor, Tensor]:
        """How likely every entry (E) and every feature column (F) of this view is to be dropped."""
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
    """min(q·rate, 0.7) with q = (max s − s)/(max s − mean s) and s = log weight: low weights are dropped more often.

    q has mean one. Where there is nothing to tell weights by (all are equal, or a weight is zero and has no logarithm:
    an empty column, a self-loop) it is one, and maximum and mean are those of the others.
    """
    scored = weights > 0
    scores = weights[scored].log()
    q = torch.ones_like(weights)
    if scores.numel() and float(scores.max() - scores.min()) > _EQUAL:
        q[scored] = (scores.max() - scores) / (scores.max() - scores.mean())
    return (rate * q).clamp(max=HIGHEST).float()


def column_weights(x: Features, nodes: Tensor) -> Tensor:
    """Σ_i φ(i)·1[x_ik ≠ 0] for every column k, or Σ_i φ(i)·|x_ik| for dense features (F, float64).

    Dense is what has more than half of non-zeros, however it is stored; bags of words never have. Random noise on
    features is not counted.
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
