"""How much do an encoder's first weights matter, and how far does a rounding of them move it?

``table-start``: the authors' code has one encoder seed, and what it draws first is the same on any machine. What it
draws later is not, dropout on a GPU above all; our encoder seeds vary that here. Do our encoders become like the
paper's if they begin with the same weights?

``table-rounding``: training takes thousands of iterations, which amplify small differences. Another device, or another
order of a sum, begins with such differences. How far apart are encoders of one seed whose first weights differ by a
rounding?
"""

from __future__ import annotations

from collections.abc import Iterable
from math import exp, log
from statistics import correlation, fmean, stdev, variance
from typing import Any, NamedTuple

from signnap.data.public import DATASETS
from signnap.methods.settings import NUDGED

from . import summaries
from .cells import Cell
from .fidelity import COLUMNS, OUTSIDE, Compared, compare, level
from .paper import GRAPHS, SIGNNAP_ROWS, cell, reported
from .results import Results
from .targets import Target

# -- table-start -------------------------------------------------------------------------------------------------------

#: More encoder seeds than any cell has: a request for all of them.
_ALL = 1000
_START_HEAD = """
All commands of the authors have one seed, so all encoders of the paper presumably began with the weights that their
code draws with this seed. The encoders of this table began with these weights too (`init=authors:C` for a graph with C
classes); their seeds change what is drawn later. *Others* are all encoders of [table-fidelity](table-fidelity.md) and
[table-seeds](table-seeds.md). They began with other weights, and their results were known before.
"""
_INSIDE = """
The figures of {inside} of {known} cells{in_all} lie within the range of the encoders with the authors' first weights;
{expected:.1f} are expected if the paper's encoder is one more of them. {level}
"""
_TOGETHER = """
Both kinds together: {inside} of {cells} figures lie within the range of the first {few} encoders of their cell;
{expected:.1f} are expected if the paper's encoder is one more of ours. {all_inside} lie within the range of all
encoders of their cell. Cells whose figure was outside have up to {most} encoders. More encoders can only widen a range:
with {most} in every cell, at least as many figures would lie inside, and {all_expected:.1f} are expected.
"""
_MATTERS = """
Do first weights matter? Encoders with the same first weights have {share:.2f} times the variance of as many others
({least:.2f} to {most:.2f} within one standard error; geometric mean over {cells} cells). Do the authors' first weights
explain where the paper is high? Encoders with these weights are {gain:+.2f} ± {ours:.2f} points above the mean of the
others on average over cells, and the paper is {lead:+.2f} ± {theirs:.2f} points above it (± one standard error). The
correlation of the two is {correlation:+.2f}.
"""


class Line(NamedTuple):
    """The paper's figure beside our encoders that began with the authors' weights, and beside our others."""

    alike: Compared
    others: Compared


def start_changes(graph: str) -> dict[str, Any]:
    """Return the settings with which an encoder begins as the authors' code does on this graph."""
    return {"init": f"authors:{DATASETS[graph].classes}"}


def _start_cells() -> list[Cell]:
    return [cell(name, graph, **start_changes(graph)) for graph in GRAPHS for name in SIGNNAP_ROWS]


def _start_page(results: Results, seeds: int) -> str:
    """Show the range of the encoders that began like the authors', and how often the figure lies there."""
    lines, found, known = [], [], []
    for name in SIGNNAP_ROWS:
        for graph in GRAPHS:
            line, alike = compare(results, name, graph, seeds, **start_changes(graph))
            _, others = compare(results, name, graph, _ALL)
            mean, place = ("–", "–") if others is None else (f"{fmean(others.encoders):.2f}", others.place)
            lines.append([*line, mean, place])
            found += [] if alike is None else [alike]
            known += [] if alike is None or others is None else [Line(alike, others)]
    paragraphs = [_START_HEAD, _inside(found, len(lines)), _together(all_encoders(results, seeds)), _matters(known)]
    paragraphs.append(summaries.table([*COLUMNS, "mean of others", "among others"], lines))
    return "\n\n".join(text.strip() for text in paragraphs if text) + "\n"


