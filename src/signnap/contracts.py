"""What the replaceable parts promise each other: perturbation, encoder, objective.

Bring your own: anything that behaves like one of these can stand where ours stand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from .graph import View


@runtime_checkable
class Perturbation(Protocol):
    """Draws a changed copy of a view; the given one is never modified, all randomness is the generator's."""

    def __call__(self, view: View, generator: torch.Generator) -> View: ...


class Encoder(nn.Module):
    """Maps a view to one embedding per node.

    Stochastic layers draw from torch's default generator in training mode, as every ``nn.Module`` does.
    """

    def forward(self, view: View) -> Tensor:
        raise NotImplementedError

    def encode(self, views: Sequence[View]) -> list[Tensor]:
        """Embed several views of one graph; an encoder may compute what they share only once."""
        return [self(view) for view in views]


@dataclass(frozen=True)
class Terms:
    """The result of an objective for one pair of embeddings; training minimises ``total``.

    ``parts`` are further numbers for the metrics, by name. Training does not differentiate them. The bound is a lower
    bound of the mutual information between the views. ``carry`` holds tensors that ``Objective.update`` needs.
    """

    total: Tensor
    parts: dict[str, Tensor] = field(default_factory=dict)
    mutual_information_bound: Tensor | None = None
    carry: dict[str, Tensor] = field(default_factory=dict)

    def detached(self) -> Terms:
        """The same numbers without the autograd graph that computed them."""
        bound = self.mutual_information_bound
        return Terms(
            self.total.detach(),
            {name: value.detach() for name, value in self.parts.items()},
            None if bound is None else bound.detach(),
            {name: value.detach() for name, value in self.carry.items()},
        )

    def numbers(self) -> dict[str, Tensor]:
        """The metrics of an iteration by name, without the autograd graph that computed them."""
        found = {"loss": self.total, **self.parts}
        if self.mutual_information_bound is not None:
            found["mutual_information_bound"] = self.mutual_information_bound
        return {name: number.detach() for name, number in found.items()}


class Objective(nn.Module):
    """Scores two embeddings of the same nodes.

    ``forward`` is pure: it reads the state (memory banks, constants) and changes nothing. ``update`` is called
    once per iteration, after the optimiser, with what ``forward`` returned. State lives in buffers, so that it
    is saved with every checkpoint, and is changed in place: a GPU that replays a recorded iteration knows it only by
    where it lies, and objectives that replace it train without a recording.
    """

    def prepare(self, num_nodes: int, dim: int, generator: torch.Generator) -> None:
        """Allocate the state for a graph of this size."""

    def forward(self, z1: Tensor, z2: Tensor, generator: torch.Generator) -> Terms:
        raise NotImplementedError

    def update(self, z1: Tensor, z2: Tensor, terms: Terms) -> None:
        """Move the state one iteration forward."""

    def chance(self) -> float | None:
        """The total of an embedding that tells nothing apart, or None where it has no fixed value."""
        return None
