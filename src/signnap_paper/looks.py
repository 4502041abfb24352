"""What figures show of an encoder beside its accuracy: plain numbers, kept in its row, so drawing needs no graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from signnap import rng
from signnap.analyze import stability
from signnap.data.splits import Split
from signnap.errors import unknown_name
from signnap.evaluate import linear_probe
from signnap.evaluate.probe import ProbeSettings
from signnap.evaluate.properties import dropped_copies
from signnap.graph import Graph
from signnap.methods.method import Method
from signnap.ops.geometry import effective_rank

#: How many nodes are looked at where looking at all pairs would take too long, and how many a map shows.
_SAMPLE, _SHOWN = 2000, 1000
#: The paper's map of coauthor_cs shows the first ten classes only.
_MAPPED_CLASSES = 10
#: A curve of a probe has a point for so many epochs.
_EVERY = 10


@dataclass(frozen=True)
class Look:
    """A measurement of a model, or of its rows alone (rows, labels, parts as arrays, and how its probe learns)."""

    measure: Callable[..., Any]
    of_model: bool = False
    first_only: bool = False


def find_look(name: str) -> Look:
    """The look of that name."""
    if name not in LOOKS:
        raise unknown_name("look", name, LOOKS)
    return LOOKS[name]


def _spread(z: np.ndarray, y: np.ndarray, parts: Sequence[np.ndarray], rules: ProbeSettings | None) -> dict[str, float]:
    """Have the nodes collapsed? The mean distance of two nodes, that relative to their length, and effective rank."""
    rows = torch.from_numpy(z[_sample(len(z), _SAMPLE)]).double()
    distance = float(torch.nn.functional.pdist(rows).mean())
    length = float(rows.norm(dim=1).mean())
    relative = distance / length if length else 0.0
    return _rounded({"distance": distance, "relative_distance": relative, "effective_rank": effective_rank(rows)})


def _map(
    z: np.ndarray, y: np.ndarray, parts: Sequence[np.ndarray], rules: ProbeSettings | None
) -> dict[str, list[float]]:
    """The plane of t-SNE for a sample of the nodes in the first classes, and the class of each."""
    chosen = _mapped(y, _SHOWN)
    plane = _tsne(z[chosen])
    return {"x": plane[:, 0].tolist(), "y": plane[:, 1].tolist(), "class": y[chosen].tolist()}


def _tsne(rows: np.ndarray) -> np.ndarray:
    from sklearn.manifold import TSNE

    if not np.ptp(rows, axis=0).any():  # one point: nothing to lay out
        return np.zeros((len(rows), 2))
    perplexity = min(30.0, (len(rows) - 1) / 3)
    plane = TSNE(perplexity=perplexity, init="random", random_state=0).fit_transform(rows)
    return plane.astype(float).round(1)


def _silhouette(z: np.ndarray, y: np.ndarray, parts: Sequence[np.ndarray], rules: ProbeSettings | None) -> float:
    """How much closer nodes are to their own class than to the next, over the classes that the map shows."""
    from sklearn.metrics import silhouette_score

    chosen = _mapped(y, 2 * _SAMPLE)
    return round(float(silhouette_score(z[chosen], y[chosen])), 4)


def _probe_curves(
    z: np.ndarray, y: np.ndarray, parts: Sequence[np.ndarray], rules: ProbeSettings
) -> dict[str, list[float]]:
    """Accuracy in % on training and validation nodes while the first probe learns."""
    train, val, test = (torch.from_numpy(part) for part in parts)
    curves: dict[str, list[float]] = {"iteration": [], "train": [], "val": []}

    def watch(epoch: int, on_train: float, on_val: float) -> None:
        if epoch % _EVERY == 1:
            for name, value in zip(curves, (epoch, round(100 * on_train, 2), round(100 * on_val, 2)), strict=True):
                curves[name].append(value)

    rows, labels = torch.from_numpy(z), torch.from_numpy(y)
    linear_probe(rows, labels, train, val, test, settings=rules, seeds=[0], watch=watch)
    return curves


def _training_curves(model: Method, graph: Graph, parts: Split) -> dict[str, list[float]]:
    """The same while a network with labels learns; in training, edges and weights may be dropped."""
    history = model.outcome_.history
    percent = lambda name: [round(100 * numbers[name], 2) for numbers in history]
    iterations = [numbers["iteration"] for numbers in history]
    return {"iteration": iterations, "train": percent("accuracy"), "val": percent("val_accuracy")}


def _stability(model: Method, graph: Graph, parts: Split) -> dict[str, Any]:
    """The paper's matrix over the test nodes of ten copies with 30 % of the edges dropped, and what its mean hides."""
    found = stability(dropped_copies(model, graph, drop_edge=0.3, seed=0), nodes=parts.test)
    matrix = [[round(value, 5) for value in row] for row in found.matrix]
    return {"matrix": matrix, **_rounded({"mean": found.mean, "centred": found.centred})}


def _mapped(y: np.ndarray, size: int) -> np.ndarray:
    """A sample of the nodes whose class a map shows."""
    among = np.flatnonzero((y >= 0) & (y < _MAPPED_CLASSES))
    return among[_sample(len(among), size)]


def _sample(count: int, size: int) -> np.ndarray:
    """The same places every time, in order."""
    chosen = torch.randperm(count, generator=rng.generator(0, "sample"))[:size]
    return chosen.sort().values.numpy()


def _rounded(numbers: dict[str, float]) -> dict[str, float]:
    return {name: float(f"{value:.5g}") for name, value in numbers.items()}


LOOKS = {
    "spread": Look(_spread),
    "map": Look(_map, first_only=True),
    "silhouette": Look(_silhouette),
    "probe-curves": Look(_probe_curves),
    "training-curves": Look(_training_curves, of_model=True),
    "stability": Look(_stability, of_model=True),
}
