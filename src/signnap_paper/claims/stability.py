"""Whose embeddings move least when edges are dropped? By the cosine, as the paper scales it, and by a harder one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ..markdown import Measure
from ..paper import OURS, reported, reported_as
from ..targets import stability
from .claim import Claim, Finding, Reading, leads, ranked

_WHERE = "Stability of Node Representations"


def _most(read: Reading, measure: Measure, first: str = OURS, others: Sequence[str] = stability.METHODS) -> Finding:
    """Whether the first is more stable than all others."""
    found = {name: read(stability.cell_of(name), measure) for name in (first, *others)}
    return Finding(leads(found, first), f"{ranked(found, 3)}.")


def _scaled(read: Reading) -> Finding:
    found = _most(read, stability.scaled_cosines)
    return Finding(found.holds, f"{found.evidence} The paper: {ranked(reported()['stability'], 3)}.")


def _pair(first: str, others: Sequence[str], sentence: str, observation: int) -> Claim:
    """What the paper says of two methods, by the plain cosine."""
    return Claim(
        f"{first} is more stable than {reported_as(others[0])}", sentence, f"{_WHERE}, observation {observation}",
        "figure-stability", lambda: [stability.cell_of(name) for name in (first, *others)],
        partial(_most, measure=stability.cosines, first=first, others=others),
    )  # fmt: skip


PLAIN = Claim(
    "more stable",
    f"On {stability.GRAPH}, SIGNNAP(GCN) has the highest mean cosine between copies with dropped edges.",
    _WHERE, "figure-stability", stability.recipe, partial(_most, measure=stability.cosines),
)  # fmt: skip
SCALED = Claim(
    "more stable, as the paper scales",
    "The same by the mean of the matrix after min-max scaling, diagonal included, which is the number that the paper "
    "has; we scale each matrix by itself.",
    _WHERE, "figure-stability", stability.recipe, _scaled,
)  # fmt: skip
CENTRED = Claim(
    "more stable, by the centred cosine",
    "The same by the cosine after the average embedding is subtracted, because the plain one rewards maps that send "
    "all nodes to one point.",
    _WHERE, "figure-stability", stability.recipe, partial(_most, measure=stability.centred_cosines),
)  # fmt: skip
DROPPED = _pair(
    "DropEdge(GCN)", ("DGI",),
    "DropEdge(GCN), whose labels ask it to be stable, has a higher mean cosine than DGI.", 2,
)  # fmt: skip
SAMPLED = _pair(
    OURS, ("GCC, with features",), "SIGNNAP(GCN) has a higher mean cosine than GCC.", 3,
)  # fmt: skip
