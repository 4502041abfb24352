"""The Planetoid citation graphs: cora, citeseer and pubmed."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import torch

from ..errors import SignnapError
from ..graph import Graph
from .pickles import read_pickle

_VALIDATION_NODES = 500


def read_planetoid(folder: Path, name: str) -> Graph:
    """Read ``ind.<name>.*``: the nodes of ``allx`` come first, those of ``tx`` stand where ``test.index`` says.

    Citeseer's ``test.index`` leaves out 15 nodes: they stay in the graph without features and label. The public
    split is the rows of ``y``, the next 500 nodes, and ``test.index``.
    """
    at = {part: folder / f"ind.{name}.{part}" for part in ("y", "tx", "ty", "allx", "ally", "graph", "test.index")}
    source, target, nodes = _edges(at["graph"])
    first, rest = _features(at["allx"]), _features(at["tx"])
    known = first.shape[0]
    test = _test_rows(at["test.index"], known, nodes)
    if rest.shape != (len(test), first.shape[1]):
        raise SignnapError(f"{at['tx']} has shape {rest.shape}, expected {(len(test), first.shape[1])}")

    place = sp.csr_matrix((np.ones(len(test)), (test - known, np.arange(len(test)))), shape=(nodes - known, len(test)))
    features = sp.vstack([first, place @ rest]).tocsr()
    labels = np.full(nodes, -1, dtype=np.int64)
    labels[:known] = _labels(at["ally"], known)
    labels[test] = _labels(at["ty"], len(test))

    trained = len(_labels(at["y"]))
    if trained + _VALIDATION_NODES > known:
        raise SignnapError(f"{at['y']} has {trained} rows, too many for {known} nodes before the test nodes")
    parts = np.arange(trained), np.arange(trained, trained + _VALIDATION_NODES), np.sort(test)
    given_split = {part: torch.from_numpy(rows) for part, rows in zip(("train", "val", "test"), parts, strict=True)}
    fields = {"y": torch.from_numpy(labels), "name": name, "given_split": given_split}
    try:
        return Graph.from_edges(source, target, features, num_nodes=nodes, **fields)
    except SignnapError as error:
        raise SignnapError(f"{folder / f'ind.{name}.*'}: {error}") from error


def _edges(path: Path) -> tuple[np.ndarray, np.ndarray, int]:
    """Endpoints from the dictionary of neighbour lists, which has one key per node."""
    neighbours = read_pickle(path)
    try:
        degrees = [len(others) for others in neighbours.values()]
        source = np.repeat(np.fromiter(neighbours, np.int64), degrees)
        target = np.fromiter(chain.from_iterable(neighbours.values()), np.int64)
    except (AttributeError, TypeError, ValueError, OverflowError) as error:
        raise SignnapError(f"{path} is not a dictionary of neighbour lists: {error}") from error
    nodes = len(degrees)
    outside = np.flatnonzero((np.minimum(source, target) < 0) | (np.maximum(source, target) >= nodes))
    if len(outside):
        pair = f"({source[outside[0]]}, {target[outside[0]]})"
        raise SignnapError(f"{path} has the edge {pair}, expected nodes 0 to {nodes - 1}")
    return source, target, nodes


def _features(path: Path) -> sp.csr_matrix:
    matrix = read_pickle(path)
    if not sp.issparse(matrix):
        raise SignnapError(f"{path} holds {type(matrix).__name__}, expected a sparse matrix")
    return matrix


def _labels(path: Path, rows: int | None = None) -> np.ndarray:
    """Class numbers from one-hot rows; a row of zeros is a missing label."""
    one_hot = read_pickle(path)
    if not isinstance(one_hot, np.ndarray) or one_hot.ndim != 2 or (rows is not None and len(one_hot) != rows):
        raise SignnapError(
            f"{path} has shape {getattr(one_hot, 'shape', None)}, expected one row for each of {rows} nodes"
        )
    return np.where(one_hot.any(axis=1), one_hot.argmax(axis=1), -1)


def _test_rows(path: Path, first: int, nodes: int) -> np.ndarray:
    """The node of every row of ``tx``, all of them distinct and behind the ``first`` ones."""
    try:
        lines = path.read_text(encoding="ascii").split()
    except (OSError, UnicodeDecodeError) as error:
        raise SignnapError(f"cannot read {path}: {error}") from error
    seen: dict[int, None] = {}
    for number, line in enumerate(lines, start=1):
        if not line.isdigit() or not first <= int(line) < nodes or int(line) in seen:
            raise SignnapError(
                f"{path}, line {number}: found {line!r}, expected a new node from {first} to {nodes - 1}"
            )
        seen[int(line)] = None
    return np.fromiter(seen, np.int64)
