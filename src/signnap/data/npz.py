"""Graphs in numpy archives with the keys of the gnn-benchmark files.

An archive is untrusted data. The reader unpickles nothing, and compares the declared shape of each array with the bytes
that are there before it allocates memory.
"""

from __future__ import annotations

import logging
import math
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from ..errors import SignnapError
from ..graph import Graph, SparseFeatures
from ..storage import cannot_read, replacing

_log = logging.getLogger(__name__)

_MAX_BYTES = 1 << 32
_MAX_COLUMNS = 1 << 24
NUMBERS, WHOLE, TEXT = "biuf", "iu", "U"  # numpy's one-letter kinds of data
_DAMAGE = (OSError, EOFError, ValueError, RuntimeError, OverflowError, struct.error, zipfile.BadZipFile, zlib.error)


def read_npz(path: str | Path, build: Callable[..., Graph], name: str | None = None) -> Graph:
    """Read a graph from an archive; ``build`` makes the Graph from the arguments of ``Graph.from_edges``.

    The archive has ``adj_*`` and optionally ``attr_*`` (CSR parts, or dense ``adj_matrix`` and ``attr_matrix``),
    ``labels`` and ``class_names``. Without ``attr_*``, ``build`` gets None for the features.
    """
    with NpzArchive(path) as archive:
        parts = graph_parts(archive, name or Path(path).stem)
    try:
        return build(**parts)
    except SignnapError as error:
        raise SignnapError(f"{path}: {error}") from error


