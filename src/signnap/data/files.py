"""An edge list, with or without a node table, as a Graph keyed by the user's own ids."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import SignnapError
from ..graph import Graph
from .assemble import assemble
from .columns import encode, own_ids
from .nodes import column_of_ids, complete, describe_nodes, first_null, node_ids
from .tables import ID_NAMES, Table, check_file, endpoint_columns, endpoint_headers, listed, read_table

_log = logging.getLogger(__name__)


def graph_from_files(
    edges: str | Path,
    nodes: str | Path | None = None,
    *,
    source_column: str | None = None,
    target_column: str | None = None,
    id_column: str | None = None,
    trained_on: Sequence[str] | None = None,
    **about_nodes: Any,
) -> Graph:
    """Read a graph from tables; ``about_nodes`` are options of ``describe_nodes``.

    Nodes keep the order of the node table; without one, the order in which the edge list first names them.
    """
    name, endpoints = Path(edges).stem, (source_column, target_column)
    if nodes is None:
        _needs_node_table(id_column=id_column, **about_nodes)
        edge_table = _edge_table(edges, endpoints)
        columns = _endpoints(edge_table, *endpoints)
        rows, ids = _in_order_of_appearance(*(complete(edge_table, column) for column in columns))
        if not len(ids):
            raise SignnapError(f"{edges} holds no edges below its header: expected at least one")
        return assemble(*rows, None, len(ids), ids=own_ids(ids, edge_table, *columns), name=name)
    check_file(edges)  # of two files that are missing, the first is the one to name
    told = id_column, about_nodes.get("label_column"), about_nodes.get("split_column")
    sure = [[word.lower()] for word in (*ID_NAMES, *told) if word]
    table = read_table(nodes, header=sure, keys=1)
    column = table.require(id_column) if id_column else column_of_ids(table)
    ids = node_ids(table, column)
    edge_table = _edge_table(edges, endpoints, ids)
    ends = [complete(edge_table, end) for end in _endpoints(edge_table, *endpoints)]
    rows = _rows_of(edge_table, ends, ids, f"column {column!r} of {table.title}")
    x, described = describe_nodes(table, ids=column, trained_on=trained_on, **about_nodes)
    return assemble(*rows, x, len(ids), ids=own_ids(ids, table, column), name=name, **described)


def _needs_node_table(**given: Any) -> None:
    for option, value in given.items():
        if value is not None:
            raise SignnapError(f"{option}={value!r} names a column of a node table, but no node table was given")


def _edge_table(path: str | Path, endpoints: Sequence[str | None], ids: Any = None) -> Table:
    return read_table(path, header=endpoint_headers(*endpoints), keys=2, one_line=True, ids=ids)


def _endpoints(table: Table, source: str | None, target: str | None) -> tuple[str, str]:
    """The two columns that are read; a note names those that are not."""
    chosen = endpoint_columns(table, source, target)
    ignored = [name for name in table.columns if name not in chosen]
    if ignored:
        _log.warning("%s: edges from %r to %r; ignored other columns: %s", table.title, *chosen, listed(ignored))
    return chosen


def _in_order_of_appearance(source: Any, target: Any) -> tuple[tuple[np.ndarray, np.ndarray], Any]:
    """Number the nodes as a reader of the edge list meets them."""
    import pyarrow as pa

    codes, names = encode(pa.chunked_array([*source.chunks, *target.chunks], type=source.type))
    met = np.stack(np.split(codes, 2), axis=1).ravel()
    first = np.empty(len(names), dtype=np.int64)
    first[met[::-1]] = np.arange(len(met))[::-1]  # the last value written to a place stays: where it was first met
    order = np.argsort(first)
    number = np.argsort(order)
    return (number[codes[: len(source)]], number[codes[len(source) :]]), names.take(pa.array(order))


def _rows_of(edges: Table, ends: Sequence[Any], ids: Any, where: str) -> tuple[np.ndarray, np.ndarray]:
    """Look up the row of every endpoint among the ids, which are read from ``where``."""
    import pyarrow.compute as pc

    source, target = (pc.index_in(column, value_set=ids) for column in ends)
    unknown = [
        (first_null(rows), column) for rows, column in zip((source, target), ends, strict=True) if rows.null_count
    ]
    if unknown:
        row, column = min(unknown, key=lambda pair: pair[0])
        found = f"{edges.place(row)} names node {column[row].as_py()!r}, which is not in {where}"
        raise SignnapError(f"{found} (--id-column names another column of ids)")
    return source.to_numpy().astype(np.int64), target.to_numpy().astype(np.int64)
