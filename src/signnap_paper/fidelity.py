"""Is this the paper's method? The paper's figures for SIGNNAP beside the range of ours over encoder seeds.

``table-fidelity`` has ten encoder seeds in every cell. ``table-seeds`` has more where the paper's figure lies outside
that range: if the paper's encoder were one more seed of ours, nine tenths of its figures would lie among nineteen
seeds, not among ten. More seeds only widen a range, so the cells whose figure lies inside need none.
"""

from __future__ import annotations

from functools import reduce
from math import isnan, nan
from statistics import fmean, stdev
from typing import Any, NamedTuple

import numpy as np

from signnap.evaluate import plus_minus

from . import summaries
from .cells import Cell
from .paper import GRAPHS, SIGNNAP_ROWS, cell, explained, reported
from .results import Results
from .targets import Target

#: The aim: in so many cells the paper's figure lies within the range of our encoder seeds (nine tenths of 30).
BAR = 27
COLUMNS = ["method", "graph", "the paper", "lowest", "mean", "best", "seeds", "the paper lies", "distance"]
#: Method and graph of every cell whose figure was found outside the range of ten of our encoders.
OUTSIDE = [
    ("SIGNNAP(GCN)", "pubmed"),
    ("SIGNNAP(GraphSage)", "pubmed"),
    ("SIGNNAP(ResGCN)", "pubmed"),
    ("SIGNNAP(JKNet)", "pubmed"),
    ("SIGNNAP(GraphSage)", "amazon_photo"),
    ("SIGNNAP(GAT)", "amazon_computers"),
    ("SIGNNAP(ResGCN)", "amazon_computers"),
    ("SIGNNAP(GAT)", "coauthor_cs"),
    ("SIGNNAP(GCN)", "coauthor_cs"),
]
#: Those of them whose figure lies inside the range of twenty encoders: they have no more than twenty.
AMONG_TWENTY = [
    ("SIGNNAP(ResGCN)", "pubmed"),
    ("SIGNNAP(GraphSage)", "amazon_photo"),
    ("SIGNNAP(GAT)", "amazon_computers"),
]
_FIDELITY_HEAD = """
If the paper's encoder were one more seed of ours, it would be the best or the worst of s + 1 encoders with probability
2/(s + 1). With these numbers of seeds, {expected:.1f} figures would lie inside on average, and {bar} or more with
probability {chance:.2f}. Of the figures outside, {above} lie above and {below} below. For {reaching} of them the
paper's ±, which is over its classifiers, overlaps our range. *Distance* is the paper's figure minus our mean, in units
of the standard deviation that one more seed would have from this mean: {least:+.2f} to {most:+.2f}, {mean:+.2f} on
average. {level}

[table-seeds](table-seeds.md) adds encoder seeds in the cells outside. [table-start](table-start.md) adds encoders with
the authors' first weights. [table-rounding](table-rounding.md) measures how much a rounding changes an encoder.
"""
_SEEDS_HEAD = """
Where the paper's figure lies outside the range of the ten encoder seeds of [table-fidelity](table-fidelity.md), more
seeds are trained: 20 in all, and {seeds} where the figure lies outside the range of 20 as well. Each step followed a
look at the results so far. More seeds can only widen a range, so with {seeds} in every cell {inside} of {cells} figures
would lie inside. The aim was {bar} with ten seeds. With {seeds}: {state}. Of the figures outside, {above} lie above and
{below} below. If the paper's encoder were one more seed of ours, {expected:.1f} would lie inside on average, and {bar}
or more with probability {chance:.2f}.
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
        """How far the figure is from the mean of the encoders, in deviations of one more encoder from that mean.

        NaN where the encoders have no deviation, as a single one has none.
        """
        count = len(self.encoders)
        spread = stdev(self.encoders) * (1 + 1 / count) ** 0.5 if count > 1 else 0
        return (self.figure - fmean(self.encoders)) / spread if spread else nan

    @property
    def below(self) -> float:
        """The share of the encoders below the figure; an encoder that equals it counts half."""
        return fmean((encoder < self.figure) / 2 + (encoder <= self.figure) / 2 for encoder in self.encoders)

    @property
    def share(self) -> float:
        """The probability that one more encoder would be neither the best nor the worst."""
        return (len(self.encoders) - 1) / (len(self.encoders) + 1)


def compare(results: Results, name: str, graph: str, seeds: int, **changes: Any) -> tuple[list[str], Compared | None]:
    """Return a line of the table and, if the cell has a result, the numbers behind it.

    ``changes`` are changes to our settings.
    """
    figure, deviation = reported()["overall"][name][graph]
    start, row = [name, graph, plus_minus(figure, deviation)], results.find(cell(name, graph, **changes), seeds)
    if row is None or "error" in row:
        return [*start, *["–"] * 4, summaries.state(row), "–"], None
    each = Compared(figure, summaries.accuracies(row), deviation)
    numbers = [f"{number:.2f}" for number in (min(each.encoders), fmean(each.encoders), max(each.encoders))]
    distance = "–" if isnan(each.distance) else f"{each.distance:+.2f}"
    encoders = ", ".join([f"{len(each.encoders)}", *summaries.collapses(row)])
    return [*start, *numbers, encoders, each.place, distance], each


def compared_cells(results: Results, seeds: int) -> tuple[list[Compared], int]:
    """Return the cells of SIGNNAP that have a result beside the paper's figure, and the number of all cells."""
    cells = [(name, graph) for name in SIGNNAP_ROWS for graph in GRAPHS]
    return [each for key in cells if (each := compare(results, *key, seeds)[1]) is not None], len(cells)


