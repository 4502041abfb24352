"""Embeddings in files: one row per node, with the node ids of the user."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import SignnapError
from ..graph import Graph
from ..storage import replacing
from .cells import first_repeat, id_keys, keys, numbers, object_keys, typed_ids
from .tables import ID_NAMES, HeaderRule, Table, check_file, read_table

_log = logging.getLogger(__name__)

EMBEDDING_SUFFIXES = (".npy", ".csv", ".parquet")


def write_embeddings(path: str | Path, embeddings: np.ndarray, ids: np.ndarray | None = None) -> None:
    """Write embeddings in the format of the suffix.

    .npy holds the rows only; .csv and .parquet have the columns id, e0, e1, … Without ``ids``, row numbers are the ids.
    """
    path = Path(path)
    suffix = _suffix(path)
    embeddings = _checked(np.asarray(embeddings), "the embeddings")
    ids = np.arange(len(embeddings)) if ids is None else np.asarray(ids)
    if len(ids) != len(embeddings):
        raise SignnapError(f"cannot write {path}: {len(embeddings)} embeddings but {len(ids)} ids")
    with replacing(path) as temporary:
        if suffix == ".npy":
            _write_npy(temporary, np.ascontiguousarray(embeddings))
        else:
            _write_table(temporary, embeddings, ids)


def _write_npy(path: Path, embeddings: np.ndarray) -> None:
    """Write the array as ``np.save`` does. On a full disk, ``np.save`` loses the last bytes and raises no error."""
    with open(path, "wb") as file:
        np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(embeddings))
        file.write(embeddings.data)


def read_embeddings(path: str | Path, graph: Graph | None = None) -> tuple[np.ndarray, np.ndarray | None]:
    """Read float32 rows, and their ids if the file has a column of ids.

    A usual name identifies the column of ids. Given the ``graph``, a column with all ids of the graph is found as well.
    """
    path = Path(path)
    suffix = _suffix(path)
    check_file(path)
    if suffix == ".npy":
        return _read_npy(path), None
    table = read_table(path, HeaderRule([[name] for name in ID_NAMES], keys=1, numbered=True))
    if not len(table):
        raise SignnapError(f"{path} holds no rows below its header: expected one per node")
    key = table.first_of(ID_NAMES) or (None if graph is None else _column_of_ids(table, graph))
    columns = [numbers(table, name) for name in table.columns if name != key and name not in table.nameless]
    if not columns:
        raise SignnapError(f"{path} has no columns of numbers: expected id, e0, e1, …")
    if key is None:
        _log.info("%s: no column of ids (%s), so all rows are in the graph's order", path, ", ".join(ID_NAMES))
    return np.column_stack(columns), None if key is None else typed_ids(id_keys(table, key), table, key)


def _column_of_ids(table: Table, graph: Graph) -> str | None:
    """The first named column, or else the unnamed index of a data frame, if it holds the ids of the graph.

    As a dimension, ids would spoil the embedding, and the rows may have another order than the graph. Only a column
    with all ids, each once, counts as ids: a dimension may hold some of them. An index that counts the rows is none.
    """
    expected, rows = sorted(_graph_keys(graph).to_pylist()), [str(row) for row in range(len(table))]
    named = [name for name in table.columns if name not in table.nameless]
    for name in [*named[:1], *sorted(table.nameless.intersection(table.columns))]:
        found = keys(table, name).to_pylist()
        counts = name in table.nameless and found == rows
        if None not in found and not counts and sorted(found) == expected:
            _log.info("%s: took column %r, which holds the graph's ids, for the ids", table.title, name)
            return name
    return None


def align(embeddings: np.ndarray, ids: np.ndarray | None, graph: Graph) -> np.ndarray:
    """Put rows into the order of the graph's nodes. The ids 7, "7" and 7.0 are the same.

    Rows without ids must already have this order.
    """
    count = graph.num_nodes
    if ids is None:
        if len(embeddings) != count:
            raise SignnapError(f"there are {len(embeddings)} embeddings for {count} nodes of {graph.name}")
        return embeddings
    import pyarrow.compute as pc

    given, expected = object_keys(ids.tolist()), _graph_keys(graph)
    again = first_repeat(given)
    if again is not None:
        raise SignnapError(f"the embeddings hold node {given[again].as_py()!r} twice: expected one row per node")
    if len(given) != len(embeddings):
        raise SignnapError(f"there are {len(embeddings)} embeddings but {len(given)} ids")
    rows = pc.index_in(expected, value_set=given)
    if rows.null_count:
        missing = expected.filter(pc.is_null(rows))
        raise SignnapError(
            f"{len(missing)} nodes of {graph.name} have no embedding, the first is {missing[0].as_py()!r}"
        )
    if len(given) > count:
        unknown = given.filter(pc.invert(pc.is_in(given, value_set=expected)))[0].as_py()
        raise SignnapError(f"the embeddings hold node {unknown!r}, which is not in {graph.name}")
    return embeddings[rows.to_numpy()]


def _suffix(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix not in EMBEDDING_SUFFIXES:
        raise SignnapError(f"{path} ends in {suffix!r}: expected embeddings in {', '.join(EMBEDDING_SUFFIXES)}")
    return suffix


def _checked(array: np.ndarray, title: str) -> np.ndarray:
    if array.ndim != 2 or 0 in array.shape or array.dtype.kind not in "biuf":
        raise SignnapError(
            f"{title} are {array.dtype} of shape {array.shape}: expected numbers of shape (nodes, width)"
        )
    with np.errstate(over="ignore"):
        array = np.ascontiguousarray(array, dtype=np.float32)
    wrong = np.argwhere(~np.isfinite(array))
    if len(wrong):
        row, column = wrong[0]
        raise SignnapError(f"{title} hold {array[row, column]} in row {row}, column {column}: expected a finite number")
    return array


def _write_table(path: Path, embeddings: np.ndarray, ids: np.ndarray) -> None:
    import pyarrow as pa
    from pyarrow import csv, parquet

    key = pa.array(ids) if ids.dtype.kind in "iu" else object_keys(ids.tolist())
    columns = {"id": key} | {f"e{number}": pa.array(column) for number, column in enumerate(embeddings.T)}
    write = csv.write_csv if path.suffix.lower() == ".csv" else parquet.write_table
    with open(path, "wb") as file:  # Arrow opens only files with UTF-8 names
        write(pa.table(columns), file)


def _read_npy(path: Path) -> np.ndarray:
    """Copy the rows out of a memory map: a false size allocates nothing, and no pickled object is built.

    The rows must not stay in the map: writing them to the same file would empty the file first, and reading them after
    another program has shortened the file would end the process.
    """
    try:
        mapped = np.lib.format.open_memmap(path, mode="r")
    except Exception as error:  # numpy's parsers raise many types for a damaged header
        reason = "it holds pickled objects" if "Python objects" in str(error) else "it is damaged or something else"
        raise SignnapError(f"{path} is not a plain .npy array of numbers: {reason}") from error
    rows = _checked(mapped, f"the embeddings in {path}")
    return rows.copy() if np.may_share_memory(rows, mapped) else rows


def _graph_keys(graph: Graph) -> Any:
    """The ids of a graph as text; row numbers if it has no ids."""
    return object_keys(range(graph.num_nodes) if graph.ids is None else graph.ids.tolist())
