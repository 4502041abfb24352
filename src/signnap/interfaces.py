"""Interfaces of the replaceable parts: perturbation, encoder, objective, and the task that training iterates.

An object of your own that implements one of these interfaces can replace the corresponding part of the package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from . import rng
from .graph import View
from .ops.geometry import spread


@runtime_checkable
class Perturbation(Protocol):
    """Returns a randomly changed copy of a view. It never modifies the given view and draws from the generator only."""

    def __call__(self, view: View, generator: torch.Generator) -> View: ...


class Encoder(nn.Module):
    """Maps a view to one embedding per node.

    In training mode, stochastic layers draw from torch's default generator, as in every ``nn.Module``.
    """

    def forward(self, view: View) -> Tensor:
        raise NotImplementedError

    def encode(self, views: Sequence[View]) -> list[Tensor]:
        """Embed several views of one graph. A subclass may compute the parts that the views share only once."""
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

    ``forward`` reads the state (memory banks, constants) and changes nothing. Training calls ``update`` once per
    iteration, after the optimiser, with the result of ``forward``. Keep state in buffers, so that every checkpoint
    holds it, and change buffers in place: a CUDA graph that replays a recorded iteration finds tensors by their address
    only. Training does not record an objective that replaces its buffers, and so runs it more slowly.
    """

    def prepare(self, num_nodes: int, dim: int, generator: torch.Generator) -> None:
        """Allocate the state for embeddings of ``num_nodes`` nodes with ``dim`` columns."""

    def forward(self, z1: Tensor, z2: Tensor, generator: torch.Generator) -> Terms:
        raise NotImplementedError

    def update(self, z1: Tensor, z2: Tensor, terms: Terms) -> None:
        """Move the state one iteration forward."""

    def chance(self) -> float | None:
        """The total of an embedding that is constant over the nodes, or None if that depends on the embedding."""
        return None


@dataclass(frozen=True)
class Step:
    """The result of one iteration: the loss to minimise and the numbers to log.

    ``outputs`` are detached values that ``Task.advance`` needs. ``watched`` is the number by which the best iteration
    is chosen, the lowest being the best; None stands for the loss.
    """

    total: Tensor
    numbers: dict[str, Tensor]
    outputs: tuple[Any, ...] = field(default=())
    watched: Tensor | None = None


class Task:
    """One training problem: a method supplies it, and the training loop iterates it.

    ``view`` is the clean view of the training graph. ``modules`` holds everything that a checkpoint must restore,
    learnable or not; the module named ``encoder`` computes the embeddings. ``generators`` are the sources of randomness
    by purpose, and a step draws from nothing else. ``allow_tf32`` allows a GPU to multiply in tf32.
    """

    view: View
    modules: nn.ModuleDict
    generators: dict[str, torch.Generator]
    allow_tf32: bool

    def step(self) -> Step:
        """Compute the loss of one iteration; change nothing but the generators."""
        raise NotImplementedError

    def advance(self, step: Step) -> None:
        """Update state that has no gradient (memory banks), after the optimiser."""

    def describe(self, step: Step, encoder: nn.Module) -> dict[str, float]:
        """Numbers about the embeddings that are too expensive for every iteration.

        They describe the embeddings without dropout, which the run would return now. The embeddings of the step itself
        would hide a collapse: dropout's noise makes equal rows differ.
        """
        with _evaluation_mode(encoder, self.view.stored.device):
            return spread(self.embedding(step, encoder))

    def embedding(self, step: Step, encoder: nn.Module) -> Tensor:
        """The embedding of the clean graph, for ``describe``."""
        return encoder(self.view)


@contextmanager
def _evaluation_mode(encoder: nn.Module, device: torch.device) -> Iterator[None]:
    """Evaluate an encoder without dropout and gradients, and restore its mode and the default generator afterwards."""
    training = encoder.training
    with torch.no_grad(), rng.as_default(rng.generator(0, "look", device)):
        encoder.eval()
        try:
            yield
        finally:
            encoder.train(training)


#: Returns the context manager in which a region of the given name runs.
RegionObserver = Callable[[str], AbstractContextManager[Any]]

_observer: ContextVar[RegionObserver | None] = ContextVar("observer", default=None)
_UNOBSERVED: AbstractContextManager[None] = nullcontext()


def region(name: str) -> AbstractContextManager[Any]:
    """Name a part of an iteration for profiles. Regions may be nested; without an observer they cost almost nothing."""
    observer = _observer.get()
    return _UNOBSERVED if observer is None else observer(name)


@contextmanager
def observing(observer: RegionObserver) -> Iterator[None]:
    """Let the observer wrap every region that this thread enters."""
    token = _observer.set(observer)
    try:
        yield
    finally:
        _observer.reset(token)
