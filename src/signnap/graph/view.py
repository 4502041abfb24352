"""A view: the entries and features of the graph, clean or perturbed, that an encoder reads in one pass."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from ..ops.sparse import incoming_entries, mean_weights, mirrored, row_sums, spmm
from .feature_types import Features
from .pattern import Pattern


@dataclass(frozen=True, eq=False)
class Operator:
    """A sparse matrix on a pattern, for many products with the matrix and its transpose."""

    pattern: Pattern
    values: Tensor
    mirrored_values: Tensor | None = None  # if the pass that computed the values computed them as well

    @cached_property
    def transposed(self) -> Tensor:
        """The values of the transposed matrix, on the same pattern."""
        return mirrored(self.pattern, self.values) if self.mirrored_values is None else self.mirrored_values

    def __call__(self, dense: Tensor) -> Tensor:
        """The product with a dense matrix."""
        return spmm(self.pattern, self.values, dense, self.transposed)


@dataclass(frozen=True, eq=False)
class View:
    """Entry values over a pattern, and features.

    ``stored`` holds the adjacency A' as the data set stores it: 0 for a dropped entry, and on the diagonal the value of
    a stored self-loop, or 0. The normalisations below add the identity.
    """

    pattern: Pattern
    stored: Tensor
    x: Features

    @cached_property
    def present(self) -> Tensor:
        """Positions of the entries that are not dropped."""
        return self.stored.nonzero().squeeze(1)

    @cached_property
    def ranks(self) -> Tensor:
        """The rank of every entry among the present ones (E, int32); −1 for dropped entries."""
        present = self.stored != 0
        return torch.where(present, present.cumsum(0) - 1, -1).int()

    def with_entries(self, stored: Tensor) -> View:
        return replace(self, stored=stored)

    def with_features(self, x: Features) -> View:
        return replace(self, x=x)

    @cached_property
    def random_walk(self) -> Operator:
        """Â = rowsum(A'+I)⁻¹ (A'+I), which the authors' code calls "AugRWalk": rows sum to one."""
        return self._mean_with_self(incoming=False)

    @cached_property
    def neighbour_mean(self) -> Operator:
        """The mean over incoming neighbours and, once more, the node itself: GraphSAGE's mean aggregator."""
        return self._mean_with_self(incoming=True)

    @cached_property
    def symmetric(self) -> Operator:
        """D^{-1/2} (A'+I) D^{-1/2} of the kept edges: the graph convolution of Kipf and Welling.

        Every kept entry and every self-loop counts 1, whatever value is stored. D counts the entries of a row, as PyG's
        ``GCNConv`` counts the messages that a node receives. So the result is not symmetric where a view keeps only one
        direction of an edge. See https://arxiv.org/abs/1609.02907.
        """
        pattern = self.pattern
        kept = (self.stored != 0).to(self.stored.dtype).index_fill_(0, pattern.diagonal.long(), 1)
        scale = row_sums(pattern, kept).rsqrt()
        return Operator(pattern, kept * scale.index_select(0, pattern.rows) * scale.index_select(0, pattern.indices))

    def _mean_with_self(self, *, incoming: bool) -> Operator:
        return Operator(self.pattern, *mean_weights(self.pattern, self.stored, incoming))

    @cached_property
    def incoming(self) -> Tensor:
        """The entries that carry a message into their row, as booleans (E); every node sends one to itself.

        The authors' GraphSAGE and GAT read an entry (r, c) as a message r → c, their graph convolution as c → r. So
        this is the transpose of the stored entries.
        """
        return incoming_entries(self.pattern, self.stored)

    def edge_index(self) -> Tensor:
        """The kept edges as PyG layers expect them (row 0 sends, row 1 receives), without self-loops."""
        kept = self.stored != 0
        kept[self.pattern.diagonal] = False
        return torch.stack([self.pattern.indices[kept].long(), self.pattern.rows[kept].long()])
