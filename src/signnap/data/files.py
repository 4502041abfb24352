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
from .columns import encode, to_ids
from .nodes import complete, describe_nodes, first_null, node_ids
from .tables import ID_NAMES, Table, check_file, endpoint_columns, endpoint_headers, listed, read_table

log = logging.getLogger("signnap")


def graph_from_files(
    edges: str | Path,
    nodes: str | Path | None = None,
    *,
    source_column: str | None = None,
    target_column: str | None = None,
    id_column: str | None = None,
    label_column: str | None = None,
    feature_columns: Sequence[str] | None = None,
) -> Graph:
    """Read a graph from tables.

    Nodes keep the order of the node table; without one, the order in which the edge list first names them.
    """
    name, endpoints = Path(edges).stem, (source_column, target_column)
    if nodes is None:
        _needs_node_table(id_column=id_column, label_column=label_column, feature_columns=feature_columns)
        rows, ids = _in_order_of_appearance(*_endpoints(_edge_table(edges, endpoints), *endpoints))
        if not len(ids):
            raise SignnapError(f"{edges} holds no edges below its header: expected at least one")
        return assemble(*rows, None, len(ids), ids=to_ids(ids), name=name)
    check_file(edges)  # of two files that are missing, the first is the one to name
    sure = [[word.lower()] for word in (*ID_NAMES, id_column, label_column) if word]
    table = read_table(nodes, header=sure, keys=1)
    column = table.require(id_column) if id_column else table.first_of(ID_NAMES) or next(iter(table.columns))
    ids = node_ids(table, column)
    edge_table = _edge_table(edges, endpoints, ids)
    rows = _rows_of(edge_table, _endpoints(edge_table, *endpoints), ids, table)
    x, described = describe_nodes(table, label_column, feature_columns, ids=column)
    return assemble(*rows, x, len(ids), ids=to_ids(ids), name=name, **described)


def _needs_node_table(**given: Any) -> None:
    for option, value in given.items():
        if value is not None:
            raise SignnapError(f"{option}={value!r} names a column of a node table, but no node table was given")


def _edge_table(path: str | Path, endpoints: Sequence[str | None], ids: Any = None) -> Table:
    return read_table(path, header=endpoint_headers(*endpoints), keys=2, one_line=True, ids=ids)


def _endpoints(table: Table, source: str | None, target: str | None) -> tuple[Any, Any]:
    chosen = endpoint_columns(table, source, target)
    ignored = [name for name in table.columns if name not in chosen]
    if ignored:
        log.info("%s: edges from %r to %r; ignored other columns: %s", table.title, *chosen, listed(ignored))
    return complete(table, chosen[0]), complete(table, chosen[1])


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


def _rows_of(edges: Table, ends: Sequence[Any], ids: Any, nodes: Table) -> tuple[np.ndarray, np.ndarray]:
    """Look up the row of every endpoint in the node table."""
    import pyarrow.compute as pc

    source, target = (pc.index_in(column, value_set=ids) for column in ends)
    unknown = [
        (first_null(rows), column) for rows, column in zip((source, target), ends, strict=True) if rows.null_count
    ]
    if unknown:
        row, column = min(unknown, key=lambda pair: pair[0])
        raise SignnapError(f"{edges.place(row)} names node {column[row].as_py()!r}, which is not in {nodes.title}")
    return source.to_numpy().astype(np.int64), target.to_numpy().astype(np.int64)
