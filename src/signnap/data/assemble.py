"""From edges and features to a Graph. A graph without features gets columns that describe its structure."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import SignnapError
from ..graph import Graph, Pattern, compact
from ..graph.arrays import feature_matrix
from .public import DATASETS

_log = logging.getLogger(__name__)

#: A graph without ids and features may have this many nodes, or this many per end of an edge.
_MAX_NODES = 1 << 24
_NODES_PER_END = 100
#: Degrees 0, 1–2, 3–6, 7–14, …: bucket b starts at 2^b − 1. The number of buckets is fixed, so that every graph gets
#: the same columns and an encoder trained on one graph can embed another.
_BUCKETS = 16

#: The features of a graph that comes without features.
STRUCTURAL_COLUMNS: tuple[str, ...] = (
    *(f"degree {2**b - 1} to {2 ** (b + 1) - 2}" for b in range(_BUCKETS - 1)),
    f"degree {2 ** (_BUCKETS - 1) - 1} and more",
    "log degree",
    "mean of neighbours' log degree",
    "spread of neighbours' log degree",
    "mean of neighbours' mean",
)


def assemble(source: np.ndarray, target: np.ndarray, x: Any | None, num_nodes: int, **fields: Any) -> Graph:
    """Build the graph of these edges; ``fields`` are those of ``Graph``. Notes report what the edges contained.

    Without features, the structural features are computed after the edges have passed all checks.
    """
    x = None if x is None else feature_matrix(x)
    bare = x is None or x.shape[1] == 0
    if bare and fields.get("ids") is None:
        _expect_numbering(num_nodes, 2 * len(source))
    if "name" in fields:
        fields["name"] = own_name(fields["name"])
    graph = Graph.from_edges(
        source, target, sp.csr_matrix((num_nodes, 0)) if bare else x, num_nodes=num_nodes, **fields
    )
    if bare:
        words = "columns on each node's degree and its neighbours' degrees"
        _log.info("%s: no features given: using %d %s", graph.name, len(STRUCTURAL_COLUMNS), words)
        features = structural_features(source, target, num_nodes)
        graph = replace(graph, x=compact(features), feature_names=STRUCTURAL_COLUMNS)
    _log.info("%s: %s", graph.name, graph.report)
    return graph


def _expect_numbering(num_nodes: int, ends: int) -> None:
    """Refuse ids where row numbers are expected: every number below the largest id would take memory as a node."""
    if num_nodes > max(_MAX_NODES, _NODES_PER_END * ends):
        found = f"{num_nodes:,} nodes for {ends:,} ends of edges"
        raise SignnapError(f"the graph has {found}: expected nodes numbered from 0, with few numbers left out")


def own_name(name: str) -> str:
    """The name of a graph that a user brings. A public data set's name gets the ending "(own)".

    The name of a graph decides on its preset and on the paper's split, and a file called facebook.csv must not get
    those of the data set.

    >>> own_name("friends"), own_name("facebook")
    ('friends', 'facebook (own)')
    """
    return f"{name} (own)" if name in (*DATASETS, "synthetic") else name


def structural_features(source: np.ndarray, target: np.ndarray, num_nodes: int) -> np.ndarray:
    """Describe every node by its degree and its neighbours' degrees, in the columns ``STRUCTURAL_COLUMNS``.

    Endpoints must be valid row numbers. Repeats, loops and directions of edges do not matter. All values are finite,
    and no row is zero: an isolated node has its bucket.
    """
    pattern = Pattern.from_pairs(np.asarray(source), np.asarray(target), num_nodes)
    degree = pattern.degree.numpy()
    log_degree = np.log1p(degree)
    adjacency, divisor = pattern.to_scipy().astype(np.float64), np.maximum(degree, 1)

    mean = adjacency @ log_degree / divisor
    # Rounding can push a variance that is zero slightly below zero.
    spread = np.sqrt(np.maximum(adjacency @ log_degree**2 / divisor - mean**2, 0))
    second = adjacency @ mean / divisor

    bucket = np.minimum(np.log2(degree + 1).astype(np.int64), _BUCKETS - 1)
    one_hot = np.eye(_BUCKETS)[bucket]
    return np.column_stack([one_hot, log_degree, mean, spread, second]).astype(np.float32)
