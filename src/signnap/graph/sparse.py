"""Sparse node features: bags of words stay sparse through the product with the first layer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from ..gpu import usable
from ..gpu.pieces import Pieces, cut_rows
from .kernels import csr
from .positions import expect_32_bits, flipped, int32

#: Entries at most that one program of a GPU multiplies.
_PIECE = 128


@dataclass(frozen=True, eq=False)
class SparseFeatures:
    """An (N, F) CSR matrix together with its transpose, so that both directions of a product are fast."""

    indptr: Tensor
    indices: Tensor
    values: Tensor
    shape: tuple[int, int]
    transposed: tuple[Tensor, Tensor, Tensor]  # indptr, indices, and the order that permutes the values
    pieces: tuple[Pieces, Pieces] | None = None  # of both, where a GPU multiplies

    @staticmethod
    def from_scipy(matrix: Any) -> SparseFeatures:
        """Convert any scipy sparse matrix."""
        matrix = sp.csr_matrix(matrix, dtype=np.float32, copy=True)
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        expect_32_bits(matrix, "rows, columns or values of features")
        transposed = flipped(matrix)
        return SparseFeatures(
            indptr=int32(matrix.indptr),
            indices=int32(matrix.indices),
            values=torch.from_numpy(matrix.data),
            shape=tuple(matrix.shape),
            transposed=(int32(transposed.indptr), int32(transposed.indices), int32(transposed.data)),
        )

    @property
    def density(self) -> float:
        """The share of numbers that are stored."""
        return self.values.numel() / max(1, self.shape[0] * self.shape[1])

    def to_scipy(self) -> sp.csr_matrix:
        arrays = (self.values.cpu().numpy(), self.indices.cpu().numpy(), self.indptr.cpu().numpy())
        return sp.csr_matrix(arrays, shape=self.shape)

    def dense(self, start: int = 0, stop: int | None = None) -> Tensor:
        """Rows ``start:stop`` as a dense tensor."""
        bounds = self.indptr[start : (self.shape[0] if stop is None else stop) + 1]
        first, last = int(bounds[0]), int(bounds[-1])
        rows = csr(bounds - first, self.indices[first:last], self.values[first:last], (len(bounds) - 1, self.shape[1]))
        return rows.to_dense()

    def with_values(self, values: Tensor) -> SparseFeatures:
        """The same non-zero positions with other values."""
        return replace(self, values=values)

    def to(self, device: torch.device | str) -> SparseFeatures:
        if self.values.device == torch.device(device):
            return self
        moved = (self.indptr.to(device), self.indices.to(device), self.values.to(device), self.shape)
        transposed = tuple(t.to(device) for t in self.transposed)
        pieces = (cut_rows(moved[0], _PIECE), cut_rows(transposed[0], _PIECE)) if moved[0].is_cuda else None
        return SparseFeatures(*moved, transposed, pieces)

    def times(self, dense: Tensor) -> Tensor:
        """The product with a dense matrix (no gradients)."""
        return self._product(self.indptr, self.indices, self.values, dense, 0)

    def transposed_times(self, dense: Tensor) -> Tensor:
        """The product of the transpose with a dense matrix (no gradients)."""
        return self._product(*self.transposed[:2], self._flipped, dense, 1)

    def _product(self, indptr: Tensor, indices: Tensor, values: Tensor, dense: Tensor, side: int) -> Tensor:
        if self.pieces is not None and usable(values, dense):
            from ..gpu.propagate import spmm

            return spmm(indptr, indices, values, dense, pieces=self.pieces[side])
        return torch.sparse.mm(csr(indptr, indices, values, (len(indptr) - 1, len(dense))), dense)

    @cached_property
    def _flipped(self) -> Tensor:
        """The values in the order of the transpose."""
        return self.values.index_select(0, self.transposed[2])
