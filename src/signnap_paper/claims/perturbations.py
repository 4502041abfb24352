"""Does dropping edges teach SIGNNAP more than noise on attributes, and than both together?"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
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


def _worse(number: Callable[[str, str], float]) -> Finding:
    """Whether every kind of noise alone is worse than DropEdge on average over graphs, and on how many of them."""
    means = {name: fmean(number(name, graph) for graph in GRAPHS) for name in (KIND, *_NOISE)}
    lower = {name: sum(number(name, graph) < number(KIND, graph) for graph in GRAPHS) for name in _NOISE}
    counts = ", ".join(f"{name} on {count}" for name, count in lower.items())
    return Finding(leads(means, KIND), f"mean over graphs {ranked(means)}; of {len(GRAPHS)} graphs worse {counts}.")


def _beside(check: Callable[[Callable[[str, str], float]], Finding], read: Reading) -> Finding:
    ours = check(lambda name, graph: read(perturbations.cell_of(name, graph)))
    theirs = check(lambda name, graph: reported()["perturbations"][name][graph])
    return Finding(ours.holds, f"Ours: {ours.evidence} The paper: {theirs.evidence}")


_NOISE = [name for name in perturbations.ROWS if KIND not in name]
BEST = Claim(
    "DropEdge is the best perturbation",
    "Of seven perturbations, DropEdge alone gives SIGNNAP(GCN) the highest accuracy on average over six graphs.",
    "Different Perturbations, observation 2", "table-perturbations", perturbations.recipe, partial(_beside, _best),
)  # fmt: skip
ATTRIBUTES = Claim(
    "noise on attributes teaches less than DropEdge",
    "Each of three kinds of noise on attributes alone gives SIGNNAP(GCN) a lower accuracy than DropEdge alone, on "
    "average over six graphs.",
    "Different Perturbations, observation 1", "table-perturbations",
    lambda: [perturbations.cell_of(name, graph) for name in (KIND, *_NOISE) for graph in GRAPHS],
    partial(_beside, _worse),
)  # fmt: skip