def level(found: list[Compared]) -> str:
    """Say whether the paper's figures are high or low among ours, by the share of encoders below them.

    Of s + 1 encoders, each is as likely as any other to have 0, 1, …, s others below it.
    """
    error = sum((1 + 2 / len(each.encoders)) / 12 for each in found) ** 0.5 / len(found)
    return (
        f"On average {100 * fmean(each.below for each in found):.0f} % of the encoders of a cell are below the paper's "
        f"figure. For one more\nencoder of ours, we expect 50 %, with a standard error of {100 * error:.0f} %."
    )


def settle(found: list[Compared], cells: int, seeds: int) -> tuple[int, int]:
    """Count the figures that lie inside, and the cells where more seeds may still change the answer."""
    inside = sum(each.place == "inside" for each in found)
    return inside, cells - sum(each.place == "inside" or len(each.encoders) == seeds for each in found)


def chance(shares: list[float], least: int) -> float:
    """Return the probability that at least so many of independent events happen, given the probability of each."""
    return float(reduce(np.convolve, ([1 - share, share] for share in shares), np.ones(1))[least:].sum())


def _state(inside: int, unsettled: int) -> str:
    """Say whether so many are enough."""
    if inside >= BAR:
        return "reached"
    return "missed" if inside + unsettled < BAR else f"not known yet, cells that lack encoder seeds: {unsettled}"


# -- table-fidelity ----------------------------------------------------------------------------------------------------


def _fidelity_cells() -> list[Cell]:
    return [cell(name, graph) for graph in GRAPHS for name in SIGNNAP_ROWS]


def _fidelity_page(results: Results, seeds: int) -> str:
    """Show the range of the encoders' accuracies (each the mean of its probes) and how often it holds the figure."""
    lines, found = [], []
    for name in SIGNNAP_ROWS:
        for graph in GRAPHS:
            line, each = compare(results, name, graph, seeds)
            if each is not None:
                found.append(each)
            outside = each is not None and each.place != "inside"
            lines.append([*line, (explained("fidelity", name, graph) or "not yet") if outside else "–"])
    head = "" if results.quick else f"{_summary(found, len(lines), seeds)}\n\n"
    return head + summaries.table([*COLUMNS, "explained"], lines)


def _summary(found: list[Compared], cells: int, seeds: int) -> str:
    """Say how many figures lie inside, beside how many would if the paper's encoder were one more of ours."""
    places = [each.place for each in found]
    inside, unsettled = settle(found, cells, seeds)
    head = f"The paper's figure lies within the range of our encoder seeds in {inside} of {cells} cells."
    head += f" The aim was {BAR} (nine tenths): {_state(inside, unsettled)}."
    shares = [each.share for each in found]
    distances = [each.distance for each in found if not isnan(each.distance)]
    if not distances:
        return head
    about = _FIDELITY_HEAD.strip().format(
        expected=sum(shares), bar=BAR, chance=chance(shares, BAR),
        above=sum(place.endswith("above") for place in places), below=sum(place.endswith("below") for place in places),
        reaching=sum(each.reaches for each in found),
        least=min(distances), most=max(distances), mean=fmean(distances), level=level(found),
    )  # fmt: skip
    return f"{head}\n\n{about}"


FIDELITY = Target(
    _fidelity_cells,
    _fidelity_page,
    seeds=10,
    title="The paper's figures for SIGNNAP and the range of ten encoder seeds",
)

# -- table-seeds -------------------------------------------------------------------------------------------------------


def _more_seeds_cells() -> list[Cell]:
    """Return the cells whose figure was found outside the range of twenty encoders."""
    return [cell(*each) for each in OUTSIDE if each not in AMONG_TWENTY]


def _more_seeds_page(results: Results, seeds: int) -> str:
    """Show the cells with more seeds, and how many figures of all cells lie inside."""
    found, cells = compared_cells(results, seeds)
    share = Compared(0.0, [0.0] * seeds).share
    inside, unsettled = settle(found, cells, seeds)
    places = [each.place for each in found]
    head = _SEEDS_HEAD.strip().format(
        seeds=seeds, inside=f"at least {inside}" if unsettled else inside, cells=cells, bar=BAR,
        state=_state(inside, unsettled), expected=share * cells, chance=chance([share] * cells, BAR),
        above=sum(place.endswith("above") for place in places), below=sum(place.endswith("below") for place in places),
    )  # fmt: skip
    lines = [compare(results, name, graph, seeds)[0] for name, graph in OUTSIDE]
    return ("" if results.quick else f"{head}\n\n") + summaries.table(COLUMNS, lines)


MORE_SEEDS = Target(
    _more_seeds_cells,
    _more_seeds_page,
    seeds=30,
    title="The paper's figures for SIGNNAP and the range of up to thirty encoder seeds",
)
