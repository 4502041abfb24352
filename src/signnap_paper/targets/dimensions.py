"""The paper's figure of latent dimensions: accuracy of four methods on three graphs, narrow and wide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import markdown, pictures
from ..cells import Cell
from ..paper import COMPARED, ROWS, cell
from ..report.bars import Bars, bars
from ..results import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GRAPHS = ("pubmed", "facebook", "coauthor_cs")
DIMENSIONS = (32, 64, 128, 256, 512)


def cell_of(name: str, graph: str, dim: int) -> Cell:
    """A method whose layers are so wide; where the paper's own are, its own cell."""
    own = {"dgi": 512}.get(ROWS[name][0], 128)
    widths: dict[str, Any] = {"dim": dim, "hidden": dim} if name == "DGI" else {"dim": dim}
    return cell(name, graph, **({} if dim == own else widths))


def recipe() -> list[Cell]:
    """All bars, graph by graph."""
    return [cell_of(name, graph, dim) for graph in GRAPHS for name in COMPARED for dim in DIMENSIONS]


def page(results: Results, seeds: int) -> str:
    """One table for each graph in Markdown."""
    pages = []
    for graph in GRAPHS:
        lines = []
        for name in COMPARED:
            rows = [results.find(cell_of(name, graph, dim), seeds) for dim in DIMENSIONS]
            lines.append([name, *(markdown.shown(row, seeds) for row in rows)])
        pages.append(markdown.table([graph, *map(str, DIMENSIONS)], lines))
    return f"Test accuracy in %, mean ± deviation over {seeds} encoder seeds.\n\n" + "\n".join(pages)


def figure(results: Results, seeds: int) -> Figure:
    """A panel for each graph: the methods side by side for every dimension."""
    panels = []
    known: dict[tuple[str, str], pictures.Row] = {}
    for graph in GRAPHS:
        rows = {(name, dim): results.find(cell_of(name, graph, dim), seeds) for name in COMPARED for dim in DIMENSIONS}
        known |= {(graph, f"{name} {dim}"): row for (name, dim), row in rows.items()}
        heights: dict[str, dict[str, tuple[float, float]]] = {name: {} for name in COMPARED}
        for (name, dim), row in rows.items():
            if (found := markdown.over_encoders(row)) is not None:
                heights[name][str(dim)] = found.mean, pictures.deviation(found)
        panels.append(Bars(graph, heights, pictures.absent(rows.values())))
    words = {"x_label": "latent dimension", "y_label": "test accuracy, %"}
    groups = [str(dim) for dim in DIMENSIONS]
    return bars(panels, groups, pictures.note(known, seeds), **words, styles=pictures.STYLES)
