"""Walks to a uniformly drawn neighbour, many at once (DeepWalk, spec §4.1)."""

from __future__ import annotations

import torch
from torch import Tensor

from ..graph import Pattern, spmm
from .neighbours import Neighbours


def uniform_walks(neighbours: Neighbours, starts: Tensor, length: int, generator: torch.Generator) -> Tensor:
    """(B, length) nodes: each walk begins at its start and goes on to any neighbour, all equally likely.

    The graph is undirected, so a walk that moves at all never gets stuck; one from an isolated node stays there.
    """
    nodes, visited = starts, [starts]
    for chance in torch.rand(length - 1, len(starts), generator=generator, device=starts.device):
        nodes = neighbours.step(nodes, chance)
        visited.append(nodes)
    return torch.stack(visited, dim=1)


def expected_visits(pattern: Pattern, length: int) -> Tensor:
    """How often each node is met, on average, if one uniform walk starts at every node; an isolated one meets itself.

    That is Σ_t Pᵗ applied to a vector of ones, so that nothing has to be walked to know it.
    """
    steps = (1 / pattern.degree.double().clamp(min=1)).index_select(0, pattern.indices)
    steps = steps.index_fill(0, pattern.diagonal.long(), 0)
    here = torch.ones(pattern.num_nodes, 1, dtype=torch.float64, device=pattern.device)
    visits = here.clone()
    for _ in range(length - 1):
        here = spmm(pattern, steps, here)
        visits += here
    return visits.squeeze(1)