def all_encoders(results: Results, seeds: int) -> list[Compared]:
    """Return every cell of SIGNNAP with all encoders, those that began with the authors' weights first."""
    pooled = []
    for name in SIGNNAP_ROWS:
        for graph in GRAPHS:
            _, alike = compare(results, name, graph, seeds, **start_changes(graph))
            _, others = compare(results, name, graph, _ALL)
            encoders = [encoder for each in (alike, others) if each is not None for encoder in each.encoders]
            pooled.append(Compared(reported()["overall"][name][graph][0], encoders))
    return pooled


def _inside(found: list[Compared], cells: int) -> str:
    """Say how many figures lie among the encoders that began like the authors'."""
    return _INSIDE.format(
        inside=sum(each.place == "inside" for each in found), known=len(found),
        in_all=f" ({cells} in all)" if len(found) < cells else "",
        expected=sum(each.share for each in found), level=level(found) if found else "",
    )  # fmt: skip


def _together(pooled: list[Compared]) -> str:
    """Say how many figures lie among as many encoders of every cell, and among all; empty while a cell has none."""
    if not all(each.encoders for each in pooled):
        return ""
    few, most = (choose(len(each.encoders) for each in pooled) for choose in (min, max))
    first = [Compared(each.figure, each.encoders[:few]) for each in pooled]
    inside, all_inside = (sum(each.place == "inside" for each in group) for group in (first, pooled))
    share = lambda count: len(pooled) * Compared(0.0, [0.0] * count).share
    return _TOGETHER.format(
        few=few, inside=inside, cells=len(pooled), expected=share(few),
        all_inside=all_inside, most=most, all_expected=share(most),
    )  # fmt: skip


def _matters(known: list[Line]) -> str:
    """Compare encoders that begin alike with each other and with the paper's; empty for too few cells."""
    equal = [(line.alike.encoders, line.others.encoders[: len(line.alike.encoders)]) for line in known]
    spreads = [[variance(each) for each in pair] for pair in equal if min(map(len, pair)) > 1]
    logs = [log(alike / others) for alike, others in spreads if alike > 0 and others > 0]
    means = [fmean(line.others.encoders) for line in known]
    ours = [fmean(line.alike.encoders) - mean for line, mean in zip(known, means, strict=True)]
    theirs = [line.alike.figure - mean for line, mean in zip(known, means, strict=True)]
    if len(logs) < 2 or min(len(set(ours)), len(set(theirs))) < 2:
        return ""
    middle, error = fmean(logs), stdev(logs) / len(logs) ** 0.5
    return _MATTERS.format(
        share=exp(middle), least=exp(middle - error), most=exp(middle + error), cells=len(logs),
        gain=fmean(ours), ours=stdev(ours) / len(ours) ** 0.5,
        lead=fmean(theirs), theirs=stdev(theirs) / len(theirs) ** 0.5,
        correlation=correlation(ours, theirs),
    )  # fmt: skip


START = Target(_start_cells, _start_page, title="SIGNNAP trained from the first weights of the authors' code")

# -- table-rounding ----------------------------------------------------------------------------------------------------

_PRECISIONS = ("tf32", "float32")
_ROUNDING_HEAD = """
Each encoder was trained twice with one seed: with its first weights as drawn, and with each of them moved to the next
float32 number (`init={nudged}`), which changes a weight by at most one part in eight million. All other draws are the
same. Test accuracy in % on the paper's splits, mean ± standard deviation over {seeds} encoder seeds.

- *Between seeds* is the standard deviation over the seeds that both ways have.
- *By rounding* is the standard deviation between the two encoders of one seed. It is zero if the seed alone decides the
  result, and as large as *between seeds* if a rounding changes as much as another seed.
- *Furthest apart* is the largest difference between the two encoders of one seed.
"""
_DEVIATIONS = ["between seeds", "by rounding", "furthest apart"]
_ROUNDING_COLUMNS = ["method", "graph", "precision", "as drawn", "nudged", *_DEVIATIONS]


