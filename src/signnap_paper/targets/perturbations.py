"""The paper's table of perturbations: which change of the graph teaches SIGNNAP most?"""

from __future__ import annotations

from typing import Any

from .. import markdown
from ..cells import Cell
from ..paper import GRAPHS, OURS, cell, reported
from ..results import Results

#: The paper multiplies noise by this (spec §2.7, item 13).
_SCALE = 0.01
_NOISE = {kind: f"{kind.lower()}:{_SCALE}" for kind in ("Gaussian", "Laplace", "Uniform")}
#: The rows of the paper's table, as changes to SIGNNAP(GCN).
ROWS: dict[str, dict[str, Any]] = {
    "DropEdge": {},
    **{kind: {"noise": noise, "drop_edge": 0.0} for kind, noise in _NOISE.items()},
    **{f"DropEdge+{kind}": {"noise": noise} for kind, noise in _NOISE.items()},
}


def cell_of(name: str, graph: str) -> Cell:
    """SIGNNAP(GCN) taught by that perturbation."""
    return cell(OURS, graph, **ROWS[name])


def recipe() -> list[Cell]:
    """All cells, graph by graph."""
    return [cell_of(name, graph) for graph in GRAPHS for name in ROWS]


def page(results: Results, seeds: int) -> str:
    """Mean and standard deviation over encoder seeds in Markdown, with the paper's single number below each."""
    lines = []
    for name in ROWS:
        rows = [results.find(cell_of(name, graph), seeds) for graph in GRAPHS]
        lines.append([name, *(markdown.shown(row, seeds) for row in rows)])
        lines.append(["the paper", *(f"{reported()['perturbations'][name][graph]:.2f}" for graph in GRAPHS)])
    head = f"{OURS}, test accuracy in % on the paper's splits, mean ± deviation over {seeds} encoder seeds.\n\n"
    return head + markdown.table(["perturbation", *GRAPHS], lines)
