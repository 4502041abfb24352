"""Does a seed decide what an encoder becomes? Encoders of one seed whose first weights differ by a rounding.

Elsewhere an encoder's seed stands for all that is drawn. But training goes on for thousands of iterations, and what it
does to small differences nobody chooses: another device, or another order of a sum, begins with such differences.
"""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean, variance
from typing import Any, NamedTuple

from signnap.methods.settings import NUDGED

from .. import markdown
from ..cells import Cell
from ..paper import GRAPHS, cell
from ..results import Results
from .fidelity import NAMES
from .tried import OUTSIDE

PRECISIONS = ("tf32", "float32")
_ABOUT = """
Every encoder was trained twice with one seed: as it is drawn, and with each of its first weights moved to the next
number that float32 has (`init={nudged}`), which changes it by at most a part in eight million. Everything else that is
drawn is the same. Test accuracy in % on the paper's splits, mean ± deviation over {seeds} encoder seeds. *Between
seeds* is the deviation of those that both ways have, *by rounding* that between the two encoders of one seed, which is
as large if a seed decides nothing that rounding does not, and zero if it decides all.
"""
_COLUMNS = ["method", "graph", "products", "as drawn", "nudged", "between seeds", "by rounding", "furthest apart"]


class Pairs(NamedTuple):
    """Accuracies of encoders by seed, as they are drawn and nudged."""

    drawn: list[float]
    nudged: list[float]

    @property
    def apart(self) -> list[float]:
        return [second - first for first, second in zip(self.drawn, self.nudged, strict=True)]

    @property
    def seeds(self) -> float:
        """The variance of one encoder's accuracy over seeds, by both halves."""
        return fmean((variance(self.drawn), variance(self.nudged)))

    @property
    def rounding(self) -> float:
        """The variance of one encoder's accuracy over roundings: half that of a difference, whose mean is zero."""
        return fmean(apart**2 for apart in self.apart) / 2


def recipe() -> list[Cell]:
    """All cells of SIGNNAP as other pages have them; those whose figure is outside also with products in float32."""
    return [each for place in _places() for each in _both(*place)]


def _places() -> list[tuple[str, str, str]]:
    everywhere = [(name, graph) for name in NAMES for graph in GRAPHS]
    return [(*each, "tf32") for each in everywhere] + [(*each, "float32") for each in OUTSIDE]


def _both(name: str, graph: str, precision: str) -> tuple[Cell, Cell]:
    """Encoders as they are drawn, and nudged."""
    return cell(name, graph, precision=precision), cell(name, graph, precision=precision, init=NUDGED)


def page(results: Results, seeds: int) -> str:
    """Accuracy of both in Markdown, and how much of the variance between encoders rounding makes by itself."""
    lines, found = [], []
    for name, graph, precision in _places():
        rows = [results.find(each, seeds) for each in _both(name, graph, precision)]
        pairs = _paired(*rows)
        shown = ["–"] * 3
        if pairs is not None:
            found.append((name, precision, pairs))
            shown = [f"{pairs.seeds**0.5:.2f}", f"{pairs.rounding**0.5:.2f}", f"{max(map(abs, pairs.apart)):.2f}"]
        lines.append([name, graph, precision, *(markdown.shown(row, seeds) for row in rows), *shown])
    head = _ABOUT.strip().format(nudged=NUDGED, seeds=seeds)
    paragraphs = [head, *_summary(found), markdown.table(_COLUMNS, lines)]
    return "\n\n".join(paragraphs)


def _paired(drawn: dict[str, Any] | None, nudged: dict[str, Any] | None) -> Pairs | None:
    """The seeds that both rows have, if there are at least two."""
    if drawn is None or nudged is None or "error" in drawn or "error" in nudged:
        return None
    first, second = (dict(zip(row["seeds"], markdown.accuracies(row), strict=True)) for row in (drawn, nudged))
    common = sorted(first.keys() & second.keys())
    return Pairs([first[seed] for seed in common], [second[seed] for seed in common]) if len(common) > 1 else None


def _summary(found: list[tuple[str, str, Pairs]]) -> Iterable[str]:
    """Both variances over all cells of a backbone, and over all cells."""
    if not found:
        return
    lines = []
    for precision in PRECISIONS:
        for name in (*NAMES, "all"):
            chosen = [pairs for one, by, pairs in found if by == precision and name in (one, "all")]
            if chosen:
                lines.append([name, precision, f"{len(chosen)}", *_pooled(chosen)])
    yield "Over cells, deviations are roots of mean variances, and *share* is that of rounding in the variance:"
    yield markdown.table(["method", "products", "cells", "between seeds", "by rounding", "share"], lines).strip()


def _pooled(chosen: list[Pairs]) -> list[str]:
    seeds, rounding = fmean(each.seeds for each in chosen), fmean(each.rounding for each in chosen)
    share = f"{100 * rounding / seeds:.0f} %" if seeds else "–"
    return [f"{seeds**0.5:.2f}", f"{rounding**0.5:.2f}", share]
