"""Random walks on a view, many at once: uniform walks (DeepWalk) and biased walks (Node2Vec)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..graph import Pattern, View
from ..ops.sparse import spmm

#: A step makes as many proposals as keep the chance that all are rejected below ``_FAILURE``, up to ``_MAX_PROPOSALS``.
_FAILURE = 1e-5
_MAX_PROPOSALS = 1024

#: Number of proposals per walk that a CPU makes at a time, before it selects the walks whose proposals were rejected.
_AT_A_TIME = 2


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The neighbours of every node of a view: its kept entries, without self-loops.

    The neighbours of node i are ``columns[starts[i] : starts[i + 1]]``. ``keys`` holds i·N + j for each entry (i, j),
    ascending. Both arrays end with one entry of no node, so that a position past the last entry is valid.
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

    def step(self, nodes: Tensor, uniform: Tensor) -> Tensor:
        """The neighbour of each node that a number from [0, 1) selects; an isolated node stays where it is."""
        first = self.starts[nodes]
        degree = self.starts[nodes + 1] - first
        return torch.where(degree > 0, self.columns[first + (uniform * degree).long()], nodes)

    def adjacent(self, one: Tensor, other: Tensor) -> Tensor:
        """Whether the entries (one, other) exist."""
        wanted = one * self.num_nodes + other
        return self.keys[torch.searchsorted(self.keys, wanted)] == wanted

    def others(self, nodes: Tensor, excluded: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The neighbours of each node except one: position of the first, their number, and the position to skip.

        An isolated node has no other neighbours and no position to skip.
        """
        first = self.starts[nodes]
        degree = self.starts[nodes + 1] - first
        place = torch.searchsorted(self.keys, nodes * self.num_nodes + excluded)
        return first, (degree - 1).clamp(min=0), torch.where(degree > 0, place, len(self.keys))


