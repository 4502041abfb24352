"""The paper's figure of over-smoothing: do nodes of pubmed stay apart when layers are stacked?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from signnap.evaluate import summarize

from .. import markdown, pictures
from ..cells import Cell
from ..paper import COMPARED, OURS, cell
from ..report.maps import Map, maps
from ..results import Results
from . import depths

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GRAPH = "pubmed"
#: Nodes of mean length one that are nearer to each other than this, on average, all but coincide.
_NEAR = 0.01


def cell_of(name: str, depth: int) -> Cell:
    """A method with so many layers, with its map and how far its nodes are spread."""
    return cell(name, GRAPH, ("map", "spread"), layers=depth)


def recipe() -> list[Cell]:
    """All panels, method by method."""
    return [cell_of(name, depth) for name in COMPARED for depth in depths.DEPTHS]


def spread(number: str) -> markdown.Measure:
    """One of the numbers by which nodes are spread, for every encoder seed."""
    return lambda row: [look[number] for look in row["looks"]["spread"]]


def page(results: Results, seeds: int) -> str:
    """Accuracy and spread of every panel in Markdown."""
    head = (
        f"{GRAPH}, mean ± deviation over {seeds} encoder seeds; of networks with labels, the scores of the classes.\n\n"
        f"{_coinciding(results, seeds)}"
    )
    looks = {
        "mean distance of two nodes": spread("distance"),
        "the same, of nodes of mean length one": spread("relative_distance"),
        "effective rank": spread("effective_rank"),
    }
    return head + depths.tables(results, seeds, cell_of, looks)


def _coinciding(results: Results, seeds: int) -> str:
    """Which encoders of SIGNNAP send all nodes to about one place: a mean over seeds would hide them."""
    sentences = []
    for depth in depths.DEPTHS:
        row = results.find(cell_of(OURS, depth), seeds)
        if row is None or "error" in row:
            continue
        looks, marks = row["looks"]["spread"], markdown.accuracies(row)
        near = [mark for look, mark in zip(looks, marks, strict=True) if look["relative_distance"] < _NEAR]
        if near:
            shown = ", ".join(f"{mark:.2f} %" for mark in near)
            sentences.append(
                f"With {depth} layers, nodes all but coincide in {len(near)} of {len(marks)} encoders of {OURS}, "
                f"and accuracy there is {shown}."
            )
    return "".join(f"{sentence}\n\n" for sentence in sentences)


def figure(results: Results, seeds: int) -> Figure:
    """A map for every method, down, and depth, across, with its accuracy and effective rank."""
    rows = {name: {d: results.find(cell_of(name, d), seeds) for d in depths.DEPTHS} for name in COMPARED}
    panels = {name: [_panel(row) for row in each.values()] for name, each in rows.items()}
    note = pictures.note({(name, str(d)): row for name, each in rows.items() for d, row in each.items()}, seeds)
    return maps(panels, [f"{depth} layers" for depth in depths.DEPTHS], note, side=1.6)


def _panel(row: pictures.Row) -> Map | str:
    look = pictures.first_look(row, "map")
    if row is None or isinstance(look, str):
        return look
    accuracy = summarize(markdown.accuracies(row))
    rank = summarize(spread("effective_rank")(row))
    below = f"accuracy {markdown.spread(accuracy, 1)} %\neffective rank {markdown.spread(rank, 1)}"
    return Map(look["x"], look["y"], look["class"], below)
