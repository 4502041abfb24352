"""What does the width of embeddings do to SIGNNAP, DGI and networks with labels?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean

from ..paper import OURS
from ..targets import dimensions
from .claim import Claim, Finding, Reading, leads, ranked

_WIDTHS = f"From {min(dimensions.DIMENSIONS)} to {max(dimensions.DIMENSIONS)} dimensions"
_LABELLED = ("GCN", "DropEdge(GCN)")


def _accuracies(read: Reading, name: str, graph: str) -> list[float]:
    return [read(dimensions.cell_of(name, graph, dim)) for dim in dimensions.DIMENSIONS]


def _varies_less(read: Reading) -> Finding:
    smaller, texts = [], []
    for graph in dimensions.GRAPHS:
        found = [_accuracies(read, name, graph) for name in (OURS, "DGI")]
        ours, theirs = (max(values) - min(values) for values in found)
        smaller.append(ours < theirs)
        texts.append(f"{graph} {ours:.2f} against {theirs:.2f}")
    return Finding(all(smaller), f"Range over dimensions, SIGNNAP(GCN) against DGI: {', '.join(texts)}.")


def _exceeds(read: Reading, others: Sequence[str], enough: Callable[[list[bool]], bool]) -> Finding:
    """Whether SIGNNAP is better than others on average over dimensions, on all graphs or on some of them."""
    better, texts = [], []
    for graph in dimensions.GRAPHS:
        found = {name: _accuracies(read, name, graph) for name in (OURS, *others)}
        means = {name: fmean(values) for name, values in found.items()}
        wins = sum(ours > max(theirs) for ours, *theirs in zip(*found.values(), strict=True))
        better.append(leads(means, OURS))
        texts.append(f"{graph} {ranked(means)}, better with {wins} of {len(dimensions.DIMENSIONS)}")
    return Finding(enough(better), f"Mean over dimensions: {'; '.join(texts)}.")


def _widest(read: Reading) -> Finding:
    best = {}
    for graph in dimensions.GRAPHS:
        found = dict(zip(dimensions.DIMENSIONS, _accuracies(read, "DGI", graph), strict=True))
        best[graph] = max(found, key=lambda dim: found[dim])
    text = ", ".join(f"{graph} {dim}" for graph, dim in best.items())
    return Finding({*best.values()} == {max(dimensions.DIMENSIONS)}, f"The best dimension of DGI: {text}.")


def _claim(
    name: str, sentence: str, observation: int, methods: Sequence[str], check: Callable[[Reading], Finding]
) -> Claim:
    where = f"Different Latent Dimensions, observation {observation}"
    cells = lambda: [
        dimensions.cell_of(each, graph, dim)
        for each in methods
        for graph in dimensions.GRAPHS
        for dim in dimensions.DIMENSIONS
    ]
    return Claim(name, sentence, where, "figure-dimensions", cells, check)


LABELLED = _claim(
    "exceeds supervised models over latent dimensions",
    f"{_WIDTHS}, SIGNNAP(GCN) is more accurate on average than GCN and DropEdge(GCN) on some of three graphs.",
    1, (OURS, *_LABELLED), lambda read: _exceeds(read, _LABELLED, any),
)  # fmt: skip
WIDEST = _claim(
    "DGI needs width", "Of all dimensions, DGI is most accurate with the widest on each of three graphs.",
    2, ("DGI",), _widest,
)  # fmt: skip
STEADY = _claim(
    "stable over latent dimensions",
    f"{_WIDTHS}, accuracy of SIGNNAP(GCN) varies less than that of DGI on each of three graphs.",
    2, (OURS, "DGI"), _varies_less,
)  # fmt: skip
BETTER = _claim(
    "better over latent dimensions",
    f"{_WIDTHS}, SIGNNAP(GCN) is more accurate on average than DGI on each of three graphs.",
    2, (OURS, "DGI"), lambda read: _exceeds(read, ("DGI",), all),
)  # fmt: skip
