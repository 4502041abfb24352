"""The paper's figure of over-smoothing: do nodes of pubmed stay apart when layers are stacked?"""

from __future__ import annotations

from ..cells import Cell, Results
from ..paper import cell
from . import depths

GRAPH = "pubmed"


def cell_of(name: str, depth: int) -> Cell:
    """A method with so many layers, with its map and how far its nodes are spread."""
    return cell(name, GRAPH, ("map", "spread"), layers=depth)


def recipe() -> list[Cell]:
    """All panels, method by method."""
    return [cell_of(name, depth) for name in depths.METHODS for depth in depths.DEPTHS]


def page(results: Results, seeds: int) -> str:
    """Accuracy and spread of every panel in Markdown."""
    head = (
        f"{GRAPH}, mean ± deviation over {seeds} encoder seeds; of networks with labels, the scores of the classes.\n\n"
    )
    spread = lambda name: lambda row: [look[name] for look in row["looks"]["spread"]]
    looks = {
        "mean distance of two nodes": spread("distance"),
        "the same, of nodes of mean length one": spread("relative_distance"),
        "effective rank": spread("effective_rank"),
    }
    return head + depths.tables(results, seeds, cell_of, looks)
