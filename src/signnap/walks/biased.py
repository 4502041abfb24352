"""Walks that remember where they came from (Node2Vec, spec §4.2), by rejection: nothing is tabulated per edge."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from .neighbours import Neighbours

#: A step makes so many proposals that all are refused with at most this chance, but never more than so many.
_FAILURE = 1e-5
_MOST_PROPOSALS = 1024

#: Proposals of a walk at a time on a CPU, before those that were refused are told from those that were not.
_AT_A_TIME = 2


def effort(q: float) -> tuple[int, float]:
    """How many proposals a step makes, at most, and the chance, at worst, that it refuses them all.

    That is where all neighbours but t have the smaller of the weights 1 and 1/q, and t hardly any.
    """
    least = min(q, 1 / q)
    wanted = 1 if least == 1 else math.log(_FAILURE) / math.log1p(-least)
    proposals = math.ceil(min(wanted, _MOST_PROPOSALS))
    return proposals, (1 - least) ** proposals


class BiasedWalks:
    """From v, reached from t, a walk goes on to x with weight 1/p if x = t, 1 if x neighbours t, and 1/q otherwise.

    With m the larger of 1 and 1/q, a proposal is t in proportion to 1/p, and every other neighbour x of v in
    proportion to m. It is accepted if it is t, and otherwise with the chance of x's weight over m: so p, however
    small, makes no proposal fail. The first that is accepted is taken, which is exact. A step that refuses all takes
    one of them, as if the last had not been tested: this shifts its probabilities by at most ``failure``.
    """

    def __init__(self, neighbours: Neighbours, p: float, q: float) -> None:
        smallest = min(p, 1.0, q)  # with 1 for the largest weight, none is too large for float32
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
        """Propose to all walks, and again to those that refused, which get the more proposals the fewer they are.

        Who refused is not asked on a GPU: it would have to be waited for. There, all proposals are made at once.
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
            if not left or not len(refused := (~accepted.any(dim=1)).nonzero().squeeze(1)):
                return chosen
            waiting, ways = waiting[refused], ways[:, refused]

    def _propose(self, ways: Tensor, which: Tensor, whether: Tensor) -> tuple[Tensor, Tensor]:
        """Nodes, and whether they are accepted: one number chooses among the others, one against t and the weights."""
        previous, first, others, skipped = ways
        place = first + (which * others).long()
        proposed = self.neighbours.columns[place + (place >= skipped)]
        chance = whether * (self.back + others * max(self.near, self.away))
        # Not less but at most, so that t is taken where there is nobody else, even if its weight is rounded to 0.
        accepted = chance <= self.back + others * self._weight(previous, proposed)
        return torch.where(chance <= self.back, previous, proposed), accepted

    def _weight(self, previous: Tensor, proposed: Tensor) -> Tensor | float:
        """The weight of nodes other than t; whether they neighbour t is not looked up where it does not matter."""
        if self.near == self.away:
            return self.near
        return torch.where(self.neighbours.adjacent(previous, proposed), self.near, self.away)
