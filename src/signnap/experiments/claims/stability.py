"""Do embeddings of SIGNNAP move least when edges are dropped? By the paper's cosine, and by one that is harder."""

from __future__ import annotations

from ..markdown import Measure
from ..paper import OURS, reported
from ..targets import stability
from .claim import Claim, Finding, Reading, leads, ranked

_WHERE = "Stability of Node Representations"


def _check(read: Reading, measure: Measure) -> Finding:
    found = {name: read(stability.cell_of(name), measure) for name in stability.METHODS}
    return Finding(leads(found, OURS), f"{ranked(found, 3)}.")


def _beside(found: Finding) -> Finding:
    return Finding(
        found.holds, f"{found.evidence} The paper, after min-max scaling: {ranked(reported()['stability'], 3)}."
    )


PLAIN = Claim(
    "more stable",
    f"On {stability.GRAPH}, SIGNNAP(GCN) has the highest mean cosine between copies with dropped edges.",
    _WHERE, "figure-stability", stability.recipe, lambda read: _beside(_check(read, stability.cosines)),
)  # fmt: skip
CENTRED = Claim(
    "more stable, by the centred cosine",
    "The same by the cosine after the average embedding is subtracted, because the plain one rewards maps that send "
    "all nodes to one point.",
    _WHERE, "figure-stability", stability.recipe, lambda read: _check(read, stability.centred_cosines),
)  # fmt: skip
