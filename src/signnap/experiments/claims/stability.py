"""Do embeddings of SIGNNAP move least when edges are dropped? By the paper's cosine, and by one that is harder."""

from __future__ import annotations

from ..paper import reported
from ..targets import stability
from .claim import Claim, Finding, Reading, leads, listed

_WHERE = "Stability of Node Representations"


def _check(read: Reading, kind: str) -> Finding:
    measure = lambda row: [look[kind] for look in row["looks"]["stability"]]
    found = {name: read(stability.cell_of(name), measure) for name in stability.METHODS}
    return Finding(leads(found, "SIGNNAP(GCN)"), f"{listed(found, 3)}.")


def _beside(found: Finding) -> Finding:
    return Finding(
        found.holds, f"{found.evidence} The paper, after min-max scaling: {listed(reported()['stability'], 3)}."
    )


PLAIN = Claim(
    "more stable",
    f"On {stability.GRAPH}, SIGNNAP(GCN) has the highest mean cosine between copies with dropped edges.",
    _WHERE, "figure-stability", stability.recipe, lambda read: _beside(_check(read, "mean")),
)  # fmt: skip
CENTRED = Claim(
    "more stable, by the centred cosine",
    "The same by the cosine after the average embedding is subtracted, because the plain one rewards maps that send "
    "all nodes to one point.",
    _WHERE, "figure-stability", stability.recipe, lambda read: _check(read, "centred"),
)  # fmt: skip
