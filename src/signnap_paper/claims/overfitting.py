"""Does SIGNNAP fit its training nodes least, and validation nodes best?"""

from __future__ import annotations

from typing import Any

from ..cells import Cell
from ..markdown import Measure
from ..paper import COMPARED, OURS
from ..targets import depths, overfitting
from .claim import Claim, Finding, Reading, leads, ranked


def _cell(name: str) -> Cell:
    return overfitting.cell_of(name, min(depths.DEPTHS))


def _end(part: str) -> Measure:
    """Where a curve ends; networks with labels and probes have curves of different names."""

    def measure(row: dict[str, Any]) -> list[float]:
        (curves,) = row["looks"].values()
        return [curve[part][-1] for curve in curves]

    return measure


def _check(read: Reading) -> Finding:
    train, val = ({name: read(_cell(name), _end(part)) for name in COMPARED} for part in ("train", "val"))
    lowest = leads({name: -value for name, value in train.items()}, OURS)
    text = f"At the end of training: on training nodes {ranked(train)}; on validation nodes "
    return Finding(lowest and leads(val, OURS), f"{text}{ranked(val)}.")


CLAIM = Claim(
    "does not over-fit",
    f"Of four methods on {overfitting.GRAPH}, SIGNNAP(GCN) has the lowest training accuracy but the best validation "
    "accuracy.",
    "On Preventing Over-fitting, observation 2", "figure-overfitting",
    lambda: [_cell(name) for name in COMPARED], _check,
)  # fmt: skip
