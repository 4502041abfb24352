"""Conversion of the caller's arrays: lists, numpy arrays, torch tensors and scipy matrices.

Each function checks its input first, and raises an error of one sentence that says what is wrong.
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

#: The types in which callers may pass numbers.
Array = Union[Tensor, np.ndarray, Sequence[Any]]

_WHOLE, _NUMBERS = "iu", "biuf"  # numpy's one-letter kinds of data


def as_tensor(array: Array, what: str = "array") -> Tensor:
    """Numbers as a tensor, which shares numpy's memory if torch accepts that memory without a warning.

    ``what`` names the array in the error message.
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
    """Raise an error for a compressed matrix with positions outside its shape, which scipy does not check by itself."""
    try:
        if matrix.format in ("csr", "csc", "bsr"):
            matrix.check_format(full_check=True)
    except ValueError as error:
        raise SignnapError(
            f"the {what} came as a damaged scipy matrix ({error}): expected one as scipy made it"
        ) from error


def endpoints(source: Any, target: Any) -> tuple[np.ndarray, np.ndarray]:
    """Both ends of every edge as row numbers. Floats are an error, even whole ones: a rounded id is another node."""
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
    """One integer per node, copied, so that the graph does not change when the caller's labels change."""
    labels = as_tensor(y, "labels")
    if tuple(labels.shape) != (num_nodes,) or labels.is_floating_point() or labels.is_complex():
        described = f"{labels.dtype} of shape {tuple(labels.shape)}"
        raise SignnapError(f"the labels are {described}: expected whole numbers of shape ({num_nodes},)")
    labels = labels.to_dense()
    numbers = labels.to(torch.int64, copy=True)
    if not labels.dtype.is_signed and bool((numbers < 0).any()):  # torch.uint64 wraps round to "no label"
        row = int((numbers < 0).nonzero()[0])
        raise SignnapError(
            f"the label of node {row} is {labels.cpu().numpy()[row]}: expected a class number below 2^63"
        )
    return numbers


def node_ids(ids: Any, num_nodes: int) -> np.ndarray:
    """One id per node, copied like the labels."""
    found = _as_array(ids, "ids")
    if found.shape != (num_nodes,):
        raise SignnapError(f"the ids have shape {found.shape}: expected ({num_nodes},), one per node")
    for row, given in enumerate(() if isinstance(ids, np.ndarray) or found.dtype.kind != "U" else ids):
        if str(given).endswith("\0"):
            raise SignnapError(f"the id of node {row} is {given!r}: expected one that does not end in a NUL character")
    return found.copy()


def expect_float32() -> None:
    """Raise an error if torch's default dtype is not float32: weights would not fit the features."""
    if (kind := torch.get_default_dtype()) != torch.float32:
        raise SignnapError(
            f"torch's default dtype is {kind}: expected torch.float32, which set_default_dtype brings back"
        )


def hash_of(tensors: Iterable[Tensor]) -> str:
    """A hash of shapes and numbers, of sixteen hexadecimal digits."""
    digest = hashlib.sha256()
    for tensor in tensors:
        digest.update(str(tuple(tensor.shape)).encode())
        digest.update(np.ascontiguousarray(tensor.cpu().numpy()).tobytes())
    return digest.hexdigest()[:16]


def _as_array(given: Any, what: str) -> np.ndarray:
    try:
        if isinstance(given, Tensor):
            given = given.detach().cpu().to_dense()
            if given.is_floating_point() and given.element_size() < 4:  # numpy or scipy may lack these types
                given = given.float()
        array = np.asarray(given)
    except (TypeError, ValueError, RuntimeError) as error:
        raise SignnapError(
            f"the {what} came as a {type(given).__name__} that is no array: expected rows of equal length"
        ) from error
    return array.astype(np.int64) if array.shape == (0,) else array  # numpy makes an empty list an array of floats
