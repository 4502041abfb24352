"""Checks of what users give: features, settings without effect, columns of later graphs, parts of their own.

Remarks are log messages: the command line prints them as notes.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from ..data.assemble import STRUCTURAL_COLUMNS
from ..data.tables import listed
from ..errors import SignnapError
from ..graph import Graph, SparseFeatures, View, applied, as_dense
from ..interfaces import Terms

_log = logging.getLogger(__name__)


# -- remarks before training -----------------------------------------------------------------------------------------

#: Above this number of nodes a time that grows with its square is worth a remark.
_MANY = 50_000
#: This number of rows is enough to compare columns.
_GLANCE = 2_000
#: A value below this share of the mean value of its row is lost by the normalisation of rows. Where columns decided the
#: class, classifiers still found columns of 3 %, and no longer those of 0.8 %.
_LOST = 0.02
#: Rows differ in their level if their sums vary by this share of the mean sum, and if the level explains this share of
#: the variance between rows. The level of two unrelated columns explains half of it, that of k columns 1/k, and that of
#: bags of words almost nothing.
_SPREAD, _IN_LEVEL = 0.2, 0.45


def note_time(name: str, time: str, nodes: int) -> None:
    """Remark that training takes long, for a method whose time grows with the square of the graph's size."""
    if time == "quadratic" and nodes > _MANY:
        _log.info("%s compares all pairs of %s nodes: its time grows with their square", name, f"{nodes:,}")


def note_features(graph: Graph, normalized: bool) -> None:
    """Remark that features do not distinguish nodes, or no longer do so after rows are normalised.

    Features that were computed from the edges are not the user's, so they get no remark.
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
    """Whether all rows are equal."""
    if not sp.issparse(x):
        return bool((x == x[0]).all())
    return bool((x.max(axis=0) != x.min(axis=0)).nnz == 0)


def _all_alike_normalized(x: sp.csr_matrix) -> bool:
    """Whether all rows, divided by their sums, are equal up to rounding."""
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
    """Columns whose values are far smaller than the others of their row, in most rows that have a value there."""
    width, filled = sizes.shape[1], np.diff(sizes.indptr)
    mean = _row_sums(sizes) / np.maximum(filled, 1)
    seen = sizes.data >= _LOST * np.repeat(mean, filled)
    there = np.bincount(sizes.indices, minlength=width)
    return np.flatnonzero(2 * np.bincount(sizes.indices, weights=seen, minlength=width) < there)


def _share_of_level(sizes: sp.csr_matrix) -> float:
    """The share of the variance between rows that scaling one typical row explains; 0 if the sums hardly vary."""
    sums = _row_sums(sizes)
    if sums.std() <= _SPREAD * sums.mean():
        return 0.0
    typical = (sp.diags(1 / np.where(sums == 0, 1, sums)) @ sizes).mean(axis=0)
    total = np.square(sizes.data, dtype=np.float64).sum() / len(sums) - np.square(sizes.mean(axis=0)).sum()
    return float(sums.var() * np.square(typical).sum() / total)


def _row_sums(sizes: sp.csr_matrix) -> np.ndarray:
    return np.asarray(sizes.sum(axis=1, dtype=np.float64)).ravel()


def note_unused(name: str, params: Mapping[str, Any], unused: Sequence[str], why: str) -> None:
    """Name the given parameters that have no effect."""
    if given := [each for each in unused if params[each] is not None]:
        _log.info("%s has no use for %s: %s", name, ", ".join(given), why)


# -- columns of a later graph ----------------------------------------------------------------------------------------


def as_trained(graph: Graph, expected: int, names: Sequence[str]) -> Graph:
    """The graph with the feature columns of training, found by their ``names``.

    A text column has one 0/1 feature per value, named ``column=value``. A later table may have other values: values
    that training has not seen, and values that are absent now, are accepted. Without names, the number of columns has
    to be the ``expected`` one.
    """
    if names and graph.feature_names and [*names] != [*graph.feature_names]:
        graph = _chosen(graph, names)
    if graph.num_features != expected:
        raise SignnapError(f"the model was trained on {expected} features, but {graph.name} has {graph.num_features}")
    if names and not graph.feature_names:
        words = "columns without names are taken for those of training in their order"
        _log.warning("%s: its %d %s: %s", graph.name, expected, words, listed(names))
    return graph


def _chosen(graph: Graph, names: Sequence[str]) -> Graph:
    """The columns of these names. Both graphs must have them, except for values of text columns."""
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
    unseen = [name for name in unseen if name.partition("=")[2]]  # a column that is empty throughout has no value
    for level, what, found in (
        (logging.WARNING, "were not seen in training", unseen), (logging.INFO, "are not here", absent)
    ):  # fmt: skip
        if found:
            words = f"{len(found)} values of text columns {what}, and count as none"
            _log.log(level, "%s: %s: %s", graph.name, words, listed(found))
    places = np.array([here.get(name, -1) for name in names])
    return replace(graph, x=_columns(graph, places), feature_names=tuple(names))


def _expect_different(owner: str, names: Sequence[str]) -> None:
    """Raise an error for a name that two columns share, because the name does not say which of them is meant."""
    if len({*names}) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise SignnapError(f"{owner} has two features named {twice!r}: expected different names to find them by")


def _missing(graph: Graph, name: str) -> SignnapError:
    """The error for a column of training that is absent, or that has another kind of values."""
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
    """The columns at these places; -1 stands for a column of zeros."""
    x = applied(graph.x)
    if isinstance(x, SparseFeatures):
        kept = np.flatnonzero(places >= 0)
        chosen = sp.csr_matrix((np.ones(len(kept), np.float32), (places[kept], kept)), (x.shape[1], len(places)))
        return SparseFeatures.from_scipy(x.to_scipy() @ chosen).to(x.values.device)
    dense = as_dense(x)
    return torch.cat([dense, dense.new_zeros(len(dense), 1)], dim=1)[:, torch.from_numpy(places)]


# -- parts of the user's own -----------------------------------------------------------------------------------------


def described(part: Any) -> str:
    """The ``repr`` of a part without addresses, and below it the plain values that the ``repr`` omits.

    Descriptions of parts that compute different things should differ. The ``repr`` of a module omits its numbers, and
    that of many objects omits everything.
    """
    lines = [re.sub(" at 0x[0-9a-fA-F]+", "", repr(part))]
    if isinstance(part, nn.Module):
        lines += [f"{place}.{line}".lstrip(".") for place, each in part.named_modules() for line in _values(each)]
    elif type(part).__repr__ is object.__repr__:
        lines += _values(part)
    return "\n".join(lines)


def _values(holder: Any) -> list[str]:
    """The numbers, texts and flags of an object, one per line."""
    return [
        f"{name} = {value!r}"
        for name, value in sorted(getattr(holder, "__dict__", {}).items())
        if isinstance(value, (bool, int, float, str)) and not name.startswith("_") and name != "training"
    ]


def expect_same_parts(place: str, known: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Raise an error unless a run continues with the parts that it has recorded."""
    for name in ("backbone", "objective", "perturbation"):
        before, after = (str(facts.get(name, "that of its settings")).splitlines() for facts in (known, now))
        for old, new in zip_longest(before, after, fillvalue="nothing"):
            if old != new:
                raise SignnapError(f"{place} was trained with another {name} ({old}, not {new}): cannot resume")


def expect_embeddings(z: Any, view: View) -> None:
    """Raise an error unless an encoder returned one row of numbers per node."""
    nodes = view.pattern.num_nodes
    if isinstance(z, Tensor) and z.dtype == torch.float32 and z.dim() == 2 and len(z) == nodes and z.shape[1]:
        return
    raise SignnapError(f"the encoder returned {_seen(z)}: expected a float32 tensor with {nodes:,} rows, one per node")


def expect_view(found: Any, given: View) -> None:
    """Raise an error unless a perturbation returned a view of the same graph."""
    if not isinstance(found, View):
        raise SignnapError(f"the perturbation returned {_seen(found)}: expected a View, as with_entries makes one")
    if found.pattern is not given.pattern:
        raise SignnapError("the perturbation returned a view of another graph: expected the same pattern of entries")
    if found.stored.shape != given.stored.shape or found.stored.dtype != given.stored.dtype:
        wanted = _seen(given.stored)
        raise SignnapError(
            f"the perturbation returned entries in {_seen(found.stored)}: expected {wanted}, 0 if dropped"
        )


def expect_terms(terms: Any) -> None:
    """Raise an error unless an objective returned numbers, among them a loss that can be minimised."""
    if not isinstance(terms, Terms):
        raise SignnapError(f"the objective returned {_seen(terms)}: expected Terms")
    if not isinstance(terms.parts, dict):
        raise SignnapError(f"the objective returned {_seen(terms.parts)} as parts: expected a dict of tensors by name")
    if taken := {"loss", "mutual_information_bound"} & terms.parts.keys():
        raise SignnapError(f"the objective returned a part named {min(taken)}: expected a name of no other metric")
    bound = () if terms.mutual_information_bound is None else ("mutual_information_bound",)
    numbers = [(name, getattr(terms, name)) for name in ("total", *bound)]
    for name, value in [*numbers, *terms.parts.items()]:
        if not isinstance(value, Tensor) or value.dim():
            raise SignnapError(f"the objective returned {_seen(value)} as {name}: expected a tensor with one number")
    if torch.is_grad_enabled() and not terms.total.requires_grad:
        raise SignnapError("the objective returned a total that does not depend on the embeddings: expected gradients")


def changes(view: View) -> tuple[int, ...]:
    """The numbers of times that the tensors of a view were written to. A perturbation must not change them."""
    values = view.x if isinstance(view.x, Tensor) else getattr(view.x, "values", None)
    return tuple(tensor._version for tensor in (view.stored, values) if isinstance(tensor, Tensor))


def _seen(value: Any) -> str:
    if isinstance(value, Tensor):
        kind = str(value.dtype).removeprefix("torch.")
        return f"a {kind} tensor of shape {tuple(value.shape)}"
    return "nothing" if value is None else f"a {type(value).__name__}"
