"""The paper's encoders all began with the same weights: with these, do ours become like them?

The authors' code has one encoder seed (spec §2.5), and what it draws first is the same on any machine. What it draws
later is not, dropout on a GPU above all; here that is what encoder seeds vary.
"""

from __future__ import annotations

from math import exp, log
from statistics import correlation, fmean, stdev, variance
from typing import Any, NamedTuple

from signnap.data.public import DATASETS

from .. import markdown
from ..cells import Cell
from ..paper import GRAPHS, cell, reported
from ..results import Results
from .fidelity import COLUMNS, NAMES, Compared, compare, level

#: More encoder seeds than any cell has: all that there are.
_ALL = 1000
_ABOUT = """
The authors' commands all have one seed, so every encoder of the paper presumably began with the weights that their
code draws with it. These did (`init=authors:C` for a graph with C classes); our seeds vary all that is drawn later.
*Others* are all encoders of `table-fidelity` and `table-seeds`, which began with weights of their own, and were looked
at before these.
"""
_INSIDE = """
Among those that began with the authors' weights lie the figures of {inside} of {known} cells{in_all};
{expected:.1f} would on average, if the paper's encoder were one more of them (see *Fidelity*).
{level}
"""
_TOGETHER = """
Both kinds together: among the first {few} encoders of every cell lie {inside} of {cells} figures; {expected:.1f} would
on average, if the paper's encoder were one more of ours. Among all that there are lie {all_inside}. Cells whose figure
was found outside have up to {most}, and more only widen a range: with {most} in every cell at least as many would lie
inside, and {all_expected:.1f} would on average.
"""
_MATTERS = """
Do first weights matter? Encoders that share them have {share:.2f} times the variance of as many others ({least:.2f} to
{most:.2f} within one standard error; the geometric mean over {cells} cells). Are those of the authors good, and where
the paper is high? Encoders that began with them are {gain:+.2f} ± {ours:.2f} points above the mean of the others on
average over cells, the paper is {lead:+.2f} ± {theirs:.2f} above it (± one standard error), and the correlation of the
two is {correlation:+.2f}.
"""


class Line(NamedTuple):
    """What the paper has, and our encoders that began as its own did beside those that did not."""

    alike: Compared
    others: Compared


def changes(graph: str) -> dict[str, Any]:
    """What makes an encoder begin as the authors' code does on this graph."""
    return {"init": f"authors:{DATASETS[graph].classes}"}


def recipe() -> list[Cell]:
    """All cells, graph by graph."""
    return [cell(name, graph, **changes(graph)) for graph in GRAPHS for name in NAMES]


def page(results: Results, seeds: int) -> str:
    """The range of the encoders that began like the authors' in Markdown, and how often the figure lies there."""
    lines, found, known, pooled = [], [], [], []
    for name in NAMES:
        for graph in GRAPHS:
            line, alike = compare(results, name, graph, seeds, **changes(graph))
            _, others = compare(results, name, graph, _ALL)
            mean, place = ("–", "–") if others is None else (f"{fmean(others.encoders):.2f}", others.place)
            lines.append([*line, mean, place])
            found += [] if alike is None else [alike]
            known += [] if alike is None or others is None else [Line(alike, others)]
            encoders = [encoder for each in (alike, others) if each is not None for encoder in each.encoders]
            pooled.append(Compared(reported()["overall"][name][graph][0], encoders))
    paragraphs = [_ABOUT, _inside(found, len(lines)), _together(pooled), _matters(known)]
    paragraphs.append(markdown.table([*COLUMNS, "mean of others", "among others"], lines))
    return "\n\n".join(text.strip() for text in paragraphs if text) + "\n"


def _inside(found: list[Compared], cells: int) -> str:
    """How many figures lie among the encoders that began like the authors'."""
    return _INSIDE.format(
        inside=sum(each.place == "inside" for each in found), known=len(found),
        in_all=f" ({cells} in all)" if len(found) < cells else "",
        expected=sum(each.share for each in found), level=level(found) if found else "",
    )  # fmt: skip


def _together(pooled: list[Compared]) -> str:
    """How many figures lie among as many encoders of every cell, and among all; nothing while a cell has none."""
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
    """How much encoders that begin alike have in common with each other and with the paper's; nothing of too few."""
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
