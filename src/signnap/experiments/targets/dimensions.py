"""The paper's figure of latent dimensions: accuracy of four methods on three graphs, narrow and wide."""

from __future__ import annotations

from typing import Any

from .. import markdown
from ..cells import Cell, Results
from ..paper import ROWS, cell

GRAPHS = ("pubmed", "facebook", "coauthor_cs")
METHODS = ("GCN", "DropEdge(GCN)", "DGI", "SIGNNAP(GCN)")
DIMENSIONS = (32, 64, 128, 256, 512)


def cell_of(name: str, graph: str, dim: int) -> Cell:
    """A method whose layers are so wide; where the paper's own are, its own cell."""
    own = {"dgi": 512}.get(ROWS[name][0], 128)
    widths: dict[str, Any] = {"dim": dim, "hidden": dim} if name == "DGI" else {"dim": dim}
    return cell(name, graph, **({} if dim == own else widths))


def recipe() -> list[Cell]:
    """All bars, graph by graph."""
    return [cell_of(name, graph, dim) for graph in GRAPHS for name in METHODS for dim in DIMENSIONS]


def page(results: Results, seeds: int) -> str:
    """One table for each graph in Markdown."""
    pages = []
    for graph in GRAPHS:
        lines = []
        for name in METHODS:
            rows = [results.find(cell_of(name, graph, dim), seeds) for dim in DIMENSIONS]
            lines.append([name, *(markdown.shown(markdown.over_encoders(row), row, seeds) for row in rows)])
        pages.append(markdown.table([graph, *map(str, DIMENSIONS)], lines))
    return f"Test accuracy in %, mean ± deviation over {seeds} encoder seeds.\n\n" + "\n".join(pages)
