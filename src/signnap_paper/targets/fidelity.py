"""Is this the paper's method? Its figure for SIGNNAP beside the range of ours over encoder seeds, by its protocol."""

from __future__ import annotations

from functools import reduce
from math import isnan, nan
from statistics import fmean, stdev
from typing import Any, NamedTuple

import numpy as np

from signnap.evaluate import plus_minus

from .. import markdown
from ..cells import Cell
from ..paper import GRAPHS, ROWS, cell, explained, reported
from ..results import Results

NAMES = [name for name in ROWS if name.startswith("SIGNNAP")]
#: In so many cells the paper's figure was to lie within the range of our encoder seeds: nine tenths of 30.
BAR = 27
COLUMNS = ["method", "graph", "the paper", "lowest", "mean", "best", "seeds", "the paper lies", "distance"]
_ABOUT = """
If the paper's encoder were one more seed of ours, it would be the best or the worst of s + 1 with probability
2/(s + 1): with these seeds {expected:.1f} figures would lie inside on average, and {bar} or more with probability
{chance:.2f}. Of those outside, {above} lie above and {below} below; the ± of {reaching}, which is over the paper's
classifiers, reaches into our range. *Distance* is that of the paper's figure from our mean, in units of the deviation
that one more seed would have from it: {least:+.2f} to {most:+.2f}, {mean:+.2f} on average.
{level}

What more encoders of the cells outside change is in `table-seeds`, in `table-start` together with all others; how far a
rounding moves an encoder of one seed is in `table-rounding`.
"""


class Compared(NamedTuple):
    """The paper's figure, the accuracies of our encoders, and the deviation that the paper gives."""

    figure: float
    encoders: list[float]
    deviation: float = 0.0

    @property
    def place(self) -> str:
        """Where the figure lies beside the encoders."""
        least, most = min(self.encoders), max(self.encoders)
        if least <= self.figure <= most:
            return "inside"
        return f"{self.figure - most:.2f} above" if self.figure > most else f"{least - self.figure:.2f} below"

    @property
    def reaches(self) -> bool:
        """Whether a figure that lies outside is within its deviation of the range."""
        least, most = min(self.encoders), max(self.encoders)
        return self.place != "inside" and least - self.deviation <= self.figure <= most + self.deviation

    @property
    def distance(self) -> float:
        """How far the figure is from the mean of the encoders, in deviations of one more encoder from it.

        Not a number where these have no deviation, as one alone.
        """
        count = len(self.encoders)
        spread = stdev(self.encoders) * (1 + 1 / count) ** 0.5 if count > 1 else 0
        return (self.figure - fmean(self.encoders)) / spread if spread else nan

    @property
    def below(self) -> float:
        """The share of the encoders that are below the figure; of those that have it, half."""
        return fmean((encoder < self.figure) / 2 + (encoder <= self.figure) / 2 for encoder in self.encoders)

    @property
    def share(self) -> float:
        """The probability that one more encoder would be neither the best nor the worst."""
        return (len(self.encoders) - 1) / (len(self.encoders) + 1)


def recipe() -> list[Cell]:
    """All cells, graph by graph."""
    return [cell(name, graph) for graph in GRAPHS for name in NAMES]


def page(results: Results, seeds: int) -> str:
    """The range of the encoders' accuracies (each the mean of its probes) in Markdown, and how often it holds."""
    lines, found = [], []
    for name in NAMES:
        for graph in GRAPHS:
            line, each = compare(results, name, graph, seeds)
            if each is not None:
                found.append(each)
            outside = each is not None and each.place != "inside"
            lines.append([*line, (explained("fidelity", name, graph) or "not yet") if outside else "–"])
    return f"{_summary(found, len(lines), seeds)}\n\n{markdown.table([*COLUMNS, 'explained'], lines)}"


def compare(results: Results, name: str, graph: str, seeds: int, **changes: Any) -> tuple[list[str], Compared | None]:
    """A line of the table, and the numbers behind it if there are any; with changes to our settings."""
    figure, deviation = reported()["overall"][name][graph]
    start, row = [name, graph, plus_minus(figure, deviation)], results.find(cell(name, graph, **changes), seeds)
    if row is None or "error" in row:
        return [*start, *["–"] * 4, markdown.state(row), "–"], None
    each = Compared(figure, markdown.accuracies(row), deviation)
    numbers = [f"{number:.2f}" for number in (min(each.encoders), fmean(each.encoders), max(each.encoders))]
    distance = "–" if isnan(each.distance) else f"{each.distance:+.2f}"
    encoders = ", ".join([f"{len(each.encoders)}", *markdown.collapses(row)])
    return [*start, *numbers, encoders, each.place, distance], each


def _summary(found: list[Compared], cells: int, seeds: int) -> str:
    """How many figures lie inside, beside how many would if the paper's encoder were one more of ours."""
    places = [each.place for each in found]
    inside, unsettled = settle(found, cells, seeds)
    head = f"The paper's figure lies within the range of our encoder seeds in {inside} of {cells} cells."
    head += f" We had aimed at {BAR} (nine tenths): {state(inside, unsettled)}."
    shares = [each.share for each in found]
    distances = [each.distance for each in found if not isnan(each.distance)]
    if not distances:
        return head
    about = _ABOUT.strip().format(
        expected=sum(shares), bar=BAR, chance=chance(shares, BAR),
        above=sum(place.endswith("above") for place in places), below=sum(place.endswith("below") for place in places),
        reaching=sum(each.reaches for each in found),
        least=min(distances), most=max(distances), mean=fmean(distances), level=level(found),
    )  # fmt: skip
    return f"{head}\n\n{about}"


def level(found: list[Compared]) -> str:
    """Whether the paper's figures are high or low among ours, by the share of encoders below them.

    Of one more encoder among s, each of 0, 1, … s is as likely to be below.
    """
    error = sum((1 + 2 / len(each.encoders)) / 12 for each in found) ** 0.5 / len(found)
    return (
        f"On average {100 * fmean(each.below for each in found):.0f} % of the encoders of a cell are below the paper's "
        f"figure; below one more of them\nit would be 50 %, with a standard error of {100 * error:.0f} %."
    )


def settle(found: list[Compared], cells: int, seeds: int) -> tuple[int, int]:
    """How many figures lie inside, and of how many cells more seeds may tell: they only widen a range."""
    inside = sum(each.place == "inside" for each in found)
    return inside, cells - sum(each.place == "inside" or len(each.encoders) == seeds for each in found)


def chance(shares: list[float], least: int) -> float:
    """The probability that so many of independent events happen at least, each of which has its own."""
    return float(reduce(np.convolve, ([1 - share, share] for share in shares), np.ones(1))[least:].sum())


def state(inside: int, unsettled: int) -> str:
    """Whether so many are enough."""
    if inside >= BAR:
        return "reached"
    return "missed" if inside + unsettled < BAR else f"not known yet, cells that lack encoder seeds: {unsettled}"
