"""A graph from an edge list, with or without a node table. Nodes keep the ids of the files."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import SignnapError
from ..graph import Graph
from .assemble import assemble
from .cells import encode, first_null, id_keys, typed_ids
from .node_table import column_of_ids, read_node_columns, unique_id_keys
from .tables import ID_NAMES, HeaderRule, Table, check_file, listed, read_table

_log = logging.getLogger(__name__)

_ENDPOINT_NAMES = (("source", "target"), ("src", "dst"), ("from", "to"), ("u", "v"), ("node1", "node2"))


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
    """Read a graph from tables; ``about_nodes`` are further options of ``read_node_columns``.

    Nodes come in the order of the node table; without one, in the order in which the edge list first names them.
    """
    given = source_column, target_column
    if nodes is None:
        _expect_no_node_options(id_column=id_column, **about_nodes)
        return _from_edges_alone(edges, given)
    check_file(edges)  # if both files are missing, the message names the edge list
    named = id_column, about_nodes.get("label_column"), about_nodes.get("split_column")
    table = read_table(nodes, HeaderRule([[word.lower()] for word in (*ID_NAMES, *named) if word], keys=1))
    column = table.require(id_column) if id_column else column_of_ids(table)
    ids = unique_id_keys(table, column)
    edge_table, columns = _read_edges(edges, given, ids)
    ends = [id_keys(edge_table, end) for end in columns]
    rows = _rows_of(edge_table, ends, ids, f"column {column!r} of {table.title}")
    found = read_node_columns(table, ids=column, trained_on=trained_on, **about_nodes)
    fields = {"ids": typed_ids(ids, table, column), "name": Path(edges).stem, **found.graph_fields()}
    return assemble(*rows, found.x, len(ids), **fields)


def _from_edges_alone(edges: str | Path, given: Sequence[str | None]) -> Graph:
    table, columns = _read_edges(edges, given)
    rows, ids = _in_order_of_appearance(*(id_keys(table, column) for column in columns))
    if not len(ids):
        raise SignnapError(f"{edges} holds no edges below its header: expected at least one")
    return assemble(*rows, None, len(ids), ids=typed_ids(ids, table, *columns), name=Path(edges).stem)


def _expect_no_node_options(**given: Any) -> None:
    for option, value in given.items():
        if value is not None:
            raise SignnapError(f"{option}={value!r} names a column of a node table, but no node table was given")


def _read_edges(path: str | Path, given: Sequence[str | None], ids: Any = None) -> tuple[Table, tuple[str, str]]:
    """The table of edges and its two columns of endpoints. A note lists the other columns, which are ignored."""
    names = [*_ENDPOINT_NAMES, *([name.lower()] for name in given if name)]
    table = read_table(path, HeaderRule(names, keys=2, ids=ids), one_line=True)
    chosen = _endpoint_columns(table, *given)
    ignored = [name for name in table.columns if name not in chosen]
    if ignored:
        _log.warning("%s: edges from %r to %r; ignored other columns: %s", table.title, *chosen, listed(ignored))
    return table, chosen


def _endpoint_columns(table: Table, source: str | None, target: str | None) -> tuple[str, str]:
    """Choose the two columns of endpoints: as given, else by usual names, else the first two columns."""
    if len(table.columns) < 2:
        raise SignnapError(f"{table.title} has one column: expected two for the endpoints, a delimiter between")
    pairs = [(table.first_of([one]), table.first_of([other])) for one, other in _ENDPOINT_NAMES]
    nameless_last = sorted(table.columns, key=lambda name: name in table.nameless)
    first, second = next((pair for pair in pairs if None not in pair), tuple(nameless_last[:2]))
    source = table.require(source) if source else (first if target != first else second)
    target = table.require(target) if target else (second if source != second else first)
    if source == target:
        raise SignnapError(f"both endpoints are column {source!r} of {table.title}: expected two different columns")
    return str(source), str(target)


def _in_order_of_appearance(source: Any, target: Any) -> tuple[tuple[np.ndarray, np.ndarray], Any]:
    """Number the nodes in the order in which a reader meets them, edge by edge. Returns the rows and the ids."""
    import pyarrow as pa

    codes, names = encode(pa.chunked_array([*source.chunks, *target.chunks], type=source.type))
    met = np.stack(np.split(codes, 2), axis=1).ravel()
    first = np.empty(len(names), dtype=np.int64)
    first[met[::-1]] = np.arange(len(met))[::-1]  # numpy keeps the last value written: the first appearance
    order = np.argsort(first)
    number = np.argsort(order)
    return (number[codes[: len(source)]], number[codes[len(source) :]]), names.take(pa.array(order))


def _rows_of(edges: Table, ends: Sequence[Any], ids: Any, where: str) -> tuple[np.ndarray, np.ndarray]:
    """The row of every endpoint among the ids. ``where`` names the column of ids in the error."""
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
