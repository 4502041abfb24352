"""One rule for all claims: true of the means, and of how many single encoder seeds?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..results import Results
from .claim import Claim, Reading

RULE = """
Each claim is checked on means over encoder seeds, and again for every single encoder seed, with all methods at that
seed. It *holds* if it is true of the means and of more than half of the seeds. It *holds only for some seeds*, or
for one, if it is true of these, *holds only on average* if it is true of the means alone, and else *does not hold*.
Only seeds that all cells have are checked; where there is none, a claim that is true of the means holds only on
average. Ties do not count as better. While a cell that it needs is missing or failed, nothing is known.

Claims read up to {seeds} encoder seeds of a cell; a section of this page shows as many as the table above says. So the
mean of one cell may differ between a claim, *Fidelity* and the table of its figure.
"""


class Verdict(NamedTuple):
    """What became of a claim, in words, and why."""

    text: str
    evidence: str


def judge(claim: Claim, results: Results, seeds: int) -> Verdict:
    """The verdict on a claim from so many encoder seeds."""
    rows = {cell.key: results.find(cell, seeds) for cell in claim.cells()}
    known = {key: row for key, row in rows.items() if row is not None and _is_answer(key, row, claim)}
    shared = set.intersection(*({*row["seeds"]} for row in known.values())) if known else set()
    if len(known) < len(rows):
        text = f"not known yet: {len(rows) - len(known)} of {len(rows)} cells are missing"
        return Verdict(text, f"`signnap reproduce {claim.target}` fills them in.")
    holds, evidence = claim.check(Reading(known))
    singles = [claim.check(Reading(known, seed)).holds for seed in sorted(shared)]
    return Verdict(worded(holds, singles), evidence)


def worded(holds: bool, singles: Sequence[bool]) -> str:
    """The verdict from what is true of the means and of each encoder seed."""
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
