"""Where the non-zeros of a matrix are, in 32 bits: half the memory, and what the kernels read."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from ..errors import SignnapError

_INT32_MAX = 2**31 - 1


def expect_32_bits(matrix: sp.csr_matrix, what: str) -> None:
    """Refuse a matrix whose rows, columns or entries have larger numbers, which would wrap round unnoticed."""
    count = max(matrix.nnz, *matrix.shape)
    if count > _INT32_MAX:
        raise SignnapError(f"{count:,} {what} do not fit 32-bit positions: expected at most {_INT32_MAX:,}")


def int32(array: np.ndarray) -> Tensor:
    """An array whose numbers are known to fit, as an int32 tensor."""
    return torch.from_numpy(np.ascontiguousarray(array, dtype=np.int32))


def flipped(matrix: sp.csr_matrix) -> sp.csr_matrix:
    """The transpose, of which each value is the position of its entry before."""
    order = np.arange(matrix.nnz, dtype=np.int64)
    return sp.csr_matrix((order, matrix.indices, matrix.indptr), matrix.shape).T.tocsr()
