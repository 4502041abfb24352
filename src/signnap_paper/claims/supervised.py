"""How does SIGNNAP stand beside networks that learn from labels?"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..cells import Cell
from ..paper import GRAPHS, ROWS, cell, reported, reported_as
from ..targets import fidelity, overall
from .claim import Claim, Finding, Reading, ranked


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


def _behind(read: Reading) -> Finding:
    ours = _below_labels(_WITHOUT, lambda name: read(cell(name, _INDUCTIVE)))
    known = dict.fromkeys(map(reported_as, _WITHOUT))
    theirs = _below_labels(known, lambda name: reported()["overall"][name][_INDUCTIVE][0])
    return Finding(ours.holds, f"{ours.evidence} The paper: {theirs.evidence}")


def _below_labels(names: Iterable[str], number: Callable[[str], float]) -> Finding:
    """Whether the best that learned without labels is below the best that learned with them."""
    without, labelled = ({name: number(name) for name in each} for each in (names, _labelled()))
    text = f"{ranked(without)}; with labels {min(labelled.values()):.2f} to {max(labelled.values()):.2f}."
    return Finding(max(without.values()) < max(labelled.values()), text)


EXCEEDS = Claim(
    "exceeds supervised models in some cases",
    "On some graph, SIGNNAP exceeds all supervised models.",
    "Node Classification Performance, observation 1", "table-overall", _cells, _check,
)  # fmt: skip
#: Where encoders see the training nodes alone, and whom the paper compares there.
_INDUCTIVE, _WITHOUT = "coauthor_physics", ("DGI", "GCC", "GCC, with features", *fidelity.NAMES)
BEHIND = Claim(
    "behind supervised models where many nodes have labels",
    f"On {_INDUCTIVE}, the best of DGI, GCC and SIGNNAP is below the best network with labels.",
    "Node Classification Performance, observation 2", "table-overall",
    lambda: [cell(name, _INDUCTIVE) for name in (*_WITHOUT, *_labelled())], _behind,
)  # fmt: skip
