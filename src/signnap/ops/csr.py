"""CSR arrays with 32-bit positions: half the memory of 64 bits, and the format that all kernels read."""

from __future__ import annotations

import warnings
from typing import NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from ..errors import SignnapError

_INT32_MAX = 2**31 - 1

#: Maximal number of entries in a piece. It is large enough to pay for a program, and small enough that all programs end
#: at about the same time.
MAX_PIECE = 64


def expect_32_bits(matrix: sp.csr_matrix, what: str) -> None:
    """Raise an error if a row, column or entry number of the matrix exceeds int32; numpy would wrap it silently."""
    count = max(matrix.nnz, *matrix.shape)
    if count > _INT32_MAX:
        raise SignnapError(f"{count:,} {what} do not fit 32-bit positions: expected at most {_INT32_MAX:,}")


def int32(array: np.ndarray) -> Tensor:
    """Convert an array to an int32 tensor. The caller has checked that the numbers fit."""
    return torch.from_numpy(np.ascontiguousarray(array, dtype=np.int32))


def transposed_positions(matrix: sp.csr_matrix) -> sp.csr_matrix:
    """The transpose, in which each value is the position of that entry in the given matrix."""
    order = np.arange(matrix.nnz, dtype=np.int64)
    return sp.csr_matrix((order, matrix.indices, matrix.indptr), matrix.shape).T.tocsr()


def csr_tensor(indptr: Tensor, indices: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    """Wrap CSR arrays as a torch tensor without a validity check: this package builds only valid arrays."""
    return torch.sparse_csr_tensor(indptr, indices, values, shape, check_invariants=False)


with warnings.catch_warnings():  # the first CSR tensor of a process triggers torch's beta warning; trigger it here
    warnings.simplefilter("ignore")
    _none = torch.zeros(1, dtype=torch.int32, device="cpu")
    csr_tensor(_none, _none[:0], _none[:0], (0, 0))


class Pieces(NamedTuple):
    """The rows of a CSR matrix, cut into pieces, so that many programs share the work of one long row.

    ``rows``, ``starts`` and ``stops`` give the row, first entry and end of each piece. ``slots`` gives the place of its
    partial result, or −1 if the piece is the whole row. ``hubs`` are the rows of several pieces; hub h owns the slots
    ``firsts[h]`` to ``firsts[h + 1]``.
    """

    rows: Tensor
    starts: Tensor
    stops: Tensor
    slots: Tensor
    hubs: Tensor
    firsts: Tensor


def cut_rows(indptr: Tensor, longest: int = MAX_PIECE) -> Pieces:
    """Cut rows of more than ``longest`` entries. This synchronises with the device: call it once per matrix."""
    bounds = indptr.cpu().long()
    lengths = bounds.diff()
    counts = ((lengths + longest - 1) // longest).clamp(min=1)  # an empty row is one piece, which writes its zeros
    rows = torch.repeat_interleave(torch.arange(len(lengths)), counts)
    before = counts.cumsum(0) - counts
    starts = bounds[:-1][rows] + (torch.arange(len(rows)) - before[rows]) * longest
    stops = torch.minimum(starts + longest, bounds[1:][rows])
    several = counts[rows] > 1
    slots = torch.where(several, several.cumsum(0) - 1, -1)
    hubs = (counts > 1).nonzero().squeeze(1)
    firsts = torch.cat([torch.zeros(1, dtype=torch.long), counts[hubs].cumsum(0)])
    return Pieces(*(t.int().to(indptr.device) for t in (rows, starts, stops, slots, hubs, firsts)))


class SymmetricCSR(Protocol):
    """What sparse operations read of a symmetric CSR pattern with a full diagonal (see ``graph.Pattern``)."""

    @property
    def indptr(self) -> Tensor:
        """(N+1) first entry of each row, int32."""
        ...

    @property
    def indices(self) -> Tensor:
        """(E) column of each entry, int32."""
        ...

    @property
    def mirror(self) -> Tensor:
        """(E) position of the transposed entry, int32."""
        ...

    @property
    def diagonal(self) -> Tensor:
        """(N) position of each diagonal entry, int32."""
        ...

    @property
    def rows(self) -> Tensor:
        """(E) row of each entry, int32."""
        ...

    @property
    def offsets(self) -> Tensor:
        """``indptr`` as int64, for torch's segment reductions."""
        ...

    @property
    def pieces(self) -> Pieces:
        """The rows, cut into pieces for a GPU."""
        ...

    @property
    def num_nodes(self) -> int:
        """The number N of rows and columns."""
        ...

    @property
    def num_entries(self) -> int:
        """The number E of entries."""
        ...
