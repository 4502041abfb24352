"""What of a graph decides the shape of an encoder."""

from __future__ import annotations

from dataclasses import dataclass

from ..graph import Graph
from ..train.run_info import RunInfo


@dataclass(frozen=True)
class Sizes:
    """How many nodes, features and classes a graph has."""

    nodes: int
    features: int
    classes: int

    @staticmethod
    def of(graph: Graph) -> Sizes:
        return Sizes(graph.num_nodes, graph.num_features, graph.num_classes)

    @staticmethod
    def recorded(info: RunInfo) -> Sizes:
        """Those of the graph that a run was trained on."""
        return Sizes(info.num_nodes, info.num_features, info.num_classes)
