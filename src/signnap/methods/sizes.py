"""What of a graph decides the shape of an encoder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..graph import Graph


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
    def recorded(facts: dict[str, Any]) -> Sizes:
        """Those of the graph that a run was trained on."""
        return Sizes(*(int(facts[name]) for name in ("num_nodes", "num_features", "num_classes")))
