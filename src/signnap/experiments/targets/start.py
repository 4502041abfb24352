"""The paper's encoders all began with the same weights: with these, do ours become like them?

The authors' code has one encoder seed (spec §2.5), and what it draws first is the same on any machine. What it draws
later is not, dropout on a GPU above all; here that is what encoder seeds vary.
"""

from __future__ import annotations

from math import exp, log
from statistics import correlation, fmean, stdev, variance
from typing import Any, NamedTuple

from ...data.catalog import DATASETS
from .. import markdown
from ..cells import Cell
from ..paper import GRAPHS, cell, reported
from ..results import Results
from .fidelity import COLUMNS, NAMES, Compared, compare, summary

#: More encoder seeds than any cell has: all that there are.
_ALL = 1000
_ABOUT = """
Every encoder of the paper began with the weights that its authors' code draws with its one seed. So did these
(`init=authors:C` for a graph with C classes); our seeds vary all that is drawn later.

{summary}

*Others* are all encoders of `table-fidelity` and `table-seeds`, which began with weights of their own. Together with
them, {together} of {cells} figures lie inside. {matters}
"""
_MATTERS = """
Do first weights matter? Encoders that share them have {share:.2f} times the variance of as many others ({least:.2f} to
{most:.2f} within one standard error; the geometric mean over {cells} cells). Are those of the authors good where the
paper is high? What encoders that began with them exceed others by, on average in a cell, and what the paper does have a
correlation of {correlation:+.2f}.
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
    lines, found, together, known = [], [], 0, []
    for name in NAMES:
        for graph in GRAPHS:
            line, alike = compare(results, name, graph, seeds, **changes(graph))
            _, others = compare(results, name, graph, _ALL)
            mean, place = ("–", "–") if others is None else (f"{fmean(others.encoders):.2f}", others.place)
            lines.append([*line, mean, place])
            found += [] if alike is None else [alike]
            known += [] if alike is None or others is None else [Line(alike, others)]
            pooled = [encoder for each in (alike, others) if each is not None for encoder in each.encoders]
            together += bool(pooled) and Compared(reported()["overall"][name][graph][0], pooled).place == "inside"
    head = _ABOUT.strip().format(
        summary=summary(found, len(lines), seeds), together=together, cells=len(lines), matters=_matters(known)
    )
    return f"{head.strip()}\n\n{markdown.table([*COLUMNS, 'mean of others', 'among others'], lines)}"


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
    return _MATTERS.strip().format(
        share=exp(middle), least=exp(middle - error), most=exp(middle + error), cells=len(logs),
        correlation=correlation(ours, theirs),
    )  # fmt: skip
