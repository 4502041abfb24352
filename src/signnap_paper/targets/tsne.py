"""The paper's maps of coauthor_cs: do classes stand apart in the plane, and in the embeddings themselves?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from signnap.evaluate import summarize

from .. import markdown, pictures
from ..cells import Cell
from ..paper import OURS, cell, reported, reported_as
from ..report.maps import Map, maps
from ..results import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GRAPH = "coauthor_cs"
METHODS = ("Raw", "DGI", "GCC, with features", OURS)


def cell_of(name: str) -> Cell:
    """A method with its map and silhouette."""
    looks = ("map", "silhouette")
    if name == "Raw":
        return Cell("raw", GRAPH, probe="linear-plain", looks=looks)
    return replace(cell(name, GRAPH), looks=looks)


def recipe() -> list[Cell]:
    """All panels."""
    return [cell_of(name) for name in METHODS]


def silhouettes(row: dict[str, Any]) -> list[float]:
    """That of every encoder seed."""
    return row["looks"]["silhouette"]


def page(results: Results, seeds: int) -> str:
    """Silhouettes in Markdown, beside the paper's."""
    lines = []
    for name in METHODS:
        row = results.find(cell_of(name), seeds)
        ours = markdown.shown(row, seeds, silhouettes, digits=4)
        lines.append([name, ours, f"{reported()['silhouette'][reported_as(name)]:.4f}"])
    head = f"{GRAPH}, the first ten classes: silhouette of the embeddings, over {seeds} encoder seeds.\n\n"
    return head + markdown.table(["method", "ours", "the paper"], lines)


def figure(results: Results, seeds: int) -> Figure:
    """The maps side by side, each with its silhouette."""
    rows = {name: results.find(cell_of(name), seeds) for name in METHODS}
    note = pictures.note({(name, ""): row for name, row in rows.items()}, seeds)
    return maps({"": [_panel(row) for row in rows.values()]}, METHODS, note, side=2.1)


def _panel(row: pictures.Row) -> Map | str:
    look = pictures.first_look(row, "map")
    if row is None or isinstance(look, str):
        return look
    silhouette = markdown.spread(summarize(silhouettes(row)), 3)
    return Map(look["x"], look["y"], look["class"], f"silhouette {silhouette}")
