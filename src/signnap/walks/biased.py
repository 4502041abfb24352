"""Walks that remember where they came from (Node2Vec, spec §4.2), by rejection: nothing is tabulated per edge."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from .neighbours import Neighbours

#: A step makes so many proposals that none is accepted with at most this chance, but never more than so many.
_FAILURE = 1e-5
_MOST_PROPOSALS = 64


class BiasedWalks:
    """From v, reached from t, a walk goes on to x with weight 1/p if x = t, 1 if x neighbours t, and 1/q otherwise.

    All proposals of a step are drawn at once and the first accepted one is taken, which is exact. Where none is
    accepted the first one is taken, which is uniform: this shifts the probabilities of a step by at most ``failure``,
    and not at all where there is only one neighbour.
    """

    def __init__(self, neighbours: Neighbours, p: float, q: float) -> None:
        self.neighbours, self.back, self.away = neighbours, 1 / p, 1 / q
        self.largest = max(self.back, 1.0, self.away)
        # Of two or more neighbours only one is t: a proposal is accepted at least as often as the mean of the two
        # smallest weights that can meet.
        ahead = min(1.0, self.away)
        least = min(ahead, (self.back + ahead) / 2) / self.largest
        wanted = 1 if least == 1 else math.ceil(math.log(_FAILURE) / math.log1p(-least))
        self.proposals = min(wanted, _MOST_PROPOSALS)
        self.failure = (1 - least) ** self.proposals

    def __call__(self, starts: Tensor, length: int, generator: torch.Generator) -> Tensor:
        """(B, length) nodes; the first step is uniform, and a walk from an isolated node stays there."""
        draw = lambda *shape: torch.rand(*shape, generator=generator, device=starts.device)
        visited = [starts, self.neighbours.step(starts, draw(len(starts)))]
        for _ in range(length - 2):
            visited.append(self._next(*visited[-2:], *draw(2, len(starts), self.proposals)))
        return torch.stack(visited, dim=1)

    def _next(self, previous: Tensor, current: Tensor, which: Tensor, whether: Tensor) -> Tensor:
        proposed = self.neighbours.step(current[:, None], which)
        accepted = whether * self.largest < self._weight(previous[:, None], proposed)
        first = accepted.byte().argmax(dim=1, keepdim=True)
        return proposed.gather(1, first).squeeze(1)

    def _weight(self, previous: Tensor, proposed: Tensor) -> Tensor:
        near = torch.where(self.neighbours.adjacent(previous, proposed), 1.0, self.away)
        return torch.where(proposed == previous, self.back, near)
