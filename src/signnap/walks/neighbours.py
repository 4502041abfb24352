"""Whom a walk can go on to, looked up for many nodes at once."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..graph import View


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Whom every node of a view can step to: the entries that are kept, without self-loops.

    The neighbours of node i are ``columns[starts[i] : starts[i + 1]]``. ``keys`` numbers the entry (i, j) i·N + j,
    ascending. Both end with an entry that is nobody's, so that positions past the last one can be looked up.
    """

    starts: Tensor
    columns: Tensor
    keys: Tensor

    @staticmethod
    def of(view: View) -> Neighbours:
        rows, columns = (of.index_select(0, view.present).long() for of in (view.pattern.rows, view.pattern.indices))
        proper = rows != columns
        rows, columns, n = rows[proper], columns[proper], view.pattern.num_nodes
        return Neighbours(
            starts=torch.searchsorted(rows, torch.arange(n + 1, device=rows.device)),
            columns=torch.cat([columns, columns.new_zeros(1)]),
            keys=torch.cat([rows * n + columns, columns.new_full((1,), n * n)]),
        )

    @property
    def num_nodes(self) -> int:
        return len(self.starts) - 1

    def step(self, nodes: Tensor, chance: Tensor) -> Tensor:
        """The neighbour of each node that a number from [0, 1) chooses; a node without any stays where it is."""
        first = self.starts[nodes]
        degree = self.starts[nodes + 1] - first
        return torch.where(degree > 0, self.columns[first + (chance * degree).long()], nodes)

    def adjacent(self, one: Tensor, other: Tensor) -> Tensor:
        """Whether the entries (one, other) are there."""
        wanted = one * self.num_nodes + other
        return self.keys[torch.searchsorted(self.keys, wanted)] == wanted

    def others(self, nodes: Tensor, but: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The neighbours of each node without one of them: where they begin, how many, and the place to pass over.

        A node without neighbours has no others, and nothing to pass over.
        """
        first = self.starts[nodes]
        degree = self.starts[nodes + 1] - first
        place = torch.searchsorted(self.keys, nodes * self.num_nodes + but)
        return first, (degree - 1).clamp(min=0), torch.where(degree > 0, place, len(self.keys))
