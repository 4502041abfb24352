"""The attributed graph: immutable and undirected, with the user's own node ids."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..errors import SignnapError
from .arrays import class_numbers, endpoints, expect_float32, hash_of, node_ids
from .feature_ops import as_dense, compact, first_non_finite, row_normalized
from .feature_types import Features, SparseFeatures
from .pattern import Pattern
from .view import View


@dataclass(frozen=True)
class EdgeReport:
    """Counts of what the given edges held before they were made undirected and unique."""

    given: int = 0
    duplicates: int = 0
    self_loops: int = 0
    one_directional: int = 0
    isolated: int = 0

    def __str__(self) -> str:
        return (
            f"{self.given:,} edges given: {self.duplicates:,} duplicates and {self.self_loops:,} self-loops removed, "
            f"{self.one_directional:,} one-directional made mutual, {self.isolated:,} isolated nodes kept"
        )


@dataclass(frozen=True, eq=False)
class Graph:
    """An attributed graph.

    ``x`` holds the features as given; ``view`` normalises their rows. ``y`` holds class numbers, with −1 for a missing
    label. ``ids`` holds the user's node ids in row order. ``given_split`` maps "train", "val" and "test" to node rows
    if the data set comes with a split.
    """

    pattern: Pattern
    x: Tensor | SparseFeatures
    y: Tensor | None = None
    ids: np.ndarray | None = None
    name: str = "graph"
    classes: tuple[str, ...] = ()
    feature_names: tuple[str, ...] = ()
    given_split: dict[str, Tensor] | None = None
    report: EdgeReport = field(default_factory=EdgeReport)

    @staticmethod
    def from_edges(source: Any, target: Any, x: Any, *, num_nodes: int | None = None, **fields: Any) -> Graph:
        """Build a graph from endpoint row numbers; ``report`` counts duplicates, self-loops and one-directional edges.

        ``x`` may be a list, a numpy array, a tensor or a scipy sparse matrix with one row per node. Endpoints and
        ``y`` may be lists, numpy arrays or tensors of whole numbers; floats are refused, even whole ones.
        """
        source, target = endpoints(source, target)
        features = _finite(compact(x))
        num_nodes = features.shape[0] if num_nodes is None else num_nodes
        if num_nodes == 0:
            raise SignnapError(f"{fields.get('name', 'the graph')} is empty: expected at least one node")
        if features.shape[0] != num_nodes:
            raise SignnapError(f"features have {features.shape[0]} rows for {num_nodes} nodes")
        for name, checked in (("y", class_numbers), ("ids", node_ids)):
            if fields.get(name) is not None:
                fields[name] = checked(fields[name], num_nodes)
        outside = np.flatnonzero((np.minimum(source, target) < 0) | (np.maximum(source, target) >= num_nodes))
        if len(outside):
            i = outside[0]
            pair = f"({source[i]}, {target[i]})"
            raise SignnapError(f"edge number {i} is {pair}, but nodes are numbered 0 to {num_nodes - 1}")
        pattern = Pattern.from_pairs(source, target, num_nodes)
        report = _edge_report(source, target, pattern)
        return Graph(pattern, features, report=report, **fields)

    @property
    def num_nodes(self) -> int:
        return self.pattern.num_nodes

    @property
    def num_edges(self) -> int:
        return self.pattern.num_edges

    @property
    def num_features(self) -> int:
        return int(self.x.shape[1])

    @property
    def num_classes(self) -> int:
        return 0 if self.y is None or not self.y.numel() else max(0, int(self.y.max()) + 1)

    def __repr__(self) -> str:
        facts = f"{self.num_nodes:,} nodes, {self.num_edges:,} edges, {self.num_features:,} features"
        return f"Graph({self.name}: {facts}, {self.num_classes} classes)"

    def view(
        self, *, edge_value: float = 1.0, loop_value: float = 0.0, normalize: bool = True, dense_above: float = 1.0
    ) -> View:
        """The clean view: every edge stored with ``edge_value`` and every self-loop with ``loop_value``.

        Sparse features with a larger fraction of non-zeros than ``dense_above`` become dense.

        The authors' code stores no self-loops on pubmed (1, 0), one per node on the Amazon and Coauthor graphs (1, 1),
        and doubled values on facebook (2, 3).
        """
        expect_float32()
        stored = torch.full((self.pattern.num_entries,), float(edge_value), device=self.pattern.device)
        stored.index_fill_(0, self.pattern.diagonal.long(), loop_value)
        sparse = isinstance(self.x, SparseFeatures) and self.x.density <= dense_above
        return View(self.pattern, stored, self._features(normalize, sparse))

    def _features(self, normalize: bool, sparse: bool) -> Features:
        """Features in one of their forms, computed once for all views of the graph."""
        if (normalize, sparse) not in self._forms:
            x = row_normalized(self.x) if normalize else self.x
            self._forms[normalize, sparse] = x if sparse else as_dense(x)
        return self._forms[normalize, sparse]

    @cached_property
    def _forms(self) -> dict[tuple[bool, bool], Features]:
        return {}

    def without_labels(self) -> Graph:
        """The same graph without labels, class names and split."""
        return replace(self, y=None, classes=(), given_split=None)

    def subgraph(self, nodes: Tensor) -> Graph:
        """The graph induced on ``nodes``, in that order."""
        rows = nodes.cpu()
        pick = rows.numpy()
        x = SparseFeatures.from_scipy(self.x.to_scipy()[pick]) if isinstance(self.x, SparseFeatures) else self.x[rows]
        y = None if self.y is None else self.y[rows]
        ids = None if self.ids is None else self.ids[pick]
        return replace(self, pattern=self.pattern.subset(rows), x=x, y=y, ids=ids, given_split=None)

    def to(self, device: torch.device | str) -> Graph:
        """Move pattern and features to a device; labels stay where they are."""
        return replace(self, pattern=self.pattern.to(device), x=self.x.to(device))

    def fingerprint(self) -> str:
        """A hash of structure and features; every run stores it to recognise its graph."""
        x = [self.x.indptr, self.x.indices, self.x.values] if isinstance(self.x, SparseFeatures) else [self.x]
        return hash_of([self.pattern.indptr, self.pattern.indices, *x])


def _finite(x: Tensor | SparseFeatures) -> Tensor | SparseFeatures:
    if bad := first_non_finite(x):
        raise SignnapError(f"the feature of node {bad[0]}, column {bad[1]} is {bad[2]}: expected a finite number")
    return x


def _edge_report(source: np.ndarray, target: np.ndarray, pattern: Pattern) -> EdgeReport:
    """Count the edges that the pattern absorbed. A pair given in both directions is mutual, not a duplicate."""
    loops = int((source == target).sum())
    proper = source != target
    keys = np.sort(source[proper] * pattern.num_nodes + target[proper])
    directed = int(np.count_nonzero(np.diff(keys, prepend=-1)))  # several times faster than np.unique
    return EdgeReport(
        given=len(source),
        duplicates=len(keys) - directed,
        self_loops=loops,
        one_directional=2 * pattern.num_edges - directed,
        isolated=int((pattern.degree == 0).sum()),
    )
