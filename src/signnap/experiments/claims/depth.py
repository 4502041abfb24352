"""Does SIGNNAP hold up when layers are stacked? By accuracy on two graphs, and by how many directions nodes keep."""

from __future__ import annotations

from collections.abc import Callable

from ..cells import Cell
from ..paper import COMPARED, OURS
from ..targets import depths, overfitting, oversmoothing
from .claim import Claim, Finding, Reading, leads, ranked

_FEW, _MANY = min(depths.DEPTHS), max(depths.DEPTHS)
CellOf = Callable[[str, int], Cell]


def _loses_less(read: Reading, cell_of: CellOf, paper: str) -> Finding:
    few = {name: read(cell_of(name, _FEW)) for name in COMPARED}
    many = {name: read(cell_of(name, _MANY)) for name in COMPARED}
    kept = {name: many[name] - few[name] for name in COMPARED}
    steps = ", ".join(f"{name} {few[name]:.2f} to {many[name]:.2f}" for name in reversed(COMPARED))
    return Finding(leads(kept, OURS) and leads(many, OURS), f"{steps}.{paper}")


def _accuracy(target: str, graph: str, where: str, cell_of: CellOf, paper: str = "") -> Claim:
    sentence = f"From {_FEW} to {_MANY} layers SIGNNAP(GCN) loses less accuracy on {graph} than GCN, DropEdge(GCN) and "
    return Claim(
        f"holds up with depth on {graph}",
        f"{sentence}DGI, and with {_MANY} it is the best of them.", where, target,
        lambda: [cell_of(name, depth) for name in COMPARED for depth in (_FEW, _MANY)],
        lambda read: _loses_less(read, cell_of, paper),
    )  # fmt: skip


def _deepest() -> list[Cell]:
    return [oversmoothing.cell_of(name, _MANY) for name in COMPARED]


def _stays_apart(read: Reading) -> Finding:
    rank = oversmoothing.spread("effective_rank")
    found = {name: read(oversmoothing.cell_of(name, _MANY), rank) for name in COMPARED}
    limit = "Of networks with labels it is that of three class scores, so it cannot exceed 3."
    return Finding(leads(found, OURS), f"Effective rank: {ranked(found)}. {limit}")


_SMOOTHING = "On Preventing Over-smoothing, observation 1"
FACEBOOK = _accuracy(
    "figure-overfitting", overfitting.GRAPH, "On Preventing Over-fitting, observation 1", overfitting.cell_of,
    " The paper: SIGNNAP(GCN) from 72 to nearly 60, the others from 67 to nearly 30.",
)  # fmt: skip
PUBMED = _accuracy("figure-oversmoothing", oversmoothing.GRAPH, _SMOOTHING, oversmoothing.cell_of)
RANK = Claim(
    "stays apart with depth",
    f"With {_MANY} layers on {oversmoothing.GRAPH}, embeddings of SIGNNAP(GCN) have a larger effective rank than those "
    "of GCN, DropEdge(GCN) and DGI.",
    _SMOOTHING, "figure-oversmoothing", _deepest, _stays_apart,
)  # fmt: skip