def write_npz(path: str | Path, graph: Graph, **extra: np.ndarray) -> None:
    """Write edges, features, labels and class names in the layout that ``read_npz`` reads.

    The archive holds no ids, no feature names and no given split. ``extra`` arrays go into the archive under their own
    keys, which ``read_npz`` ignores.
    """
    arrays = dict(extra)
    arrays |= _csr_arrays("adj", graph.pattern.to_scipy())
    if isinstance(graph.x, SparseFeatures):
        arrays |= _csr_arrays("attr", graph.x.to_scipy())
    else:
        arrays["attr_matrix"] = graph.x.cpu().numpy()
    if graph.y is not None:
        arrays["labels"] = graph.y.cpu().numpy()
    if graph.classes:
        arrays["class_names"] = np.array(graph.classes, dtype=np.str_)
    with replacing(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        for key, array in arrays.items():
            with archive.open(f"{key}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


class NpzArchive:
    """An open numpy archive. Every fault in it raises an error that names the file."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        try:
            self._zip = zipfile.ZipFile(self.path)
        except OSError as error:
            raise cannot_read(self.path, error) from error
        except _DAMAGE as error:
            raise self.fault("is not a numpy archive (.npz), or it was cut short") from error
        size = sum(member.file_size for member in self._zip.infolist())
        if size > _MAX_BYTES:
            self._zip.close()
            raise self.fault(f"unpacks to {size:,} bytes, the limit is {_MAX_BYTES:,}")

    def __enter__(self) -> NpzArchive:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def __contains__(self, key: str) -> bool:
        return f"{key}.npy" in self._zip.NameToInfo

    def fault(self, what: str) -> SignnapError:
        return SignnapError(f"{self.path} {what}")

    def array(self, key: str, kinds: str, ndim: int) -> np.ndarray:
        """Read one array and check that it holds the expected kind of data."""
        if key not in self:
            found = ", ".join(sorted(name.removesuffix(".npy") for name in self._zip.namelist())) or "nothing"
            raise self.fault(f"has no array {key!r}: found {found}")
        self._check(key, kinds, ndim)
        with self._opened(key) as stream:
            return np.lib.format.read_array(stream, allow_pickle=False)

    def kind(self, key: str) -> str:
        """The kind of data in an array, as numpy's letter ("O" for pickled objects)."""
        return self._header(key)[1].kind

    @contextmanager
    def _opened(self, key: str) -> Iterator[IO[bytes]]:
        """Yield the bytes of one array. Any failure while the caller reads them is reported as damage."""
        try:
            with self._zip.open(f"{key}.npy") as stream:
                yield stream
        except Exception as error:  # numpy's parsers raise many types for a damaged header
            words = str(error).splitlines() if isinstance(error, _DAMAGE) else ()
            reason = words[0] if words else "numpy writes no such header"
            raise self.fault(f"is damaged at {key!r}: {reason}") from error

    def _header(self, key: str) -> tuple[tuple[int, ...], np.dtype, int]:
        with self._opened(key) as stream:
            version = np.lib.format.read_magic(stream)
            readers: dict[Any, Any] = {
                (1, 0): np.lib.format.read_array_header_1_0,
                (2, 0): np.lib.format.read_array_header_2_0,
            }
            if version not in readers:
                raise ValueError(f"unknown format version {version}")
            shape, _, dtype = readers[version](stream)
            return shape, dtype, stream.tell()

    def _check(self, key: str, kinds: str, ndim: int) -> None:
        shape, dtype, start = self._header(key)
        if dtype.hasobject:
            raise self.fault(
                f"holds pickled objects in {key!r}, which are never loaded: save it as plain numbers or text"
            )
        if dtype.kind not in kinds or len(shape) != ndim:
            expected = {NUMBERS: "numbers", WHOLE: "whole numbers", TEXT: "text"}[kinds]
            raise self.fault(f"has {dtype} of shape {shape} in {key!r}: expected {expected}, {ndim}-dimensional")
        present = self._zip.getinfo(f"{key}.npy").file_size - start
        if dtype.itemsize == 0 or min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != present:
            raise self.fault(f"is damaged at {key!r}: {present:,} bytes are no {dtype} of shape {shape}")


def graph_parts(archive: NpzArchive, name: str) -> dict[str, Any]:
    """The arguments of ``Graph.from_edges`` from an open archive; ``x`` is None if it has no attributes."""
    source, target, nodes = _edges(archive)
    x = _features(archive) if "attr_data" in archive or "attr_matrix" in archive else None
    y = _labels(archive, nodes)
    classes = _class_names(archive, y)
    return {
        "source": source, "target": target, "x": x, "num_nodes": nodes, "name": name, "y": y, "classes": classes,
    }  # fmt: skip


def _edges(archive: NpzArchive) -> tuple[np.ndarray, np.ndarray, int]:
    """The ends of all edges and the number of nodes. Every stored entry other than 0 is an edge.

    Weights keep their type, so that none is rounded to 0, and entries of one pair are not added, so that none cancel.
    """
    if "adj_matrix" in archive:
        weights = archive.array("adj_matrix", NUMBERS, 2)
        shape, (source, target) = weights.shape, weights.nonzero()
    else:
        weights, target, indptr, shape = _csr_parts(archive, "adj")
        source = np.repeat(np.arange(shape[0]), np.diff(indptr))[weights != 0]
        target = target[weights != 0]
    if shape[0] != shape[1]:
        raise archive.fault(f"has an adjacency of shape {shape}: expected a square")
    if not np.isfinite(weights).all():
        raise archive.fault("has an edge whose weight is not a finite number")
    return source, target, shape[0]


def _features(archive: NpzArchive) -> Any:
    """The dense array or the CSR matrix of features, as float32. A warning counts the values that become 0."""
    if "attr_matrix" in archive:
        values = archive.array("attr_matrix", NUMBERS, 2)
        with np.errstate(over="ignore", under="ignore"):  # Graph refuses an infinite number
            x = values.astype(np.float32, copy=False)
        lost = np.count_nonzero(values) - np.count_nonzero(x)
    else:
        values, indices, indptr, shape = _csr_parts(archive, "attr")
        x = _joined(values, indices, indptr, shape)
        with np.errstate(over="ignore", under="ignore"):
            lost = np.count_nonzero(values) - np.count_nonzero(values.astype(np.float32))
    if lost:
        _log.warning("%s: %d values of features are too small for float32 and become 0", archive.path, lost)
    return x


def _csr_parts(archive: NpzArchive, prefix: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple[int, ...]]:
    """The data, indices, indptr and shape of a CSR matrix, checked against each other."""
    data = archive.array(f"{prefix}_data", NUMBERS, 1)
    indices, indptr, shape = (archive.array(f"{prefix}_{part}", WHOLE, 1) for part in ("indices", "indptr", "shape"))
    try:
        return data, *_checked_positions(data, indices, indptr, shape.tolist()), tuple(shape.tolist())
    except ValueError as error:
        raise archive.fault(f"is inconsistent in '{prefix}_*': {error}") from error


def _labels(archive: NpzArchive, nodes: int) -> Tensor | None:
    if "labels" not in archive:
        return None
    labels = archive.array("labels", WHOLE, 1)
    if len(labels) != nodes:
        raise archive.fault(f"has {len(labels):,} labels for {nodes:,} nodes")
    wrong = np.flatnonzero((labels < -1) | (labels >= nodes))
    if len(wrong):
        found = f"label {labels[wrong[0]]} at node {wrong[0]}"
        raise archive.fault(f"has {found}: expected class numbers from 0, below the number of nodes, or -1 for none")
    return torch.from_numpy(labels.astype(np.int64))


def _class_names(archive: NpzArchive, labels: Tensor | None) -> tuple[str, ...]:
    """The class names if they are plain text. Some archives pickle them; then the graph has no names."""
    if labels is None or "class_names" not in archive or archive.kind("class_names") not in TEXT:
        return ()
    names = archive.array("class_names", TEXT, 1)
    if bool((labels >= len(names)).any()):
        raise archive.fault(f"has {len(names)} class names, but label {int(labels.max())} occurs")
    try:
        found = tuple(names.tolist())
        "".join(found).encode()  # half a surrogate pair cannot be printed or saved
        return found
    except (ValueError, SystemError) as error:
        raise archive.fault("has class names that are not text") from error


def _csr_arrays(prefix: str, matrix: sp.csr_matrix) -> dict[str, np.ndarray]:
    parts = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr, "shape": np.array(matrix.shape)}
    return {f"{prefix}_{part}": array for part, array in parts.items()}


def checked_csr(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: Sequence[int]) -> sp.csr_matrix:
    """Join untrusted CSR parts into a float32 matrix without duplicates and stored zeros.

    Parts that do not fit together raise ValueError with a message for users. scipy itself would follow a wrong index
    outside the array.
    """
    return _joined(data, *_checked_positions(data, indices, indptr, shape), shape)


def _checked_positions(
    data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Indices and indptr as int64, or ValueError if the parts of a CSR matrix do not fit together."""
    if len(shape) != 2 or min(shape) < 0 or shape[1] > max(shape[0], _MAX_COLUMNS):
        raise ValueError(f"the shape is {list(shape)}, expected rows and at most {_MAX_COLUMNS:,} columns")
    if len(indptr) != shape[0] + 1:
        raise ValueError(f"indptr has {len(indptr):,} entries for {shape[0]:,} rows, expected one more than rows")
    if len(indices) != len(data):
        raise ValueError(f"there are {len(indices):,} indices for {len(data):,} values")
    if indptr[0] != 0 or indptr[-1] != len(indices) or (indptr[1:] < indptr[:-1]).any():
        raise ValueError(f"indptr does not rise from 0 to {len(indices):,}")
    outside = np.flatnonzero((indices < 0) | (indices >= shape[1]))  # before an unsigned number becomes a negative one
    if len(outside):
        row = int(np.searchsorted(indptr, outside[0], side="right")) - 1
        raise ValueError(f"row {row} has column index {indices[outside[0]]}, expected 0 to {shape[1] - 1}")
    return indices.astype(np.int64), indptr.astype(np.int64)


def _joined(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: Sequence[int]) -> sp.csr_matrix:
    """A float32 matrix in which entries of one place are added."""
    with np.errstate(over="ignore", under="ignore"):  # Graph names the place of an infinite number
        matrix = sp.csr_matrix((data.astype(np.float32), indices, indptr), shape=tuple(shape))
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix
