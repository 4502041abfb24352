"""Does SIGNNAP exceed networks that learn from labels in some cases?"""

from __future__ import annotations

from collections.abc import Callable

from ..cells import Cell
from ..paper import GRAPHS, ROWS, cell, reported
from ..targets import fidelity, overall
from .claim import Claim, Finding, Reading


def _labelled() -> list[str]:
    return [name for name in ROWS if name not in overall.unlabelled()]


def _cells() -> list[Cell]:
    return [cell(name, graph) for name in (*fidelity.NAMES, *_labelled()) for graph in GRAPHS]


def _exceeding(number: Callable[[str, str], float]) -> dict[str, str]:
    """For each graph where SIGNNAP exceeds all networks with labels: by which backbones, and how far."""
    found = {}
    for graph in GRAPHS:
        best = max(number(name, graph) for name in _labelled())
        winners = {name: number(name, graph) for name in fidelity.NAMES if number(name, graph) > best}
        if winners:
            backbones = ", ".join(name.removeprefix("SIGNNAP(").removesuffix(")") for name in winners)
            found[graph] = f"{graph} by {backbones} (best {max(winners.values()):.2f}, with labels {best:.2f})"
    return found


def _check(read: Reading) -> Finding:
    ours = _exceeding(lambda name, graph: read(cell(name, graph)))
    theirs = _exceeding(lambda name, graph: reported()["overall"][name][graph][0])
    text = f"All networks with labels are exceeded on {'; '.join(ours.values()) or 'no graph'}."
    return Finding(bool(ours), f"{text} The paper: on {', '.join(theirs)}.")


CLAIM = Claim(
    "exceeds supervised models in some cases",
    "On some graph, SIGNNAP exceeds all supervised models.",
    "Node Classification Performance, observation 1", "table-overall", _cells, _check,
)  # fmt: skip
