"""The last step from anyone's data to a Graph: features if there are none, and a word on what was found."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import SignnapError
from ..graph import Graph, compact
from ..graph.arrays import feature_matrix
from .catalog import DATASETS
from .structure import COLUMNS, structural_features

_log = logging.getLogger(__name__)

#: So many nodes may be there whatever the edges say, and so many for each end of an edge.
_MAX_NODES = 1 << 24
_NODES_PER_END = 100


def assemble(source: np.ndarray, target: np.ndarray, x: Any | None, num_nodes: int, **fields: Any) -> Graph:
    """Build the graph; without features it gets structural ones, after the edges have passed all checks."""
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
        features, words = structural_features(source, target, num_nodes)
        _log.info("%s: %s", graph.name, words)
        graph = replace(graph, x=compact(features), feature_names=COLUMNS)
    _log.info("%s: %s", graph.name, graph.report)
    return graph


def _expect_numbering(num_nodes: int, ends: int) -> None:
    """Refuse ids in place of row numbers, where nodes have nothing but these: memory is taken for each."""
    if num_nodes > max(_MAX_NODES, _NODES_PER_END * ends):
        found = f"{num_nodes:,} nodes for {ends:,} ends of edges"
        raise SignnapError(f"the graph has {found}: expected nodes numbered from 0, with few numbers left out")


def own_name(name: str) -> str:
    """The name, unless it is that of a graph this package knows.

    A name decides on presets and on the paper's split, and a file called facebook.csv must not get those of the data
    set. All other names stay as they are.

    >>> own_name("friends"), own_name("facebook")
    ('friends', 'facebook (own)')
    """
    return f"{name} (own)" if name in (*DATASETS, "synthetic") else name
