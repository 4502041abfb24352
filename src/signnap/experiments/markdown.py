"""What the pages of results have in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Any

from ..evaluate import Summary, summarize


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def over_encoders(row: dict[str, Any] | None) -> Summary | None:
    """The test accuracy of a cell over its encoder seeds, each the mean of its probes; None if it has none."""
    return None if row is None or "error" in row else summarize([fmean(probes) for probes in row["test"]])


def spread(found: Summary, digits: int = 2) -> str:
    """A mean and its deviation; a single value has none."""
    deviation = f" ± {found.std:.{digits}f}" if len(found.values) > 1 else ""
    return f"{found.mean:.{digits}f}{deviation}"


def shown(found: Summary | None, row: dict[str, Any] | None, seeds: int, digits: int = 2) -> str:
    """A mean, with the number of its encoder seeds where that is not all, or what became of the cell instead."""
    if row is None or found is None:
        return "–" if row is None else "failed"
    few, text = len(row["seeds"]), spread(found, digits)
    return text if few == seeds else f"{text} ({few} seed{'s' if few > 1 else ''})"
