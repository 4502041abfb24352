"""Random walks with restart, and the subgraphs induced on the nodes they visit, as GCC samples them.

GCC: https://doi.org/10.1145/3394486.3403168. All functions process many seeds at once with
static shapes: every subgraph has ``size`` places, and unused places are padding.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from .walks import Neighbours

#: A trace ends when the probability that it would continue is below this number.
_NEGLIGIBLE = 1e-6


class Subgraphs(NamedTuple):
    """Induced subgraphs of B seeds.

    ``nodes`` (B, size) holds the nodes in the order of their first visit, beginning with the seed. ``real`` (B, size)
    is False for padding. ``adjacency`` (B, size, size) holds 0 and 1, without self-loops, and 0 for padding.
    """

    nodes: Tensor
    real: Tensor
    adjacency: Tensor


def visits(neighbours: Neighbours, seeds: Tensor, steps: int, restart: float, source: torch.Generator) -> Tensor:
    """(B, 1 + steps): each seed and the nodes of its walk, which returns to the seed with probability ``restart``.

    The steps between two returns are a trace. A trace depends only on its own past, and traces are short. So each round
    computes all steps at once; after round k the first k steps of every trace are right. The number of rounds is the
    length of the longest trace.
    """
    shape, place = (len(seeds), steps), seeds.device
    back = torch.rand(shape, generator=source, device=place) < restart
    chance = torch.rand(shape, generator=source, device=place)
    longest = _longest(steps, restart)
    fresh = _fresh(back, longest)
    home = seeds[:, None].expand(shape)
    at = home
    for _ in range(longest):
        before = torch.cat([seeds[:, None], at[:, :-1]], dim=1)
        at = neighbours.step(torch.where(fresh, home, before), chance)
    return torch.cat([seeds[:, None], at], dim=1)


def _longest(steps: int, restart: float) -> int:
    """The maximal number of steps of a trace."""
    if restart >= 1:
        return 1
    return steps if restart <= 0 else min(steps, math.ceil(math.log(_NEGLIGIBLE) / math.log1p(-restart)))


def _fresh(back: Tensor, longest: int) -> Tensor:
    """The steps that start from the seed: those after a return, and those that would make a trace too long."""
    time = torch.arange(back.shape[1], device=back.device)
    begins = torch.cat([torch.ones_like(back[:, :1]), back[:, :-1]], dim=1)
    return (time - torch.where(begins, time, 0).cummax(dim=1).values) % longest == 0


def first_visits(visited: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """The first ``size`` different nodes of each row, in order, and which of them are real; padding repeats the seed.

    Keeping the earliest nodes keeps the subgraph connected, because a walk reaches every node from an earlier one.
    """
    ordered, order = visited.sort(dim=1, stable=True)
    again = torch.zeros_like(visited, dtype=torch.bool)
    again[:, 1:] = ordered[:, 1:] == ordered[:, :-1]
    new = torch.empty_like(again).scatter_(1, order, ~again)
    count = new.cumsum(dim=1)
    spot = torch.where(new & (count <= size), count - 1, size)  # an extra column collects the rest
    nodes = visited[:, :1].repeat(1, size + 1).scatter_(1, spot, visited)[:, :size]
    return nodes, torch.arange(size, device=visited.device) < count[:, -1:]


def induced(neighbours: Neighbours, nodes: Tensor, real: Tensor) -> Subgraphs:
    """The subgraphs induced on each row's real nodes."""
    there = neighbours.adjacent(nodes[:, :, None], nodes[:, None, :]) & real[:, :, None] & real[:, None, :]
    return Subgraphs(nodes, real, there.float())
