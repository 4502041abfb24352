"""What is said before training begins: about the graph, and about settings that change nothing."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ..data.assemble import STRUCTURAL_COLUMNS
from ..data.tables import listed
from ..graph import Graph, SparseFeatures
from .basics import Basics

if TYPE_CHECKING:
    from .method import Method

_log = logging.getLogger(__name__)

#: From so many nodes on, their square is a large number.
_MANY = 50_000
#: So many rows are enough to compare columns.
_GLANCE = 2_000
#: A value that is smaller than this share of what its row holds on average is lost once rows are normalised: of columns
#: that decided the class, 3 % were still found, and 0.8 % were not.
_LOST = 0.02
#: Rows differ in their level if their sums spread by so much of their mean, and if such a share of the variance between
#: rows lies in that direction. Two unrelated columns have half of it there, k have 1/k, and bags of words next to none.
_SPREAD, _IN_LEVEL = 0.2, 0.45


def note_graph(model: Method, settings: Basics, graph: Graph) -> None:
    """Say what about this graph makes the method slow, or blind."""
    note_time(model.name, model.time, graph.num_nodes)
    if model.reads_features:
        note_features(graph, settings.normalize_features)


def note_time(name: str, time: str, nodes: int) -> None:
    """Say that training will take long, where that is a matter of the graph's size."""
    if time == "quadratic" and nodes > _MANY:
        _log.info("%s compares all pairs of %s nodes: its time grows with their square", name, f"{nodes:,}")


def note_features(graph: Graph, normalized: bool) -> None:
    """Say that features tell no node from another, or that this is lost where rows are normalised.

    Features that were made from the edges are ours to answer for.
    """
    x = graph.x.to_scipy() if isinstance(graph.x, SparseFeatures) else graph.x.cpu().numpy()
    count = graph.num_nodes
    part = sp.csr_matrix(x[np.linspace(0, count - 1, min(count, _GLANCE)).astype(np.int64)])
    if _all_alike(part) and _all_alike(x):
        if count > 1:
            _log.warning("all nodes have the same features, so that nothing but edges tells one from another")
    elif normalized and _all_alike_normalized(part):
        _log.warning("rows are normalised, which makes them all the same: train with normalize_features=false")
    elif normalized and graph.feature_names != STRUCTURAL_COLUMNS:
        _note_normalized(abs(part), graph)


def _all_alike(x: Any) -> bool:
    """Whether all rows are the same."""
    if not sp.issparse(x):
        return bool((x == x[0]).all())
    return bool((x.max(axis=0) != x.min(axis=0)).nnz == 0)


def _all_alike_normalized(x: sp.csr_matrix) -> bool:
    """Whether all rows are the same once they are divided by their sum, up to rounding."""
    sums = _row_sums(abs(x))
    scaled = sp.diags(1 / np.where(sums == 0, 1, sums)) @ x
    return bool(abs(scaled.max(axis=0) - scaled.min(axis=0)).max() < 1e-6)


def _note_normalized(sizes: sp.csr_matrix, graph: Graph) -> None:
    lost = _lost_columns(sizes)
    if len(lost):
        names = [graph.feature_names[place] if graph.feature_names else str(place) for place in lost]
        _log.warning(
            "rows are normalised, and beside larger columns next to nothing is left of %d of %d: %s; scale the "
            "columns first, or train with normalize_features=false",
            len(lost), sizes.shape[1], listed(names),
        )  # fmt: skip
    elif (share := _share_of_level(sizes)) > _IN_LEVEL and not np.isin(sizes.data, (0, 1)).all():
        _log.warning(
            "dividing rows by their sum removes their level, which is %.0f %% of what tells nodes apart: "
            "normalize_features=false (--set on the command line) keeps it",
            100 * share,
        )


def _lost_columns(sizes: sp.csr_matrix) -> np.ndarray:
    """Columns whose values are next to nothing beside the others of their row, in most rows where they have any."""
    width, filled = sizes.shape[1], np.diff(sizes.indptr)
    mean = _row_sums(sizes) / np.maximum(filled, 1)
    seen = sizes.data >= _LOST * np.repeat(mean, filled)
    there = np.bincount(sizes.indices, minlength=width)
    return np.flatnonzero(2 * np.bincount(sizes.indices, weights=seen, minlength=width) < there)


def _share_of_level(sizes: sp.csr_matrix) -> float:
    """How much of the variance between rows is that of a typical row made larger and smaller; 0 if sums hardly vary."""
    sums = _row_sums(sizes)
    if sums.std() <= _SPREAD * sums.mean():
        return 0.0
    typical = (sp.diags(1 / np.where(sums == 0, 1, sums)) @ sizes).mean(axis=0)
    total = np.square(sizes.data, dtype=np.float64).sum() / len(sums) - np.square(sizes.mean(axis=0)).sum()
    return float(sums.var() * np.square(typical).sum() / total)


def _row_sums(sizes: sp.csr_matrix) -> np.ndarray:
    return np.asarray(sizes.sum(axis=1, dtype=np.float64)).ravel()


def note_unused(name: str, params: Mapping[str, Any], unused: Sequence[str], why: str) -> None:
    """Say which of the parameters that were given change nothing."""
    if given := [each for each in unused if params[each] is not None]:
        _log.info("%s has no use for %s: %s", name, ", ".join(given), why)
