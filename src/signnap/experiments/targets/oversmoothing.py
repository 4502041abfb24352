"""The paper's figure of over-smoothing: do nodes of pubmed stay apart when layers are stacked?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...evaluate import summarize
from ...report.maps import Map, maps
from .. import markdown, pictures
from ..cells import Cell, Results
from ..paper import cell
from . import depths

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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


def figure(results: Results, seeds: int) -> Figure:
    """A map for every method, down, and depth, across, with its accuracy and effective rank."""
    rows = {name: {d: results.find(cell_of(name, d), seeds) for d in depths.DEPTHS} for name in depths.METHODS}
    panels = {name: [_panel(row) for row in each.values()] for name, each in rows.items()}
    note = pictures.note({(name, str(d)): row for name, each in rows.items() for d, row in each.items()}, seeds)
    return maps(panels, [f"{depth} layers" for depth in depths.DEPTHS], note, side=1.6)


def _panel(row: pictures.Row) -> Map | str:
    look = pictures.first_look(row, "map")
    if row is None or isinstance(look, str):
        return look
    accuracy = summarize(markdown.accuracies(row))
    rank = summarize([each["effective_rank"] for each in row["looks"]["spread"]])
    below = f"accuracy {markdown.spread(accuracy, 1)} %\neffective rank {markdown.spread(rank, 1)}"
    return Map(look["x"], look["y"], look["class"], below)
