"""Does SIGNNAP hold up when layers are stacked? By accuracy on two graphs, and by how many directions nodes keep."""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean

from ..cells import Cell
from ..paper import COMPARED, OURS, reported
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


def _paper() -> str:
    """What the paper's text says of facebook, where its figure has no numbers."""
    few, many = ([reported()["depth"][name][end] for name in (OURS, "others")] for end in (0, 1))
    return f" The paper: SIGNNAP(GCN) from {few[0]} to nearly {many[0]}, the others from {few[1]} to nearly {many[1]}."


def _relieves(read: Reading) -> Finding:
    found = {name: [read(oversmoothing.cell_of(name, depth)) for depth in _DEEPER] for name in _LABELLED}
    steps = "; ".join(f"{name} {', '.join(f'{value:.2f}' for value in values)}" for name, values in found.items())
    means = {name: fmean(values) for name, values in found.items()}
    layers = ", ".join(map(str, _DEEPER))
    return Finding(leads(means, _DROPPED), f"With {layers} layers: {steps}. On average {ranked(means)}.")


_SMOOTHING = "On Preventing Over-smoothing, observation 1"
FACEBOOK = _accuracy(
    "figure-overfitting", overfitting.GRAPH, "On Preventing Over-fitting, observation 1", overfitting.cell_of,
    _paper(),
)  # fmt: skip
PUBMED = _accuracy("figure-oversmoothing", oversmoothing.GRAPH, _SMOOTHING, oversmoothing.cell_of)
RANK = Claim(
    "stays apart with depth",
    f"With {_MANY} layers on {oversmoothing.GRAPH}, embeddings of SIGNNAP(GCN) have a larger effective rank than those "
    "of GCN, DropEdge(GCN) and DGI.",
    _SMOOTHING, "figure-oversmoothing", _deepest, _stays_apart,
)  # fmt: skip
_LABELLED = ("GCN", _DROPPED := "DropEdge(GCN)")
_DEEPER = depths.DEPTHS[1:]
RELIEVES = Claim(
    "DropEdge relieves over-smoothing",
    f"From {min(_DEEPER)} to {_MANY} layers on {oversmoothing.GRAPH}, DropEdge(GCN) beats GCN on average.",
    "On Preventing Over-smoothing, observation 2", "figure-oversmoothing",
    lambda: [oversmoothing.cell_of(name, depth) for name in _LABELLED for depth in _DEEPER], _relieves,
)  # fmt: skip
