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


def shown(found: Summary | None, row: dict[str, Any] | None) -> str:
    """An accuracy, or in its place what became of the cell."""
    return str(found) if found is not None else "–" if row is None else "failed"
