"""Sparse matrices from parts that nobody vouches for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

_MAX_COLUMNS = 1 << 24


def checked_csr(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: Sequence[int]) -> sp.csr_matrix:
    """Join CSR parts into a single-precision matrix without duplicates and stored zeros.

    Raises ValueError, in words, where the parts do not fit together: scipy's kernels would follow a wrong index
    outside the array.
    """
    indices, indptr = indices.astype(np.int64), indptr.astype(np.int64)
    if len(shape) != 2 or min(shape) < 0 or shape[1] > max(shape[0], _MAX_COLUMNS):
        raise ValueError(f"the shape is {list(shape)}, expected rows and at most {_MAX_COLUMNS:,} columns")
    if len(indptr) != shape[0] + 1:
        raise ValueError(f"indptr has {len(indptr):,} entries for {shape[0]:,} rows, expected one more than rows")
    if len(indices) != len(data):
        raise ValueError(f"there are {len(indices):,} indices for {len(data):,} values")
    if indptr[0] != 0 or indptr[-1] != len(indices) or (np.diff(indptr) < 0).any():
        raise ValueError(f"indptr does not rise from 0 to {len(indices):,}")
    outside = np.flatnonzero((indices < 0) | (indices >= shape[1]))
    if len(outside):
        row = int(np.searchsorted(indptr, outside[0], side="right")) - 1
        raise ValueError(f"row {row} has column index {indices[outside[0]]}, expected 0 to {shape[1] - 1}")
    with np.errstate(over="ignore"):  # an overflow gives an infinite number, which Graph refuses with its place
        matrix = sp.csr_matrix((data.astype(np.float32), indices, indptr), shape=tuple(shape))
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix
