"""What a graph is made of as anyone has it: lists, numpy's arrays, torch's tensors, scipy's matrices.

Each is checked before it is used, so that what is wrong with it is said in one sentence.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any, Union

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from ..errors import SignnapError

#: Whatever numbers may come as.
Array = Union[Tensor, np.ndarray, Sequence[Any]]

_WHOLE, _NUMBERS = "iu", "biuf"  # numpy's one-letter kinds of data


def as_tensor(array: Array, what: str = "array") -> Tensor:
    """Numbers as a tensor, which shares numpy's memory where torch would take that without a warning.

    ``what`` names them in the error if they are not numbers.
    """
    if isinstance(array, Tensor):
        return array
    found = _as_array(array, what)
    if found.dtype.kind not in _NUMBERS:
        raise SignnapError(f"the {what} came as {found.dtype}: expected numbers")
    return torch.from_numpy(np.require(found, found.dtype.newbyteorder("="), ["C", "W"]))


def feature_matrix(x: Any) -> Any:
    """Features as a scipy matrix or a numpy array; sparse tensors stay sparse."""
    if isinstance(x, Tensor) and x.layout != torch.strided and x.sparse_dim() == 2 == x.dim():
        entries = x.detach().cpu().to_sparse_coo().coalesce()
        x = sp.csr_matrix((_as_array(entries.values(), "features"), entries.indices().numpy()), shape=tuple(x.shape))
    elif sp.issparse(x):
        expect_inside(x, "features")
    else:
        x = _as_array(x, "features")
    if x.ndim != 2 or x.dtype.kind not in _NUMBERS:
        raise SignnapError(
            f"the features are {x.dtype} of shape {x.shape}: expected numbers of shape (nodes, features)"
        )
    return x


def expect_inside(matrix: Any, what: str) -> None:
    """Refuse a compressed matrix with positions outside it: scipy checks them only when it is asked to."""
    try:
        if matrix.format in ("csr", "csc", "bsr"):
            matrix.check_format(full_check=True)
    except ValueError as error:
        raise SignnapError(
            f"the {what} came as a damaged scipy matrix ({error}): expected one as scipy made it"
        ) from error


def endpoints(source: Any, target: Any) -> tuple[np.ndarray, np.ndarray]:
    """Both ends of every edge as row numbers. Floats are refused, even whole ones: a rounded id is another node."""
    found = [_as_array(ends, "endpoints of edges") for ends in (source, target)]
    for ends in found:
        if ends.ndim != 1 or ends.dtype.kind not in _WHOLE:
            described = f"{ends.dtype} of shape {ends.shape}"
            raise SignnapError(f"the endpoints of edges are {described}: expected whole numbers of shape (edges,)")
    if len(found[0]) != len(found[1]):
        counts = f"{len(found[0]):,} sources for {len(found[1]):,} targets"
        raise SignnapError(f"the edges have {counts}: expected one each")
    return found[0].astype(np.int64, copy=False), found[1].astype(np.int64, copy=False)


def class_numbers(y: Any, num_nodes: int) -> Tensor:
    """One whole number per node, in a tensor of its own: graphs do not change when the caller's labels do."""
    labels = as_tensor(y, "labels")
    if tuple(labels.shape) != (num_nodes,) or labels.is_floating_point() or labels.is_complex():
        described = f"{labels.dtype} of shape {tuple(labels.shape)}"
        raise SignnapError(f"the labels are {described}: expected whole numbers of shape ({num_nodes},)")
    return labels.to_dense().to(torch.int64, copy=True)


def node_ids(ids: Any, num_nodes: int) -> np.ndarray:
    """One id per node, in an array of its own like the labels."""
    found = _as_array(ids, "ids")
    if found.shape != (num_nodes,):
        raise SignnapError(f"the ids have shape {found.shape}: expected ({num_nodes},), one per node")
    for row, given in enumerate(() if isinstance(ids, np.ndarray) or found.dtype.kind != "U" else ids):
        if str(given).endswith("\0"):
            raise SignnapError(f"the id of node {row} is {given!r}: expected one that does not end in a NUL character")
    return found.copy()


def expect_float32() -> None:
    """Refuse to begin where torch makes tensors of another kind by default: weights would not fit features."""
    if (kind := torch.get_default_dtype()) != torch.float32:
        raise SignnapError(
            f"torch's default dtype is {kind}: expected torch.float32, which set_default_dtype brings back"
        )


def hash_of(tensors: Iterable[Tensor]) -> str:
    """Sixteen digits that other shapes or numbers would hardly have."""
    digest = hashlib.sha256()
    for tensor in tensors:
        digest.update(str(tuple(tensor.shape)).encode())
        digest.update(np.ascontiguousarray(tensor.cpu().numpy()).tobytes())
    return digest.hexdigest()[:16]


def _as_array(given: Any, what: str) -> np.ndarray:
    try:
        if isinstance(given, Tensor):
            given = given.detach().cpu().to_dense()
            if given.is_floating_point() and given.element_size() < 4:  # which numpy or scipy may not have
                given = given.float()
        array = np.asarray(given)
    except (TypeError, ValueError, RuntimeError) as error:
        raise SignnapError(
            f"the {what} came as a {type(given).__name__} that is no array: expected rows of equal length"
        ) from error
    return array.astype(np.int64) if array.shape == (0,) else array  # an empty list passes for floats otherwise
