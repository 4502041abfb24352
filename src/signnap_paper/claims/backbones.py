"""Is one backbone of SIGNNAP better than another wherever it is tried?"""

from __future__ import annotations

from collections.abc import Callable

from ..paper import GRAPHS, OURS, cell, reported
from .claim import Claim, Finding, Reading

_OTHER = "SIGNNAP(GraphSage)"


def _gains(number: Callable[[str, str], float]) -> dict[str, float]:
    """By how much GraphSAGE is the better backbone on each graph."""
    return {graph: number(_OTHER, graph) - number(OURS, graph) for graph in GRAPHS}


def _check(read: Reading) -> Finding:
    ours = _gains(lambda name, graph: read(cell(name, graph)))
    theirs = _gains(lambda name, graph: reported()["overall"][name][graph][0])
    found, paper = (", ".join(f"{graph} {gain:+.2f}" for graph, gain in each.items()) for each in (ours, theirs))
    text = f"GraphSage less GCN: {found}. The paper: {paper}."
    return Finding(max(ours.values()) > 0 >= min(ours.values()), text)


CLAIM = Claim(
    "the better backbone depends on the graph",
    f"{_OTHER} is more accurate than SIGNNAP(GCN) on some graphs, and not on others.",
    "Node Classification Performance, observation 3", "table-overall",
    lambda: [cell(name, graph) for name in (OURS, _OTHER) for graph in GRAPHS], _check,
)  # fmt: skip
