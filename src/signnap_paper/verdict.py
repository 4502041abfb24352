"""The paper's claims as values, and one rule that decides each of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from statistics import fmean
from typing import Any, NamedTuple

from signnap.evaluate import summarize

from .cells import Cell
from .results import Results
from .summaries import Measure, accuracies

#: The verdict on every claim of a quick run.
NO_VERDICT = "no verdict: quick run"
RULE = """
The program checks each claim on the means over encoder seeds, and again for each encoder seed, with all methods at that
seed. A claim *holds* if it is true for the means and for more than half of the seeds. It *holds only for some seeds* if
it is true for at least one seed, and *holds only on average* if it is true for the means alone. Otherwise it *does not
hold*. The check uses the seeds that all cells have; if there is none, a claim that is true for the means holds only on
average. A tie does not count as better. A claim is *not known yet* while one of its cells is missing or failed.
"""


@dataclass(frozen=True)
class Reading:
    """Reads one number of a cell: the mean over encoder seeds or, given a ``seed``, the number of one encoder."""

    rows: Mapping[str, dict[str, Any]]
    seed: int | None = None

    def __call__(self, cell: Cell, measure: Measure = accuracies) -> float:
        """Return the number, or NaN for a cell whose training ended in NaN."""
        row = self.rows[cell.key]
        if "error" in row:
            return nan
        values = measure(row)
        return fmean(values) if self.seed is None else values[row["seeds"].index(self.seed)]

    def deviation(self, cell: Cell, measure: Measure = accuracies) -> float:
        """Return the deviation over all encoder seeds."""
        return summarize(measure(self.rows[cell.key])).std


class Finding(NamedTuple):
    """Whether a claim is true for the numbers that were read, the deciding numbers, and all numbers as sentences."""

    holds: bool
    number: str
    evidence: str


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, its place there, and a check of the cells it is about.

    ``target`` makes the cells. ``may_diverge`` is a cell whose training may end in NaN: this counts as an answer.
    """

    name: str
    sentence: str
    where: str
    target: str
    cells: Callable[[], list[Cell]]
    check: Callable[[Reading], Finding]
    may_diverge: Cell | None = None


class Verdict(NamedTuple):
    """The verdict on a claim in words, the deciding numbers, and all numbers as sentences."""

    text: str
    number: str
    evidence: str

    @property
    def kind(self) -> str:
        """Return how the pages group the verdict: holds, in part, not, or unknown."""
        if self.text.startswith(("not known", NO_VERDICT)):
            return "unknown"
        return "holds" if self.text.startswith("holds (") else "in part" if self.text.startswith("holds") else "not"


def decide(claim: Claim, results: Results, seeds: int) -> Verdict:
    """Decide a claim from so many encoder seeds. Rows of a quick run decide nothing."""
    if results.quick:
        return Verdict(NO_VERDICT, "–", "–")
    rows = {cell.key: results.find(cell, seeds) for cell in claim.cells()}
    known = {key: row for key, row in rows.items() if row is not None and _is_answer(key, row, claim)}
    shared = set.intersection(*({*row["seeds"]} for row in known.values())) if known else set()
    if len(known) < len(rows):
        text = f"not known yet: {len(rows) - len(known)} of {len(rows)} cells are missing"
        return Verdict(text, "–", f"`signnap reproduce {claim.target}` computes them.")
    holds, number, evidence = claim.check(Reading(known))
    singles = [claim.check(Reading(known, seed)).holds for seed in sorted(shared)]
    return Verdict(in_words(holds, singles), number, evidence)


def in_words(holds: bool, singles: Sequence[bool]) -> str:
    """Word the verdict, given whether the claim is true for the means and for each encoder seed."""
    true = sum(singles)
    count = f"({true} of {len(singles)} seed{'s' if len(singles) > 1 else ''})" if singles else "(no seed in common)"
    if holds and 2 * true > len(singles):
        return f"holds {count}"
    if true:
        return f"holds only for {'one seed' if true == 1 else 'some seeds'} {count}"
    if holds:
        return f"holds only on average {count}"
    return "does not hold" if singles else f"does not hold {count}"


def _is_answer(key: str, row: dict[str, Any], claim: Claim) -> bool:
    diverges = claim.may_diverge is not None and claim.may_diverge.key == key
    return "error" not in row or (diverges and "NaN or infinity" in row["error"])


def leads(numbers: Mapping[str, float], name: str) -> bool:
    """Whether that number is above all others; a tie is no lead."""
    return all(numbers[name] > number for other, number in numbers.items() if other != name)


def ranked(numbers: Mapping[Any, float], digits: int = 2) -> str:
    """Write names with their numbers, the highest first."""
    order = sorted(numbers, key=lambda name: -numbers[name])
    return ", ".join(f"{name} {numbers[name]:.{digits}f}" for name in order)
