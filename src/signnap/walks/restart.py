"""Random walks with restart, and the subgraphs of the nodes they visit (spec §4.6, item 3).

Everything is drawn for many seeds at once and in static shapes: a subgraph has room for ``size`` nodes, and what it
does not need is padding.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from .walks import Neighbours

#: Traces are cut where fewer than this share of them would go on.
_NEGLIGIBLE = 1e-6


class Subgraphs(NamedTuple):
    """Induced subgraphs: ``nodes`` (B, size) in the order of their first visit, the seed first; ``real`` (B, size) is
    False where there is padding; ``adjacency`` (B, size, size) holds 0 and 1, no self-loops, and 0 for padding.
    """

    nodes: Tensor
    real: Tensor
    adjacency: Tensor


def visits(neighbours: Neighbours, seeds: Tensor, steps: int, restart: float, source: torch.Generator) -> Tensor:
    """(B, 1 + steps): each seed, and the nodes of its walk. After every step it begins anew with chance ``restart``.

    A trace only depends on its own past and traces are short, so all steps are taken at once, and again until the
    longest trace is right: the k-th time is right for the first k steps of each.
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
    """How many steps a trace may have."""
    if restart >= 1:
        return 1
    return steps if restart <= 0 else min(steps, math.ceil(math.log(_NEGLIGIBLE) / math.log1p(-restart)))


def _fresh(back: Tensor, longest: int) -> Tensor:
    """Which steps start from the seed: those after a return, and any that would make a trace too long."""
    time = torch.arange(back.shape[1], device=back.device)
    begins = torch.cat([torch.ones_like(back[:, :1]), back[:, :-1]], dim=1)
    return (time - torch.where(begins, time, 0).cummax(dim=1).values) % longest == 0


def first_visits(visited: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """The first ``size`` different nodes of each row, in order, and which of them are real; padding repeats the seed.

    Cutting by time, not by number, keeps a subgraph connected: whoever is visited was reached from an earlier node.
    """
    ordered, order = visited.sort(dim=1, stable=True)
    again = torch.zeros_like(visited, dtype=torch.bool)
    again[:, 1:] = ordered[:, 1:] == ordered[:, :-1]
    new = torch.empty_like(again).scatter_(1, order, ~again)
    count = new.cumsum(dim=1)
    spot = torch.where(new & (count <= size), count - 1, size)  # one more column takes what is not wanted
    nodes = visited[:, :1].repeat(1, size + 1).scatter_(1, spot, visited)[:, :size]
    return nodes, torch.arange(size, device=visited.device) < count[:, -1:]


def induced(neighbours: Neighbours, nodes: Tensor, real: Tensor) -> Subgraphs:
    """The subgraphs induced on each row's real nodes."""
    there = neighbours.adjacent(nodes[:, :, None], nodes[:, None, :]) & real[:, :, None] & real[:, None, :]
    return Subgraphs(nodes, real, there.float())
