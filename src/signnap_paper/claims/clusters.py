"""Do the classes stand apart best in embeddings of SIGNNAP?"""

from __future__ import annotations

from ..paper import OURS, reported
from ..targets import tsne
from .claim import Claim, Finding, Reading, leads, ranked


def _check(read: Reading) -> Finding:
    found = {name: read(tsne.cell_of(name), tsne.silhouettes) for name in tsne.METHODS}
    return Finding(leads(found, OURS), f"{ranked(found, 4)}. The paper: {ranked(reported()['silhouette'], 4)}.")


CLAIM = Claim(
    "clusters best",
    f"On {tsne.GRAPH}, classes have the highest silhouette in embeddings of SIGNNAP(GCN).",
    "Smoothness and Identifiability of Node Representations", "figure-tsne", tsne.recipe, _check,
)  # fmt: skip
