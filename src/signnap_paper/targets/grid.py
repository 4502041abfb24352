"""Settings where authors give none (spec §6): a small grid, chosen by validation accuracy and kept in the preset."""

from __future__ import annotations

from itertools import product
from typing import Any

from .. import markdown
from ..cells import Cell
from ..paper import cell
from ..results import Results

_RATES = ("drop_edge", "drop_edge_2", "mask_features", "mask_features_2")
#: Row of the paper -> the graphs for which its authors give nothing, how long a try is, and what is tried.
GRIDS: dict[str, tuple[tuple[str, ...], int, list[dict[str, Any]]]] = {
    "GRACE": (("facebook",), 300, [{"lr": lr, "temperature": t} for lr, t in product((1e-3, 1e-2), (0.4, 0.7))]),
    "BGRL": (
        ("pubmed", "facebook"),
        2000,
        [{"lr": lr, **dict.fromkeys(_RATES, rate)} for lr, rate in product((1e-4, 1e-3), (0.1, 0.3, 0.5, 0.7))],
    ),
    "G-BT": (
        ("pubmed", "facebook"),
        1000,
        [{"lr": lr, **dict.fromkeys(_RATES, rate)} for lr, rate in product((1e-4, 1e-3), (0.1, 0.3, 0.5, 0.7))],
    ),
    "GCA": (
        ("pubmed", "facebook"),
        300,
        [{"lr": lr, "temperature": t} for lr, t in product((1e-3, 1e-2), (0.4, 0.7))],
    ),
}


def cell_of(name: str, graph: str, tried: dict[str, Any]) -> Cell:
    """A method with settings of the grid, for as long as a try is."""
    return cell(name, graph, iterations=GRIDS[name][1], **tried)


def recipe() -> list[Cell]:
    """All tries, method by method."""
    return [cell_of(name, g, tried) for name, (graphs, _, grid) in GRIDS.items() for g in graphs for tried in grid]


def best(results: Results, name: str, graph: str, seeds: int) -> dict[str, Any] | None:
    """The settings with the highest mean validation accuracy, once all have been tried."""
    grid = GRIDS[name][2]
    rows = [results.find(cell_of(name, graph, tried), seeds) for tried in grid]
    means = [found.mean for row in rows if (found := markdown.over_encoders(row, markdown.validation)) is not None]
    return grid[means.index(max(means))] if len(means) == len(grid) else None


def page(results: Results, seeds: int) -> str:
    """Every try in Markdown; what was chosen is bold."""
    lines = []
    for name, (graphs, iterations, grid) in GRIDS.items():
        for graph, tried in product(graphs, grid):
            row = results.find(cell_of(name, graph, tried), seeds)
            shown = markdown.shown(row, seeds, markdown.validation)
            chosen = tried == best(results, name, graph, seeds)
            words = ", ".join(f"{setting} {value}" for setting, value in tried.items())
            lines.append([name, graph, f"{iterations:,}", words, f"**{shown}**" if chosen else shown])
    head = f"Validation accuracy in % on the paper's splits, over {seeds} encoder seed{'s' if seeds > 1 else ''}.\n\n"
    return head + markdown.table(["method", "graph", "iterations", "settings", "accuracy"], lines)
