"""Measurements of an encoder beside its accuracy: plain numbers in its row, so that drawing a figure needs no graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from signnap import rng
from signnap.data.splits import Split
from signnap.errors import unknown_name
from signnap.evaluate import ProbeSettings, linear_probe, stability
from signnap.evaluate.models import dropped_copies
from signnap.graph import Graph
from signnap.methods.base import Method
from signnap.ops.geometry import effective_rank

#: The number of nodes sampled where all pairs would take too long, and the number that a map shows.
_SAMPLE, _SHOWN = 2000, 1000
#: The paper's map of coauthor_cs shows the first ten classes only.
_MAPPED_CLASSES = 10
#: The curve of a probe has one point per so many epochs.
_EVERY = 10


@dataclass(frozen=True)
class Measurement:
    """A function of a model, a graph and a split or, unless ``of_model``, of arrays.

    The arrays are embeddings, labels and the parts of the split; the last argument is how the probe learns. With
    ``first_only`` only encoder seed 0 is measured.
    """

    measure: Callable[..., Any]
    of_model: bool = False
    first_only: bool = False


def find_measurement(name: str) -> Measurement:
    """Return the measurement of that name."""
    if name not in MEASUREMENTS:
        raise unknown_name("measurement", name, MEASUREMENTS)
    return MEASUREMENTS[name]


def _spread(z: np.ndarray, y: np.ndarray, parts: Sequence[np.ndarray], rules: ProbeSettings | None) -> dict[str, float]:
    """Measure collapse: the mean distance of two nodes, this relative to their mean length, and the effective rank."""
    rows = torch.from_numpy(z[_sample(len(z), _SAMPLE)]).double()
    distance = float(torch.nn.functional.pdist(rows).mean())
    length = float(rows.norm(dim=1).mean())
    relative = distance / length if length else 0.0
    return _rounded({"distance": distance, "relative_distance": relative, "effective_rank": effective_rank(rows)})


def _map(
    z: np.ndarray, y: np.ndarray, parts: Sequence[np.ndarray], rules: ProbeSettings | None
) -> dict[str, list[float]]:
    """Lay out a sample of the nodes of the first classes by t-SNE; also return the class of each."""
    chosen = _mapped(y, _SHOWN)
    plane = _tsne(z[chosen])
    return {"x": plane[:, 0].tolist(), "y": plane[:, 1].tolist(), "class": y[chosen].tolist()}


def _tsne(rows: np.ndarray) -> np.ndarray:
    from sklearn.manifold import TSNE

    if not np.ptp(rows, axis=0).any():  # all nodes at one point
        return np.zeros((len(rows), 2))
    perplexity = min(30.0, (len(rows) - 1) / 3)
    plane = TSNE(perplexity=perplexity, init="random", random_state=0).fit_transform(rows)
    return plane.astype(float).round(1)


def _silhouette(z: np.ndarray, y: np.ndarray, parts: Sequence[np.ndarray], rules: ProbeSettings | None) -> float:
    """Return the silhouette of the classes that the map shows."""
    from sklearn.metrics import silhouette_score

    chosen = _mapped(y, 2 * _SAMPLE)
    return round(float(silhouette_score(z[chosen], y[chosen])), 4)


def _probe_curves(
    z: np.ndarray, y: np.ndarray, parts: Sequence[np.ndarray], rules: ProbeSettings
) -> dict[str, list[float]]:
    """Return accuracy in % on training and validation nodes while the first probe learns."""
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
    """Return the same curves of a network with labels; in training, edges and activations may be dropped."""
    history = model.outcome_.history
    percent = lambda name: [round(100 * numbers[name], 2) for numbers in history]
    iterations = [numbers["iteration"] for numbers in history]
    return {"iteration": iterations, "train": percent("accuracy"), "val": percent("val_accuracy")}


def _stability(model: Method, graph: Graph, parts: Split) -> dict[str, Any]:
    """Compare the test nodes of ten copies with 30 % of the edges dropped: the paper's matrix, and two means."""
    found = stability(dropped_copies(model, graph, drop_edge=0.3, seed=0), nodes=parts.test)
    matrix = [[round(value, 5) for value in row] for row in found.matrix]
    return {"matrix": matrix, **_rounded({"mean": found.mean, "centred": found.centred})}


def _mapped(y: np.ndarray, size: int) -> np.ndarray:
    """Sample the nodes whose class a map shows."""
    among = np.flatnonzero((y >= 0) & (y < _MAPPED_CLASSES))
    return among[_sample(len(among), size)]


def _sample(count: int, size: int) -> np.ndarray:
    """Draw the same sample of positions every time, sorted."""
    chosen = torch.randperm(count, generator=rng.generator(0, "sample"))[:size]
    return chosen.sort().values.numpy()


def _rounded(numbers: dict[str, float]) -> dict[str, float]:
    return {name: float(f"{value:.5g}") for name, value in numbers.items()}


MEASUREMENTS = {
    "spread": Measurement(_spread),
    "map": Measurement(_map, first_only=True),
    "silhouette": Measurement(_silhouette),
    "probe-curves": Measurement(_probe_curves),
    "training-curves": Measurement(_training_curves, of_model=True),
    "stability": Measurement(_stability, of_model=True),
}
