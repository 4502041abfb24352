"""From rows to what pages and figures show: numbers over encoder seeds, tables in Markdown, and lines to draw."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import nan
from statistics import fmean
from typing import Any

from signnap.evaluate import Summary, plus_minus, summarize

from .paper import OURS
from .plots import Line, Style

#: A row of results, or None where the cell was not run.
Row = dict[str, Any] | None
#: A function from a row to one number per encoder seed.
Measure = Callable[[dict[str, Any]], list[float]]
#: How a method is drawn in every figure; the two that see labels are both blue.
STYLES = {
    "GCN": Style("#56b4e9", "o"),
    "DropEdge(GCN)": Style("#0072b2", "s"),
    "DGI": Style("#009e73", "^"),
    OURS: Style("#d55e00", "D"),
}


def accuracies(row: dict[str, Any]) -> list[float]:
    """Return the test accuracy of every encoder seed: the mean over its probes."""
    return [fmean(probes) for probes in row["test"]]


def validation(row: dict[str, Any]) -> list[float]:
    """Return the validation accuracy of every encoder seed; settings are chosen by this one."""
    return [fmean(probes) for probes in row["val"]]


def over_encoders(row: Row, measure: Measure = accuracies) -> Summary | None:
    """Summarize a measure over the encoder seeds of a row; None if the cell was not run or failed."""
    return None if row is None or "error" in row else summarize(measure(row))


# -- words -------------------------------------------------------------------------------------------------------------


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def spread(found: Summary, digits: int = 2) -> str:
    """Return a mean and its deviation, or the value alone where there is only one."""
    return plus_minus(found.mean, found.std, digits) if len(found.values) > 1 else f"{found.mean:.{digits}f}"


def state(row: Row) -> str:
    """Return why a cell has no number, in a word or two; empty if it has one."""
    if row is None:
        return "not run"
    return "failed" if "error" in row else ""


def shown(row: Row, seeds: int, measure: Measure = accuracies, digits: int = 2) -> str:
    """Return a mean with its deviation, or why the cell has none.

    In brackets: the number of encoder seeds where it is not ``seeds``, and how many encoders collapsed. Collapsed
    encoders are part of the mean.
    """
    found = over_encoders(row, measure)
    if row is None or found is None:
        return "–" if row is None else state(row)
    few, text = len(row["seeds"]), spread(found, digits)
    notes = [] if few == seeds else [f"{few} seed{'s' if few > 1 else ''}"]
    notes += collapses(row)
    return f"{text} ({', '.join(notes)})" if notes else text


def collapses(row: dict[str, Any]) -> list[str]:
    """Return how many encoders of a row collapsed, as a list of one text; empty if none did."""
    return [f"{len(row['collapsed'])} collapsed"] if row.get("collapsed") else []


# -- figures -----------------------------------------------------------------------------------------------------------


def line(rows: Mapping[Any, Row]) -> Line:
    """Return accuracies as a line to draw: mean and deviation over encoder seeds, and the value of every seed."""
    found = [over_encoders(row) or Summary(nan, nan, []) for row in rows.values()]
    return Line(list(rows), [each.mean for each in found], [*map(deviation, found)], [each.values for each in found])


def deviation(found: Summary) -> float:
    """Return the length of an error bar: the deviation, and NaN for a single encoder."""
    return found.std if len(found.values) > 1 else nan


def first_measured(row: Row, name: str) -> Any:
    """Return a measurement of the first encoder seed, or words that say why there is none.

    Some measurements are taken at seed 0 only.
    """
    if row is None or "error" in row:
        return state(row)
    return row["looks"][name][0] or "first seed not run"


def absent(rows: Iterable[Row]) -> str:
    """Return why none of these rows can be drawn, in a word or two; empty if one of them can."""
    states = [*map(state, rows)]
    return "" if "" in states else ", ".join(dict.fromkeys(states))


def note(rows: Mapping[tuple[str, str], Row], seeds: int) -> str:
    """Return a sentence for each reason why rows are missing or lack encoder seeds, with the name and point of each."""
    reasons: dict[str, dict[str, list[str]]] = {}
    for (name, point), row in rows.items():
        if reason := state(row) or _lacking(row, seeds):
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
