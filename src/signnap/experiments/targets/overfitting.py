"""The paper's figure of over-fitting: accuracy on facebook with more layers, and while classifiers learn."""

from __future__ import annotations

from ...methods.registry import method_class
from ..cells import Cell, Results
from ..paper import ROWS, cell
from . import depths

GRAPH = "facebook"


def cell_of(name: str, depth: int) -> Cell:
    """A method with so many layers; with two, as the paper uses it, also how its classifier learns."""
    curves = "training-curves" if method_class(ROWS[name][0]).uses_labels else "probe-curves"
    return cell(name, GRAPH, (curves,) if depth == min(depths.DEPTHS) else (), layers=depth)


def recipe() -> list[Cell]:
    """All cells, method by method."""
    return [cell_of(name, depth) for name in depths.METHODS for depth in depths.DEPTHS]


def page(results: Results, seeds: int) -> str:
    """Accuracy by depth in Markdown."""
    head = f"{GRAPH}, mean ± deviation over {seeds} encoder seeds. The curves are those of the first seed.\n\n"
    return head + depths.tables(results, seeds, cell_of, {})
