"""The Planetoid citation graphs cora, citeseer and pubmed, from their Python 2 pickles.

A pickle is a program. The reader here runs none of it: the few globals that these files name become inert records, the
arrays are built from the records afterwards, and any other global is an error.
"""

from __future__ import annotations

import io
import pickle
import pickletools
from collections import defaultdict
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from ..errors import SignnapError
from ..graph import Graph
from ..storage import cannot_read
from .npz import checked_csr

_VALIDATION_NODES = 500
_MAX_BYTES = 1 << 27
_NUMBER_TYPES = ("f4", "f8", "i4", "i8")
_DAMAGE = (
    pickle.UnpicklingError, ArithmeticError, AttributeError, EOFError, LookupError, RuntimeError, TypeError, ValueError,
)  # fmt: skip


def read_planetoid(folder: Path, name: str) -> Graph:
    """Read ``ind.<name>.*``. The nodes of ``allx`` come first; ``test.index`` gives the node of each row of ``tx``.

    The ``test.index`` of citeseer skips 15 nodes, which stay in the graph without features and label. The public split
    consists of the rows of ``y``, the next 500 nodes, and ``test.index``.
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
    """Endpoints and number of nodes from the dictionary of neighbour lists, which has one key per node."""
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
    """The node of every row of ``tx``: each node once, and none of the ``first`` nodes."""
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


# -- pickles -----------------------------------------------------------------------------------------------------------


class _Record:
    """What a pickle says about an object: the arguments of its constructor, and its state. Nothing is executed."""

    args: tuple[Any, ...]
    state: Any = None

    def __new__(cls, *args: Any) -> _Record:
        record = super().__new__(cls)
        record.args = args
        return record

    def __setstate__(self, state: Any) -> None:
        self.state = state


class _Array(_Record):
    pass


class _NumberType(_Record):
    pass


class _Csr(_Record):
    pass


_ALLOWED: dict[tuple[str, str], Any] = {
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _NumberType,
    ("scipy.sparse.csr", "csr_matrix"): _Csr,
    ("collections", "defaultdict"): defaultdict,
    ("__builtin__", "list"): list,
}


def read_pickle(path: Path) -> Any:
    """Read the numpy array, CSR matrix or plain container in a Python 2 pickle."""
    try:
        size = path.stat().st_size
        if size > _MAX_BYTES:
            raise SignnapError(f"{path} is {size:,} bytes long, the limit is {_MAX_BYTES:,}")
        content = path.read_bytes()
    except OSError as error:
        raise cannot_read(path, error) from error
    try:
        _check_sizes(content)
        return _built(_Reader(content, path).load())
    except _DAMAGE as error:
        raise SignnapError(f"{path} is damaged, or no pickle of numbers: {error or type(error).__name__}") from error


class _Reader(pickle.Unpickler):
    """An unpickler that knows the globals in ``_ALLOWED`` and refuses all others."""

    def __init__(self, content: bytes, path: Path) -> None:
        super().__init__(io.BytesIO(content), fix_imports=False, encoding="latin1")
        self._path = path

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise SignnapError(
                f"{self._path} asks for {module}.{name}: a data file must not run code, so it is not read"
            )
        return _ALLOWED[module, name]


def _check_sizes(content: bytes) -> None:
    """Refuse lengths and memo places beyond the size of the file: the unpickler would allocate them unchecked."""
    for operation, argument, _ in pickletools.genops(content):
        if operation.name == "LONG_BINPUT" and int(argument or 0) > len(content):
            raise ValueError(f"memo place {argument} in a file of {len(content)} bytes")


def _built(found: Any) -> Any:
    if isinstance(found, _Csr):
        data, indices, indptr = (_array(found.state[part]) for part in ("data", "indices", "indptr"))
        return checked_csr(data, indices, indptr, found.state["_shape"])
    return _array(found) if isinstance(found, _Record) else found


def _array(record: Any) -> np.ndarray:
    """Build an array from the state that numpy pickles: (version, shape, dtype, Fortran order, bytes)."""
    if not isinstance(record, _Array):
        raise TypeError(f"found {type(record).__name__} where an array was expected")
    _, shape, kind, by_columns, raw = record.state
    code, byte_order = kind.args[0], kind.state[1]
    if code not in _NUMBER_TYPES or byte_order not in "<>":
        raise ValueError(f"found an array of {byte_order}{code}, expected one of {', '.join(_NUMBER_TYPES)}")
    numbers = np.frombuffer(raw.encode("latin1"), dtype=byte_order + code)
    return numbers.reshape(shape, order="F" if by_columns else "C")
