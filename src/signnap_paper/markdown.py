"""What the pages of results have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import fmean
from typing import Any

from signnap.evaluate import Summary, plus_minus, summarize

#: One number per encoder seed from a row.
Measure = Callable[[dict[str, Any]], list[float]]


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def accuracies(row: dict[str, Any]) -> list[float]:
    """The test accuracy of every encoder seed, the mean of its probes."""
    return [fmean(probes) for probes in row["test"]]


def validation(row: dict[str, Any]) -> list[float]:
    """The same on validation nodes, by which choices are made."""
    return [fmean(probes) for probes in row["val"]]


def over_encoders(row: dict[str, Any] | None, measure: Measure = accuracies) -> Summary | None:
    """What was measured of a cell, over its encoder seeds; None if there is nothing."""
    return None if row is None or "error" in row else summarize(measure(row))


def spread(found: Summary, digits: int = 2) -> str:
    """A mean and its deviation; a single value has none."""
    return plus_minus(found.mean, found.std, digits) if len(found.values) > 1 else f"{found.mean:.{digits}f}"


def state(row: dict[str, Any] | None) -> str:
    """Why there is no number of a cell, in a word or two; empty if there is one."""
    if row is None:
        return "not run"
    return "failed" if "error" in row else ""


def shown(row: dict[str, Any] | None, seeds: int, measure: Measure = accuracies, digits: int = 2) -> str:
    """A mean, with the number of its encoder seeds where that is not all, or what became of the cell instead.

    Encoders that collapsed are part of the mean, and counted beside it.
    """
    found = over_encoders(row, measure)
    if row is None or found is None:
        return "–" if row is None else state(row)
    few, text = len(row["seeds"]), spread(found, digits)
    notes = [] if few == seeds else [f"{few} seed{'s' if few > 1 else ''}"]
    notes += collapses(row)
    return f"{text} ({', '.join(notes)})" if notes else text


def collapses(row: dict[str, Any]) -> list[str]:
    """How many of its encoders collapsed, in words, if any did."""
    return [f"{len(row['collapsed'])} collapsed"] if row.get("collapsed") else []