class Starts(nn.Module):
    """The start nodes of walks: pass after pass over all nodes, each in a random order of its own.

    The order of the present pass and the number of nodes used are buffers, so that a run can be resumed.
    """

    order: Tensor
    used: Tensor

    def __init__(self, num_nodes: int, generator: torch.Generator) -> None:
        super().__init__()
        self.register_buffer("order", torch.randperm(num_nodes, generator=generator, device=generator.device))
        self.register_buffer("used", torch.zeros((), dtype=torch.int64, device=generator.device))

    def draw(self, count: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """The next ``count`` nodes, and the line of nodes that ``update`` needs.

        Each call draws all passes that ``count`` nodes may begin, needed or not, so that shapes are static.
        """
        nodes = len(self.order)
        more = [torch.randperm(nodes, generator=generator, device=generator.device) for _ in range(-(-count // nodes))]
        line = torch.cat([self.order, *more])
        return line[self.used + torch.arange(count, device=line.device)], line

    def update(self, count: int, line: Tensor) -> None:
        """Advance by ``count`` nodes and drop the passes that are complete."""
        nodes = len(self.order)
        used = self.used + count
        begin = used - used % nodes
        self.order.copy_(line[begin + torch.arange(nodes, device=line.device)])
        self.used.copy_(used - begin)


def uniform_walks(neighbours: Neighbours, starts: Tensor, length: int, generator: torch.Generator) -> Tensor:
    """(B, length) nodes: each walk begins at its start, and each step goes to a uniformly drawn neighbour.

    These are the walks of DeepWalk (https://doi.org/10.1145/2623330.2623732). The graph is undirected, so only a walk
    from an isolated node stays where it is.
    """
    nodes, visited = starts, [starts]
    for uniform in torch.rand(length - 1, len(starts), generator=generator, device=starts.device):
        nodes = neighbours.step(nodes, uniform)
        visited.append(nodes)
    return torch.stack(visited, dim=1)


def expected_visits(pattern: Pattern, length: int) -> Tensor:
    """The expected number of visits to each node if one uniform walk starts at every node.

    This is Σ_t Pᵗ applied to a vector of ones, computed without walks. A walk from an isolated node visits that node
    in every step.
    """
    steps = (1 / pattern.degree.double().clamp(min=1)).index_select(0, pattern.indices)
    steps = steps.index_fill(0, pattern.diagonal.long(), 0)
    here = torch.ones(pattern.num_nodes, 1, dtype=torch.float64, device=pattern.device)
    visits = here.clone()
    for _ in range(length - 1):
        here = spmm(pattern, steps, here)
        visits += here
    return visits.squeeze(1)


class BiasedWalks:
    """Second-order walks of Node2Vec (https://doi.org/10.1145/2939672.2939754), by rejection instead of tables.

    From v, reached from t, a walk goes on to x with weight 1/p if x = t, 1 if x is a neighbour of t, and 1/q otherwise.
    With m the larger of 1 and 1/q, a step proposes t in proportion to 1/p, and every other neighbour x of v in
    proportion to m. It accepts t always, and x with probability weight(x)/m. So a small p makes no proposal fail.
    Taking the first accepted proposal is exact. A step that rejects all proposals takes one of them; this changes
    its probabilities by at most ``failure``.
    """

    def __init__(self, neighbours: Neighbours, p: float, q: float) -> None:
        smallest = min(p, 1.0, q)  # scale the largest weight to 1, so that none overflows float32
        self.neighbours, self.back, self.near, self.away = neighbours, smallest / p, smallest, smallest / q
        self.proposals, self.failure = effort(q)

    def __call__(self, starts: Tensor, length: int, generator: torch.Generator) -> Tensor:
        """(B, length) nodes; the first step is uniform, and a walk from an isolated node stays there."""
        draw = lambda *shape: torch.rand(*shape, generator=generator, device=starts.device)
        visited = [starts, self.neighbours.step(starts, draw(len(starts)))]
        for _ in range(length - 2):
            visited.append(self._next(visited[-2], visited[-1], draw))
        return torch.stack(visited, dim=1)

    def _next(self, previous: Tensor, current: Tensor, draw: Callable[..., Tensor]) -> Tensor:
        """Propose to all walks, then again to those that rejected. The fewer remain, the more proposals each gets.

        A GPU makes all proposals at once, because selecting the walks that rejected would wait for the device.
        """
        left = self.proposals
        room = len(current) * (left if current.is_cuda else _AT_A_TIME)
        chosen, waiting = torch.empty_like(current), torch.arange(len(current), device=current.device)
        ways = torch.stack([previous, *self.neighbours.others(current, previous)])
        while True:
            count = min(left, room // len(waiting))
            left -= count
            proposed, accepted = self._propose(ways[:, :, None], *draw(2, len(waiting), count))
            first = accepted.byte().argmax(dim=1, keepdim=True)
            chosen[waiting] = proposed.gather(1, first).squeeze(1)
            if not left or not len(rejected := (~accepted.any(dim=1)).nonzero().squeeze(1)):
                return chosen
            waiting, ways = waiting[rejected], ways[:, rejected]

    def _propose(self, ways: Tensor, which: Tensor, whether: Tensor) -> tuple[Tensor, Tensor]:
        """Proposed nodes, and whether each is accepted.

        ``which`` selects among the other neighbours; ``whether`` decides between t, acceptance and rejection.
        """
        previous, first, others, skipped = ways
        place = first + (which * others).long()
        proposed = self.neighbours.columns[place + (place >= skipped)]
        level = whether * (self.back + others * max(self.near, self.away))
        # "At most" instead of "less" accepts t where v has no other neighbour, even if t's weight rounds to 0.
        accepted = level <= self.back + others * self._weight(previous, proposed)
        return torch.where(level <= self.back, previous, proposed), accepted

    def _weight(self, previous: Tensor, proposed: Tensor) -> Tensor | float:
        """The weight of nodes other than t. With equal weights there is no need to look up the neighbours of t."""
        if self.near == self.away:
            return self.near
        return torch.where(self.neighbours.adjacent(previous, proposed), self.near, self.away)


def effort(q: float) -> tuple[int, float]:
    """The maximal number of proposals per step, and an upper bound of the probability that a step rejects them all.

    The bound belongs to the worst case, in which all neighbours but t have the smaller of the weights 1 and 1/q, and
    t has a weight near 0.
    """
    least = min(q, 1 / q)
    wanted = 1 if least == 1 else math.log(_FAILURE) / math.log1p(-least)
    proposals = math.ceil(min(wanted, _MAX_PROPOSALS))
    return proposals, (1 - least) ** proposals
