"""The positions of the adjacency's entries: one symmetric CSR pattern per graph, with every self-loop.

A perturbed view has the same pattern and another vector of entry values (0 = dropped). So shapes are static, nothing is
sorted again, and the transpose that the backward pass needs is a permutation of values (``mirror``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from ..ops.csr import Pieces, cut_rows, expect_32_bits, int32, transposed_positions


@dataclass(frozen=True, eq=False)
class Pattern:
    """A symmetric CSR pattern over N nodes whose diagonal is full.

    ``indptr`` (N+1) and ``indices`` (E) are int32, with ascending columns in each row. If entry k is (r, c),
    ``mirror[k]`` is the position of entry (c, r). ``diagonal[i]`` is the position of entry (i, i).
    """

    indptr: Tensor
    indices: Tensor
    mirror: Tensor
    diagonal: Tensor

    @staticmethod
    def from_pairs(source: np.ndarray, target: np.ndarray, num_nodes: int) -> Pattern:
        """The pattern of the undirected graph with these edges; duplicates, loops and directions do not matter."""
        loops = np.arange(num_nodes)
        rows = np.concatenate([source, target, loops])
        cols = np.concatenate([target, source, loops])
        matrix = sp.coo_matrix((np.ones(len(rows), dtype=np.int8), (rows, cols)), shape=(num_nodes, num_nodes)).tocsr()
        return Pattern.from_csr(matrix)

    @staticmethod
    def from_csr(matrix: sp.csr_matrix) -> Pattern:
        """The pattern of a symmetric scipy CSR matrix with a full diagonal; this sorts the matrix in place."""
        matrix.sum_duplicates()
        matrix.sort_indices()
        expect_32_bits(matrix, "adjacency entries")
        mirror = transposed_positions(matrix)
        mirror.sort_indices()
        rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        return Pattern(
            indptr=int32(matrix.indptr),
            indices=int32(matrix.indices),
            mirror=int32(mirror.data),
            diagonal=int32(np.flatnonzero(rows == matrix.indices)),
        )

    @property
    def num_nodes(self) -> int:
        return self.diagonal.numel()

    @property
    def num_entries(self) -> int:
        """The number of directed entries, self-loops included."""
        return self.indices.numel()

    @property
    def num_edges(self) -> int:
        """The number of undirected edges, without self-loops."""
        return (self.num_entries - self.num_nodes) // 2

    @property
    def device(self) -> torch.device:
        return self.indices.device

    @cached_property
    def rows(self) -> Tensor:
        """The row of every entry (E, int32)."""
        nodes = torch.arange(self.num_nodes, dtype=torch.int32, device=self.device)
        return torch.repeat_interleave(nodes, self.indptr.diff(), output_size=self.num_entries)

    @cached_property
    def offsets(self) -> Tensor:
        """``indptr`` as int64, for torch's segment reductions."""
        return self.indptr.long()

    @cached_property
    def degree(self) -> Tensor:
        """The number of neighbours of every node, without the node itself (N, int64)."""
        return self.indptr.diff().long() - 1

    @cached_property
    def pieces(self) -> Pieces:
        """The rows, cut into pieces of at most 64 entries for a GPU."""
        return cut_rows(self.indptr)

    def edge_index(self, *, loops: bool = False) -> Tensor:
        """The (2, E) ``edge_index`` that PyG layers expect: row 0 sends, row 1 receives."""
        pairs = torch.stack([self.indices.long(), self.rows.long()])
        return pairs if loops else pairs[:, pairs[0] != pairs[1]]

    def to_scipy(self, *, loops: bool = False) -> sp.csr_matrix:
        """The 0/1 adjacency as a scipy CSR matrix."""
        indices, indptr = self.indices.cpu().numpy(), self.indptr.cpu().numpy()
        matrix = sp.csr_matrix((np.ones(len(indices), np.float32), indices, indptr), (self.num_nodes,) * 2)
        if not loops:
            matrix = matrix - sp.eye(self.num_nodes, dtype=np.float32, format="csr")
            matrix.eliminate_zeros()
        return matrix

    def subset(self, nodes: Tensor) -> Pattern:
        """The pattern induced on ``nodes``, in that order."""
        chosen = nodes.cpu().numpy()
        return Pattern.from_csr(self.to_scipy(loops=True)[chosen][:, chosen].tocsr())

    def to(self, device: torch.device | str) -> Pattern:
        if self.device == torch.device(device):
            return self
        return Pattern(*(t.to(device) for t in (self.indptr, self.indices, self.mirror, self.diagonal)))
