"""What is said before training begins: about the graph, and about settings that change nothing."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..graph import Graph, SparseFeatures
from .basics import Basics

if TYPE_CHECKING:
    from .method import Method

_log = logging.getLogger(__name__)

#: From so many nodes on, their square is a large number.
_MANY = 50_000
#: A column with a larger share of all features leaves the others next to nothing once rows are normalised.
_MOST = 0.9


def note_graph(model: Method, settings: Basics, graph: Graph) -> None:
    """Say what about this graph makes the method slow, or blind."""
    note_time(model.name, model.time, graph.num_nodes)
    if model.reads_features and settings.normalize_features:
        note_scale(graph)


def note_time(name: str, time: str, nodes: int) -> None:
    """Say that training will take long, where that is a matter of the graph's size."""
    if time == "quadratic" and nodes > _MANY:
        _log.info("%s compares all pairs of %s nodes: its time grows with their square", name, f"{nodes:,}")


def note_scale(graph: Graph) -> None:
    """Say that rows are normalised where that leaves next to nothing of all columns but one."""
    x = graph.x.to_scipy() if isinstance(graph.x, SparseFeatures) else graph.x.cpu().numpy()
    sums = np.asarray(abs(x).sum(axis=0, dtype=np.float64)).ravel()
    if sums.size and sums.max() > _MOST * sums.sum():
        largest = int(sums.argmax())
        name = graph.feature_names[largest] if graph.feature_names else str(largest)
        _log.info(
            "rows are normalised, and column %s makes up %.1f %% of them, so all come out nearly alike: scale the "
            "columns first, or train with normalize_features=false",
            name, 100 * sums[largest] / sums.sum(),
        )  # fmt: skip


def note_unused(name: str, params: Mapping[str, Any], unused: Sequence[str], why: str) -> None:
    """Say which of the parameters that were given change nothing."""
    if given := [each for each in unused if params[each] is not None]:
        _log.info("%s has no use for %s: %s", name, ", ".join(given), why)
