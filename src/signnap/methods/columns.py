"""The feature columns of a graph as a model was trained on them, by name.

A text column has one 0/1 feature for each of its values, called ``column=value``, and next month's table has other
values: one that training did not see, and one that is not there any more, are no reason to refuse the graph.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import scipy.sparse as sp
import torch

from ..data.tables import listed
from ..errors import SignnapError
from ..graph import Graph, SparseFeatures, applied, as_dense

_log = logging.getLogger(__name__)


def as_trained(graph: Graph, expected: int, names: Sequence[str]) -> Graph:
    """The graph with the columns of those ``names`` in their order; ``expected`` counts them, where they have none."""
    if names and graph.feature_names and [*names] != [*graph.feature_names]:
        graph = _chosen(graph, names)
    if graph.num_features != expected:
        raise SignnapError(f"the model was trained on {expected} features, but {graph.name} has {graph.num_features}")
    if names and not graph.feature_names:
        words = "columns without names are taken for those of training in their order"
        _log.warning("%s: its %d %s: %s", graph.name, expected, words, listed(names))
    return graph


def _chosen(graph: Graph, names: Sequence[str]) -> Graph:
    """The columns of those names. Values of text columns that only one side has are nothing; other columns must be."""
    _expect_different(graph.name, graph.feature_names)
    _expect_different("the model", names)
    here = {name: place for place, name in enumerate(graph.feature_names)}
    text = [{name.partition("=")[0] for name in side if "=" in name} for side in (here, names)]
    absent, unseen = [n for n in names if n not in here], sorted({*here} - {*names}, key=here.__getitem__)
    for name in absent:
        if not _is_value(name, text[0]):
            raise _missing(graph, name)
    for name in unseen:
        if not _is_value(name, text[1]):
            column = name.partition("=")[0]
            raise SignnapError(f"{graph.name} has the column {column!r}, which the model was not trained on")
    unseen = [name for name in unseen if name.partition("=")[2]]  # not that of a column that is empty throughout
    for level, what, found in (
        (logging.WARNING, "were not seen in training", unseen), (logging.INFO, "are not here", absent)
    ):  # fmt: skip
        if found:
            words = f"{len(found)} values of text columns {what}, and count as none"
            _log.log(level, "%s: %s: %s", graph.name, words, listed(found))
    places = np.array([here.get(name, -1) for name in names])
    return replace(graph, x=_columns(graph, places), feature_names=tuple(names))


def _expect_different(owner: str, names: Sequence[str]) -> None:
    """Refuse names that two columns share: which of them was meant, nobody can tell."""
    if len({*names}) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise SignnapError(f"{owner} has two features named {twice!r}: expected different names to find them by")


def _missing(graph: Graph, name: str) -> SignnapError:
    """Say that a column of training is not there, or is there with another kind of values."""
    column, is_value, _ = name.partition("=")
    before, now = ("text", "numbers") if is_value else ("numbers", "text")
    if column in {other.partition("=")[0] for other in graph.feature_names}:
        return SignnapError(f"the model was trained on {before} in column {column!r}, but {graph.name} has {now} there")
    return SignnapError(f"the model was trained on column {column!r}, which {graph.name} does not have")


def _is_value(name: str, text: set[str]) -> bool:
    """Whether this is a value of one of these text columns."""
    column, is_value, _ = name.partition("=")
    return bool(is_value) and column in text


def _columns(graph: Graph, places: np.ndarray) -> torch.Tensor | SparseFeatures:
    """The columns at these places; -1 is one of zeros."""
    x = applied(graph.x)
    if isinstance(x, SparseFeatures):
        kept = np.flatnonzero(places >= 0)
        chosen = sp.csr_matrix((np.ones(len(kept), np.float32), (places[kept], kept)), (x.shape[1], len(places)))
        return SparseFeatures.from_scipy(x.to_scipy() @ chosen).to(x.values.device)
    dense = as_dense(x)
    return torch.cat([dense, dense.new_zeros(len(dense), 1)], dim=1)[:, torch.from_numpy(places)]
