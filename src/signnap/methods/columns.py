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
    return graph


def _chosen(graph: Graph, names: Sequence[str]) -> Graph:
    """The columns of those names. Values of text columns that only one side has are nothing; other columns must be."""
    here = {name: place for place, name in enumerate(graph.feature_names)}
    text = [{name.partition("=")[0] for name in side if "=" in name} for side in (here, names)]
    absent, unseen = [n for n in names if n not in here], sorted({*here} - {*names}, key=here.__getitem__)
    for name in absent:
        if not _is_value(name, text[0]):
            raise SignnapError(f"the model was trained on column {name!r}, which {graph.name} does not have")
    for name in unseen:
        if not _is_value(name, text[1]):
            raise SignnapError(f"{graph.name} has the column {name!r}, which the model was not trained on")
    for what, found in (("were not seen in training", unseen), ("are not here", absent)):
        if found:
            named = listed(found)
            _log.info("%s: %d values of text columns %s, and count as none: %s", graph.name, len(found), what, named)
    places = np.array([here.get(name, -1) for name in names])
    return replace(graph, x=_columns(graph, places), feature_names=tuple(names))


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
