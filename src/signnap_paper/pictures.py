"""What the figures of results have in common: from rows to what is drawn, and to words about what is not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from math import nan
from typing import Any

from signnap.evaluate import Summary

from . import markdown
from .paper import OURS
from .report.canvas import Style
from .report.curves import Line

Row = dict[str, Any] | None
#: How a method is drawn in every figure; the two that see labels are both blue.
STYLES = {
    "GCN": Style("#56b4e9", "o"),
    "DropEdge(GCN)": Style("#0072b2", "s"),
    "DGI": Style("#009e73", "^"),
    OURS: Style("#d55e00", "D"),
}


def absent(rows: Iterable[Row]) -> str:
    """Why there is nothing to draw of these rows, in a word or two; empty if there is something."""
    states = [*map(markdown.state, rows)]
    return "" if "" in states else ", ".join(dict.fromkeys(states))


def first_look(row: Row, look: str) -> Any:
    """What was seen in the first encoder seed; words if there is nothing. Some looks are at seed 0 alone."""
    if row is None or "error" in row:
        return markdown.state(row)
    return row["looks"][look][0] or "first seed not run"


def line(rows: Mapping[Any, Row]) -> Line:
    """Accuracies: mean and deviation over encoder seeds, and every seed."""
    found = [markdown.over_encoders(row) or Summary(nan, nan, []) for row in rows.values()]
    return Line(list(rows), [each.mean for each in found], [*map(deviation, found)], [each.values for each in found])


def deviation(found: Summary) -> float:
    """How far a bar of errors reaches; of a single encoder there is none, which is not one of no length."""
    return found.std if len(found.values) > 1 else nan


def note(rows: Mapping[tuple[str, str], Row], seeds: int) -> str:
    """Which rows, by name and point, are not there or lack encoder seeds, in a sentence for each reason."""
    reasons: dict[str, dict[str, list[str]]] = {}
    for (name, point), row in rows.items():
        if reason := markdown.state(row) or _lacking(row, seeds):
            reasons.setdefault(reason, {}).setdefault(name, []).append(point)
    whole = Counter(name for name, _ in rows)
    said = lambda name, points: name if len(points) == whole[name] else f"{name}: {', '.join(points)}"
    sentences = []
    for reason, names in reasons.items():
        everything = sum(map(len, names.values())) == len(rows)
        parts = "all" if everything else "; ".join(said(*each) for each in names.items())
        sentences.append(f"{reason.capitalize()} – {parts}.")
    return " ".join(sentences)


def _lacking(row: Row, seeds: int) -> str:
    known = len(row["seeds"]) if row else 0
    return "" if known == seeds else f"{known} of {seeds} seeds"
