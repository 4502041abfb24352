"""Is this the paper's method? Its figure for SIGNNAP beside the range of ours over encoder seeds, by its protocol."""

from __future__ import annotations

from statistics import fmean

from .. import markdown
from ..cells import Cell, Results
from ..paper import GRAPHS, ROWS, cell, reported

NAMES = [name for name in ROWS if name.startswith("SIGNNAP")]
#: In so many cells the paper's figure has to lie within the range of our encoder seeds.
BAR = 27
_COLUMNS = ["method", "graph", "the paper", "lowest", "mean", "best", "seeds", "the paper lies"]


def recipe() -> list[Cell]:
    """All cells, graph by graph."""
    return [cell(name, graph) for graph in GRAPHS for name in NAMES]


def place(encoders: list[float], figure: float) -> str:
    """Where a figure lies beside the encoders of ours."""
    if min(encoders) <= figure <= max(encoders):
        return "inside"
    gap = figure - max(encoders) if figure > max(encoders) else min(encoders) - figure
    return f"{gap:.2f} {'above' if figure > max(encoders) else 'below'}"


def page(results: Results, seeds: int) -> str:
    """The range of the encoders' accuracies (each the mean of its probes) in Markdown, and how often it holds."""
    lines, inside, settled = [], 0, 0
    for name in NAMES:
        for graph in GRAPHS:
            figure = reported()["overall"][name][graph][0]
            row = results.find(cell(name, graph), seeds)
            if row is None or "error" in row:
                lines.append([name, graph, f"{figure:.2f}", "–", "–", "–", "–", "not run" if row is None else "failed"])
                continue
            encoders = markdown.accuracies(row)
            where = place(encoders, figure)
            inside += where == "inside"
            settled += where == "inside" or len(encoders) == seeds
            numbers = [f"{value:.2f}" for value in (figure, min(encoders), fmean(encoders), max(encoders))]
            lines.append([name, graph, *numbers, str(len(encoders)), where])
    head = f"The paper's figure lies within the range of our encoder seeds in {inside} of {len(lines)} cells."
    return f"{head} The bar is {BAR}: {_state(inside, len(lines) - settled)}.\n\n{markdown.table(_COLUMNS, lines)}"


def _state(inside: int, unsettled: int) -> str:
    """More seeds may bring a figure inside, never outside."""
    if inside >= BAR:
        return "reached"
    return "missed" if inside + unsettled < BAR else f"not known yet, cells that lack encoder seeds: {unsettled}"
