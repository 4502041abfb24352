"""Is DropEdge the perturbation that teaches SIGNNAP most?"""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean

from ..paper import GRAPHS, reported
from ..targets import perturbations
from .claim import Claim, Finding, Reading, leads, ranked

KIND = "DropEdge"


def _best(number: Callable[[str, str], float]) -> Finding:
    """Whether DropEdge leads on average over graphs, and on how many of them."""
    means = {name: fmean(number(name, graph) for graph in GRAPHS) for name in perturbations.ROWS}
    won = [g for g in GRAPHS if leads({name: number(name, g) for name in perturbations.ROWS}, KIND)]
    return Finding(
        leads(means, KIND), f"mean over graphs {ranked(means)}; {KIND} is best on {len(won)} of {len(GRAPHS)}."
    )


def _check(read: Reading) -> Finding:
    ours = _best(lambda name, graph: read(perturbations.cell_of(name, graph)))
    theirs = _best(lambda name, graph: reported()["perturbations"][name][graph])
    return Finding(ours.holds, f"Ours: {ours.evidence} The paper: {theirs.evidence}")


CLAIM = Claim(
    "DropEdge is the best perturbation",
    "Of seven perturbations, DropEdge alone gives SIGNNAP(GCN) the highest accuracy on average over six graphs.",
    "Different Perturbations", "table-perturbations", perturbations.recipe, _check,
)  # fmt: skip
