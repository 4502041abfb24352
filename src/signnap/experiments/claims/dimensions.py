"""Does SIGNNAP depend less than DGI on how wide its embeddings are?"""

from __future__ import annotations

from ..cells import Cell
from ..paper import OURS
from ..targets import dimensions
from .claim import Claim, Finding, Reading

_METHODS = (OURS, "DGI")


def _cells() -> list[Cell]:
    wide = dimensions.DIMENSIONS
    return [dimensions.cell_of(name, graph, dim) for name in _METHODS for graph in dimensions.GRAPHS for dim in wide]


def _check(read: Reading) -> Finding:
    smaller, texts = [], []
    for graph in dimensions.GRAPHS:
        found = [[read(dimensions.cell_of(name, graph, dim)) for dim in dimensions.DIMENSIONS] for name in _METHODS]
        ours, theirs = (max(values) - min(values) for values in found)
        smaller.append(ours < theirs)
        texts.append(f"{graph} {ours:.2f} against {theirs:.2f}")
    return Finding(all(smaller), f"Range over dimensions, SIGNNAP(GCN) against DGI: {', '.join(texts)}.")


CLAIM = Claim(
    "stable over latent dimensions",
    f"From {min(dimensions.DIMENSIONS)} to {max(dimensions.DIMENSIONS)} dimensions, accuracy of SIGNNAP(GCN) varies "
    "less than that of DGI on each of three graphs.",
    "Different Latent Dimensions, observation 2", "figure-dimensions", _cells, _check,
)  # fmt: skip
