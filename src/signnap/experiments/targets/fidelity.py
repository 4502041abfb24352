"""Is this the paper's method? Its figure for SIGNNAP beside the range of ours over encoder seeds, by its protocol."""

from __future__ import annotations

from functools import reduce
from statistics import fmean

import numpy as np

from .. import markdown
from ..cells import Cell, Results
from ..paper import GRAPHS, ROWS, cell, explained, reported

NAMES = [name for name in ROWS if name.startswith("SIGNNAP")]
#: In so many cells the paper's figure has to lie within the range of our encoder seeds.
BAR = 27
_COLUMNS = ["method", "graph", "the paper", "lowest", "mean", "best", "seeds", "the paper lies", "explained"]


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
    lines, places, sizes = [], [], []
    for name in NAMES:
        for graph in GRAPHS:
            figure = reported()["overall"][name][graph][0]
            row = results.find(cell(name, graph), seeds)
            if row is None or "error" in row:
                state = "not run" if row is None else "failed"
                lines.append([name, graph, f"{figure:.2f}", "–", "–", "–", "–", state, "–"])
                continue
            encoders = markdown.accuracies(row)
            places.append(place(encoders, figure))
            sizes.append(len(encoders))
            numbers = [f"{value:.2f}" for value in (figure, min(encoders), fmean(encoders), max(encoders))]
            why = "–" if places[-1] == "inside" else explained("fidelity", name, graph) or "not yet"
            lines.append([name, graph, *numbers, str(len(encoders)), places[-1], why])
    return f"{_summary(places, sizes, len(lines), seeds)}\n\n{markdown.table(_COLUMNS, lines)}"


def _summary(places: list[str], sizes: list[int], cells: int, seeds: int) -> str:
    """How many figures lie inside, beside how many would if the paper's encoder were one more of ours."""
    inside = places.count("inside")
    settled = sum(where == "inside" or size == seeds for where, size in zip(places, sizes, strict=True))
    shares = [(size - 1) / (size + 1) for size in sizes]
    above, below = (sum(where.endswith(side) for where in places) for side in ("above", "below"))
    return (
        f"The paper's figure lies within the range of our encoder seeds in {inside} of {cells} cells. "
        f"The bar is {BAR}: {_state(inside, cells - settled)}.\n\n"
        "Were the paper's encoder one more seed of ours, it would be the best or the worst of s + 1 with probability "
        f"2/(s + 1): with these seeds {sum(shares):.1f} figures would lie inside on average, and {BAR} or more with "
        f"probability {chance(shares, BAR):.2f}. "
        f"Of those outside, {above} lie above and {below} below."
    )


def chance(shares: list[float], least: int) -> float:
    """The probability that so many of independent events happen at least, each of which has its own."""
    return float(reduce(np.convolve, ([1 - share, share] for share in shares), np.ones(1))[least:].sum())


def _state(inside: int, unsettled: int) -> str:
    """More seeds may bring a figure inside, never outside."""
    if inside >= BAR:
        return "reached"
    return "missed" if inside + unsettled < BAR else f"not known yet, cells that lack encoder seeds: {unsettled}"
