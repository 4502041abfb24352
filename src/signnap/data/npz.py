"""Graphs in numpy archives with the keys of the gnn-benchmark files.

An archive is data from anywhere: nothing in it is unpickled, and no array is allocated before its declared shape
has been compared with the bytes that are really there.
"""

from __future__ import annotations

import math
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
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
from .assemble import assemble
from .csr import checked_csr

_MAX_BYTES = 1 << 32
NUMBERS, WHOLE, TEXT = "biuf", "iu", "U"  # numpy's one-letter kinds of data
_DAMAGE = (OSError, EOFError, ValueError, RuntimeError, OverflowError, struct.error, zipfile.BadZipFile, zlib.error)


def read_npz(path: str | Path, name: str | None = None, build: Callable[..., Graph] = assemble) -> Graph:
    """Read ``adj_*``, ``attr_*`` (CSR parts, or dense ``adj_matrix`` and ``attr_matrix``), ``labels``, ``class_names``.

    Without ``attr_*`` the features are structural ones, recognisable by ``feature_names``. The name of a public data
    set becomes "… (own)": an archive may hold anything. ``build`` makes the graph of its parts; public data sets have
    all of them, and keep their names.
    """
    with NpzArchive(path) as archive:
        parts = graph_parts(archive, name or Path(path).stem)
    try:
        return build(**parts)
    except SignnapError as error:
        raise SignnapError(f"{path}: {error}") from error


def write_npz(path: str | Path, graph: Graph, **extra: np.ndarray) -> None:
    """Write edges, features, labels and class names so that ``read_npz`` gives them back.

    Ids, feature names and a split that the graph came with are not written; ``extra`` arrays go along under their own
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
    """A numpy archive read as data; every fault in it is a sentence that names the file."""

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
        """Read one array after checking that it holds the expected kind of data."""
        if key not in self:
            found = ", ".join(sorted(name.removesuffix(".npy") for name in self._zip.namelist())) or "nothing"
            raise self.fault(f"has no array {key!r}: found {found}")
        self._check(key, kinds, ndim)
        with self._opened(key) as stream:
            return np.lib.format.read_array(stream, allow_pickle=False)

    def kind(self, key: str) -> str:
        """Which kind of data an array holds, by numpy's letter ("O": pickled objects)."""
        return self._header(key)[1].kind

    @contextmanager
    def _opened(self, key: str) -> Iterator[IO[bytes]]:
        """The bytes of one array; whatever fails while they are read is damage in words."""
        try:
            with self._zip.open(f"{key}.npy") as stream:
                yield stream
        except Exception as error:  # numpy passes on whatever its parsers of a damaged header raise
            words = str(error).splitlines() if isinstance(error, _DAMAGE) else ()
            reason = words[0] if words else "its header is none that numpy writes"
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
    """The arguments of ``Graph.from_edges`` for an open archive; ``x`` is None where it has no attributes."""
    adjacency = _matrix(archive, "adj")
    nodes = adjacency.shape[0]
    if adjacency.shape[1] != nodes:
        raise archive.fault(f"has an adjacency of shape {adjacency.shape}: expected a square")
    if not np.isfinite(adjacency.data if sp.issparse(adjacency) else adjacency).all():
        raise archive.fault("has an edge whose weight is not a finite number")
    source, target = adjacency.nonzero()
    x = _matrix(archive, "attr") if "attr_data" in archive or "attr_matrix" in archive else None
    y = _labels(archive, nodes)
    classes = _class_names(archive, y)
    return {
        "source": source, "target": target, "x": x, "num_nodes": nodes, "name": name, "y": y, "classes": classes,
    }  # fmt: skip


def _matrix(archive: NpzArchive, prefix: str) -> Any:
    """The dense array or CSR matrix under this prefix, in single precision."""
    if f"{prefix}_matrix" in archive:
        with np.errstate(over="ignore"):  # as in checked_csr
            return archive.array(f"{prefix}_matrix", NUMBERS, 2).astype(np.float32, copy=False)
    data = archive.array(f"{prefix}_data", NUMBERS, 1)
    indices, indptr, shape = (archive.array(f"{prefix}_{part}", WHOLE, 1) for part in ("indices", "indptr", "shape"))
    try:
        return checked_csr(data, indices, indptr, shape.tolist())
    except ValueError as error:
        raise archive.fault(f"is inconsistent in '{prefix}_*': {error}") from error


def _labels(archive: NpzArchive, nodes: int) -> Tensor | None:
    if "labels" not in archive:
        return None
    labels = archive.array("labels", WHOLE, 1).astype(np.int64)
    if len(labels) != nodes:
        raise archive.fault(f"has {len(labels):,} labels for {nodes:,} nodes")
    wrong = np.flatnonzero((labels < -1) | (labels >= nodes))
    if len(wrong):
        found = f"label {labels[wrong[0]]} at node {wrong[0]}"
        raise archive.fault(f"has {found}: expected class numbers from 0, below the number of nodes, or -1 for none")
    return torch.from_numpy(labels)


def _class_names(archive: NpzArchive, labels: Tensor | None) -> tuple[str, ...]:
    """The names where they are plain text; some archives pickle them, and a graph needs no names."""
    if labels is None or "class_names" not in archive or archive.kind("class_names") not in TEXT:
        return ()
    names = archive.array("class_names", TEXT, 1)
    if bool((labels >= len(names)).any()):
        raise archive.fault(f"has {len(names)} class names, but label {int(labels.max())} occurs")
    try:
        found = tuple(names.tolist())
        "".join(found).encode()  # halves of characters cannot be printed or saved
        return found
    except (ValueError, SystemError) as error:
        raise archive.fault("has class names that are not text") from error


def _csr_arrays(prefix: str, matrix: sp.csr_matrix) -> dict[str, np.ndarray]:
    parts = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr, "shape": np.array(matrix.shape)}
    return {f"{prefix}_{part}": array for part, array in parts.items()}
