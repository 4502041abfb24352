"""Graphs from objects in memory: PyG Data, NetworkX graphs and scipy matrices."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from ..errors import SignnapError
from ..graph import Graph
from ..graph.arrays import as_tensor, endpoints, expect_inside
from .assemble import assemble
from .cells import ends_in_nul, first_repeat, object_keys, to_ids, written_out
from .node_table import LABEL_NAMES, PARTS, as_list, may_be_label, read_node_columns
from .tables import Table, listed

_log = logging.getLogger(__name__)

_VECTOR_NAMES = ("x", "feat", "features")
_EDGE_NAMES = ("edge_weight", "edge_attr")


def from_pyg(data: Any) -> Graph:
    """Read edge_index, x, y and one-dimensional train, val and test masks of a homogeneous PyG ``Data``."""
    edge_index = getattr(data, "edge_index", None)
    if not isinstance(edge_index, Tensor):
        raise SignnapError(f"the PyG {type(data).__name__} has no edge_index: expected a homogeneous Data with one")
    dense = edge_index.layout == torch.strided
    if edge_index.dim() != 2 or edge_index.shape[0] != 2 or edge_index.is_floating_point() or not dense:
        found = f"{'' if dense else 'sparse '}{edge_index.dtype} of shape {tuple(edge_index.shape)}"
        raise SignnapError(f"the PyG edge_index is {found}: expected whole numbers of shape (2, edges)")
    source, target = endpoints(*edge_index)
    count = int(data.num_nodes or 0)
    _note_unused("the PyG data", [name for name in _EDGE_NAMES if getattr(data, name, None) is not None])
    fields = {"y": _class_numbers(getattr(data, "y", None), count), "given_split": _given_split(data, count)}
    return assemble(source, target, getattr(data, "x", None), count, **fields)


def from_scipy(adjacency: Any, x: Any = None) -> Graph:
    """Read a square sparse adjacency, in which every non-zero is an edge, and features with one row per node."""
    if not sp.issparse(adjacency):
        raise SignnapError(f"the adjacency is a {type(adjacency).__name__}: expected a scipy sparse matrix")
    if adjacency.ndim != 2 or adjacency.shape[0] != adjacency.shape[1]:
        raise SignnapError(f"the adjacency has shape {adjacency.shape}: expected a square matrix")
    expect_inside(adjacency, "adjacency")
    entries = adjacency.tocoo()
    _check_weights(entries)
    _note_unused("the adjacency", [] if np.isin(entries.data, (0, 1)).all() else ["values other than 0 and 1"])
    source, target = adjacency.nonzero()
    return assemble(source, target, x, adjacency.shape[0])


def from_networkx(
    graph: Any,
    *,
    label_column: str | None = None,
    split_column: str | None = None,
    feature_columns: Sequence[str] | None = None,
    categorical_columns: Sequence[str] | None = None,
) -> Graph:
    """Read any NetworkX graph. Its nodes, as integers or text, are the ids.

    Features are the vectors in attribute "x" (or "feat", "features"), else all numeric attributes. A text attribute is
    a feature only if ``feature_columns`` or ``categorical_columns`` name it: an attribute such as "club" is more often
    the label.
    """
    nodes = list(graph.nodes)
    row = {node: number for number, node in enumerate(nodes)}
    ends = np.fromiter((row[end] for edge in graph.edges() for end in edge), dtype=np.int64).reshape(-1, 2)
    ids = _networkx_ids(nodes)
    title = "the NetworkX graph"
    attributes = _attributes(graph, title)
    _expect_values(attributes, label=[label_column], split=[split_column], categories=as_list(categorical_columns))
    _note_unused(title, list(dict.fromkeys(str(name) for *_, found in graph.edges(data=True) for name in found)))
    place = lambda number: f"{title}, node {str(ids[number])!r}"
    columns = {name: _column(name, values, place) for name, values in attributes.items() if not _is_vector(values)}
    table = Table(title, columns, place)
    named = label_column, split_column, *as_list(categorical_columns)
    chosen = _default_features(attributes, table, named) if feature_columns is None else feature_columns
    wanted: list[str] = []
    for name in as_list(chosen):
        unfolded = _unfold(name, attributes.get(name, []), ids)
        if taken := [column for column in unfolded if column in (*named, *as_list(chosen), *wanted)]:
            clash = f"attribute {name!r} of {title} gives a feature {taken[0]!r}, which is an attribute as well"
            raise SignnapError(f"{clash}: expected different names, so rename one")
        columns |= unfolded
        wanted += unfolded or [name]
    found = read_node_columns(
        table,
        label_column=label_column,
        split_column=split_column,
        feature_columns=wanted,
        categorical_columns=categorical_columns,
    )
    fields = {"ids": ids, **found.graph_fields()} | ({"name": str(graph.name)} if graph.name else {})
    return assemble(ends[:, 0], ends[:, 1], found.x, len(nodes), **fields)


def _note_unused(title: str, names: list[str]) -> None:
    """Warn that attributes of edges are ignored: an edge exists or not."""
    if names:
        _log.warning("%s: weights of edges are not used; ignored %s", title, listed(names))


def _check_weights(entries: sp.coo_matrix) -> None:
    """Refuse entries that are not finite numbers: they are neither an edge nor none."""
    if entries.dtype.kind not in "biuf":
        raise SignnapError(f"the adjacency holds {entries.dtype}: expected finite numbers")
    wrong = np.flatnonzero(~np.isfinite(entries.data))
    if len(wrong):
        found = f"{entries.data[wrong[0]]} in row {entries.row[wrong[0]]}, column {entries.col[wrong[0]]}"
        raise SignnapError(f"the adjacency holds {found}: expected finite numbers")


def _class_numbers(y: Any, count: int) -> Tensor | None:
    """One class per node; negative numbers and NaN mean no label. A y of other shape or type is ignored with a note."""
    if y is None:
        return None
    try:
        y = as_tensor(y, "y of the PyG data")
    except SignnapError as error:
        _log.warning("ignored y, which is not one class number per node: %s", error)
        return None
    numbers = None if y.shape not in ((count,), (count, 1)) else _whole(y.detach().cpu().to_dense().reshape(count))
    if numbers is None:
        _log.warning("ignored y of shape %s and type %s: not one class number per node", tuple(y.shape), y.dtype)
        return None
    return numbers.clamp(min=-1)


def _whole(y: Tensor) -> Tensor | None:
    """Numbers as integers, NaN as −1; None if some are complex, have a fraction or are too large for int64."""
    if y.is_complex():
        return None
    if not y.is_floating_point():
        numbers = y.long()
        wraps = not y.dtype.is_signed and bool((numbers < 0).any())  # only torch.uint64 has numbers beyond int64
        return None if wraps else numbers
    numbers = y.nan_to_num(-1).long()
    return None if bool((y > numbers).any()) else numbers


def _given_split(data: Any, count: int) -> dict[str, Tensor] | None:
    """The rows of each part that has a mask. ``make_split`` reports a missing part."""
    masks: dict[str, Any] = {part: getattr(data, f"{part}_mask", None) for part in PARTS}
    usable = {part: mask for part, mask in masks.items() if _is_mask(mask, count)}
    ignored = [f"{part}_mask" for part, mask in masks.items() if mask is not None and part not in usable]
    if ignored:
        _log.warning("ignored %s of the PyG data: expected one true or false per node", ", ".join(ignored))
    return {part: mask.cpu().nonzero().view(-1) for part, mask in usable.items()} or None


def _is_mask(mask: Any, count: int) -> bool:
    return isinstance(mask, Tensor) and mask.dtype == torch.bool and mask.shape == (count,)


def _networkx_ids(nodes: list[Any]) -> np.ndarray:
    text = object_keys(nodes)
    if trimmed := sum(isinstance(node, str) and node != node.strip() for node in nodes):
        _log.warning("the NetworkX graph: removed the blanks around %d ids", trimmed)
    if (row := ends_in_nul(text)) is not None:
        found = f"node {text[row].as_py()!r} of the NetworkX graph ends in a NUL character"
        raise SignnapError(f"{found}: expected an id without")
    again = first_repeat(text)
    if again is not None:
        written = text[again].as_py()
        raise SignnapError(f"two nodes of the NetworkX graph are both written {written!r}: expected different ids")
    return to_ids(text)


def _attributes(graph: Any, title: str) -> dict[str, list[Any]]:
    """The values of every node attribute in the order of the nodes; None for a node without the attribute."""
    names = list(dict.fromkeys(name for _, found in graph.nodes(data=True) for name in found))
    written = written_out(names, lambda number: f"the name of node attribute {number} of {title}")
    if len({*written}) < len(written):
        twice = next(name for name in written if written.count(name) > 1)
        raise SignnapError(f"two node attributes of {title} are both written {twice!r}: expected different names")
    columns = ([found.get(name) for _, found in graph.nodes(data=True)] for name in names)
    return dict(zip(written, columns, strict=True))


def _expect_values(attributes: dict[str, list[Any]], **roles: Sequence[str | None]) -> None:
    """Refuse an attribute of vectors in a role that needs one value per node."""
    for role, names in roles.items():
        for name in names:
            if name is not None and _is_vector(attributes.get(name, [])):
                raise SignnapError(f"node attribute {name!r} holds vectors: expected one value per node for the {role}")


def _default_features(attributes: dict[str, list[Any]], table: Table, named: Sequence[str | None]) -> list[str]:
    """Guess the attributes that are features. ``named`` are the attributes to which the user gave a role."""
    vectors = [name for name in _VECTOR_NAMES if _is_vector(attributes.get(name, []))]
    if vectors:
        _note_other_attributes(vectors[0], [name for name in attributes if name not in named], table.title)
        return vectors[:1]
    numbers = (int, float, np.number, np.bool_, type(None))
    likely = [name for name in table.columns if name not in named and name.lower() in LABEL_NAMES]
    labels = [name for name in likely if may_be_label(table, name)]
    rest = {name: values for name, values in attributes.items() if name not in (*named, *labels)}
    chosen = [name for name, values in rest.items() if all(isinstance(value, numbers) for value in values)]
    ignored = [name for name in rest if name not in chosen]
    if ignored:
        _log.warning("ignored node attributes that are not numbers: %s", ", ".join(ignored))
    return chosen


def _note_other_attributes(vector: str, names: list[str], title: str) -> None:
    """Name the attributes that are ignored in favour of a vector. An attribute named like a label may be the label."""
    ignored = [name for name in names if name != vector and name.lower() not in LABEL_NAMES]
    if ignored:
        _log.warning("%s: features from attribute %r; ignored other attributes: %s", title, vector, listed(ignored))


def _is_vector(values: list[Any]) -> bool:
    return any(isinstance(value, (list, tuple, np.ndarray, Tensor)) for value in values)


def _unfold(name: str, values: list[Any], ids: np.ndarray) -> dict[str, Any]:
    """One column per entry of an attribute that holds one vector per node; no columns for any other attribute."""
    import pyarrow as pa

    if not _is_vector(values):
        return {}
    rows = [_vector(name, value, node) for value, node in zip(values, ids, strict=True)]
    sizes = np.array([0 if value is None else len(row) for value, row in zip(values, rows, strict=True)])
    wrong = np.flatnonzero(sizes != sizes.max())
    if len(wrong):
        found = f"attribute {name!r} of node {str(ids[wrong[0]])!r} holds {sizes[wrong[0]]} numbers"
        raise SignnapError(f"{found}: expected {sizes.max()}, as for other nodes")
    return {f"{name}{number}": pa.chunked_array([column]) for number, column in enumerate(np.stack(rows).T)}


def _vector(name: str, value: Any, node: Any) -> np.ndarray:
    try:
        return np.asarray(value, dtype=np.float64).ravel()
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        found = f"attribute {name!r} of node {str(node)!r} does not hold numbers"
        raise SignnapError(f"{found} ({error}): expected a vector of them") from error


def _column(name: str, values: list[Any], place: Callable[[int], str]) -> Any:
    import pyarrow as pa

    try:
        return pa.chunked_array([pa.array(values)])
    except (pa.ArrowException, OverflowError, UnicodeError):
        text = written_out(values, lambda number: f"{place(number)}, attribute {name!r}")
        pairs = zip(values, text, strict=True)
        return pa.chunked_array([pa.array([None if value is None else words for value, words in pairs])])
