"""A claim of the paper as a value: a sentence, the cells it speaks of, and a check of their numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import nan
from statistics import fmean
from typing import Any, NamedTuple

from signnap.evaluate import summarize

from ..cells import Cell
from ..markdown import Measure, accuracies


@dataclass(frozen=True)
class Reading:
    """Reads one number of a cell: its mean over encoder seeds or, given a ``seed``, that of one encoder."""

    rows: Mapping[str, dict[str, Any]]
    seed: int | None = None

    def __call__(self, cell: Cell, measure: Measure = accuracies) -> float:
        """The number; NaN where training ended in that."""
        row = self.rows[cell.key]
        if "error" in row:
            return nan
        values = measure(row)
        return fmean(values) if self.seed is None else values[row["seeds"].index(self.seed)]

    def deviation(self, cell: Cell, measure: Measure = accuracies) -> float:
        """How much encoder seeds differ, whichever is read."""
        return summarize(measure(self.rows[cell.key])).std


class Finding(NamedTuple):
    """Whether a claim is true of what was read, and the numbers that say so."""

    holds: bool
    evidence: str


@dataclass(frozen=True)
class Claim:
    """What the paper says, where, and how to check it.

    ``target`` makes the cells. ``may_diverge`` is one whose training may end in NaN: that is an answer, not a gap.
    """

    name: str
    sentence: str
    where: str
    target: str
    cells: Callable[[], list[Cell]]
    check: Callable[[Reading], Finding]
    may_diverge: Cell | None = None


def leads(numbers: Mapping[str, float], name: str) -> bool:
    """Whether that number is above all others; a tie is no lead."""
    return all(numbers[name] > number for other, number in numbers.items() if other != name)


def ranked(numbers: Mapping[Any, float], digits: int = 2) -> str:
    """Names with their numbers, the highest first."""
    order = sorted(numbers, key=lambda name: -numbers[name])
    return ", ".join(f"{name} {numbers[name]:.{digits}f}" for name in order)
