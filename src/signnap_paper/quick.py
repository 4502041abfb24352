"""A try of a whole table in minutes on a plain machine: every cell is filled, and no number means anything."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from signnap.methods.registry import method_class

from .cells import Cell

BANNER = (
    "**A quick try: one iteration, narrow layers, few negatives, short probes. It shows that all runs, no more.**\n\n"
)
ITERATIONS = 1
#: By this probe the rows of a try are recognised.
PROBE = "linear-quick"
#: What else is made small, unless a cell says how large it is to be.
_SMALL: dict[str, dict[str, Any]] = {
    "signnap": {"dim": 32, "heads": 2, "negatives": 64},
    **{name: {"dim": 32, "heads": 2} for name in ("supervised", "dropedge")},
    "cmv": {"dim": 32},
    **{name: {"dim": 32, "hidden": 32} for name in ("dgi", "bgrl", "g-bt")},
    **{name: {"dim": 32, "hidden": 32, "projector": 16} for name in ("grace", "gca")},
    **{name: {"walks": 1, "length": 8, "window": 2} for name in ("deepwalk", "node2vec")},
    **{name: {"steps": 16, "size": 8, "positions": 4} for name in ("gcc", "gcc-attributed")},
    "arwmf": {"dim": 8, "window": 1, "passes": 1},
}


def quickened(cell: Cell) -> Cell:
    """The same cell with next to no training, read by a probe that hardly learns."""
    settings = _SMALL.get(cell.method, {}) | cell.settings
    if method_class(cell.method).trains:
        settings |= {"iterations": ITERATIONS}
    probe = PROBE if cell.probe != "none" else "none"
    return replace(cell, settings=settings, probe=probe, probe_seeds=1)