class Pairs(NamedTuple):
    """Accuracies of encoders by seed: with weights as drawn, and with nudged weights."""

    drawn: list[float]
    nudged: list[float]

    @property
    def apart(self) -> list[float]:
        return [second - first for first, second in zip(self.drawn, self.nudged, strict=True)]

    @property
    def seeds(self) -> float:
        """The variance of one encoder's accuracy over seeds: the mean of both kinds."""
        return fmean((variance(self.drawn), variance(self.nudged)))

    @property
    def rounding(self) -> float:
        """The variance of one encoder's accuracy over roundings: half that of a difference, whose mean is zero."""
        return fmean(apart**2 for apart in self.apart) / 2


def _rounding_cells() -> list[Cell]:
    """Return all cells of SIGNNAP as other pages have them; those whose figure is outside also in float32."""
    return [each for place in _places() for each in _both(*place)]


def _places() -> list[tuple[str, str, str]]:
    everywhere = [(name, graph) for name in SIGNNAP_ROWS for graph in GRAPHS]
    return [(*each, "tf32") for each in everywhere] + [(*each, "float32") for each in OUTSIDE]


def _both(name: str, graph: str, precision: str) -> tuple[Cell, Cell]:
    """Return the cells of encoders with weights as drawn, and with nudged weights."""
    return cell(name, graph, precision=precision), cell(name, graph, precision=precision, init=NUDGED)


def _rounding_page(results: Results, seeds: int) -> str:
    """Show the accuracy of both, and the share of rounding in the variance between encoders."""
    lines, found = [], []
    for name, graph, precision in _places():
        rows = [results.find(each, seeds) for each in _both(name, graph, precision)]
        pairs = _paired(*rows)
        shown = ["–"] * 3
        if pairs is not None:
            found.append((name, precision, pairs))
            shown = [f"{pairs.seeds**0.5:.2f}", f"{pairs.rounding**0.5:.2f}", f"{max(map(abs, pairs.apart)):.2f}"]
        lines.append([name, graph, precision, *(summaries.shown(row, seeds) for row in rows), *shown])
    head = _ROUNDING_HEAD.strip().format(nudged=NUDGED, seeds=seeds)
    paragraphs = [head, *_pooled_table(found), summaries.table(_ROUNDING_COLUMNS, lines)]
    return "\n\n".join(paragraphs)


def _paired(drawn: summaries.Row, nudged: summaries.Row) -> Pairs | None:
    """Pair the seeds that both rows have; None if there are fewer than two."""
    if drawn is None or nudged is None or "error" in drawn or "error" in nudged:
        return None
    first, second = (dict(zip(row["seeds"], summaries.accuracies(row), strict=True)) for row in (drawn, nudged))
    common = sorted(first.keys() & second.keys())
    return Pairs([first[seed] for seed in common], [second[seed] for seed in common]) if len(common) > 1 else None


def _pooled_table(found: list[tuple[str, str, Pairs]]) -> Iterable[str]:
    """Yield a table of both variances over the cells of each backbone, and over all cells."""
    if not found:
        return
    lines = []
    for precision in _PRECISIONS:
        for name in (*SIGNNAP_ROWS, "all"):
            chosen = [pairs for one, by, pairs in found if by == precision and name in (one, "all")]
            if chosen:
                lines.append([name, precision, f"{len(chosen)}", *_pooled(chosen)])
    yield "Pooled over cells (roots of mean variances); *share* is the part of the variance that rounding explains:"
    yield summaries.table(["method", "precision", "cells", "between seeds", "by rounding", "share"], lines).strip()


def _pooled(chosen: list[Pairs]) -> list[str]:
    seeds, rounding = fmean(each.seeds for each in chosen), fmean(each.rounding for each in chosen)
    share = f"{100 * rounding / seeds:.0f} %" if seeds else "–"
    return [f"{seeds**0.5:.2f}", f"{rounding**0.5:.2f}", share]


ROUNDING = Target(
    _rounding_cells, _rounding_page, seeds=3, title="How much a rounding of first weights changes accuracy"
)
