"""What the two figures about depth have in common: four methods, five depths, and tables of what was measured."""

from __future__ import annotations

from collections.abc import Callable

from .. import markdown
from ..cells import Cell
from ..paper import COMPARED
from ..results import Results

DEPTHS = (2, 4, 6, 8, 10)


def tables(
    results: Results, seeds: int, cell_of: Callable[[str, int], Cell], looks: dict[str, markdown.Measure]
) -> str:
    """One table for accuracy and for each of the looks: methods down, layers across."""
    pages = []
    for title, measure in {"test accuracy, %": markdown.accuracies, **looks}.items():
        lines = []
        for name in COMPARED:
            rows = [results.find(cell_of(name, depth), seeds) for depth in DEPTHS]
            lines.append([name, *(markdown.shown(row, seeds, measure) for row in rows)])
        pages.append(markdown.table([title, *(f"{depth} layers" for depth in DEPTHS)], lines))
    return "\n".join(pages)
