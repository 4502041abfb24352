"""The only training loop. A method supplies a task; callers look at what each iteration yields, and may stop."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from .. import rng
from ..errors import SignnapError


@dataclass(frozen=True)
class Step:
    """What one iteration computed: the loss to minimise, numbers to log, and whatever ``advance`` needs."""

    total: Tensor
    numbers: dict[str, Tensor]
    outputs: tuple[Any, ...] = field(default=())


class Task(Protocol):
    """What a method hands to the loop.

    ``modules`` holds everything that a checkpoint must restore, learnable or not. ``generators`` are its sources
    of randomness by purpose; the one called "layers" stands in for torch's default generator during a step.
    """

    modules: nn.Module
    generators: dict[str, torch.Generator]

    def step(self) -> Step:
        """Compute the loss of one iteration; change nothing but the generators."""
        ...

    def advance(self, step: Step) -> None:
        """Update state that is not learned by gradient (memory banks), after the optimiser."""
        ...

    def describe(self, step: Step) -> dict[str, float]:
        """Numbers about the embeddings that are too dear to compute every time."""
        ...


class Run:
    """A task, its optimiser and how far they are: everything that a resumed run needs."""

    def __init__(self, task: Task, lr: float, weight_decay: float) -> None:
        self.task = task
        self.iteration = 0
        parameters = [p for p in task.modules.parameters() if p.requires_grad]
        if not parameters:
            raise SignnapError("there is nothing to learn: expected an encoder with at least one parameter")
        self.optimizer = torch.optim.Adam(parameters, lr=lr, weight_decay=weight_decay, fused=True)

    def iterate(self, until: int) -> Iterator[Step]:
        """Train up to iteration ``until``, yielding after each one."""
        while self.iteration < until:
            self.task.modules.train()
            with rng.as_default(self.task.generators["layers"]):
                step = self.task.step()
            self.optimizer.zero_grad(set_to_none=True)
            step.total.backward()
            self.optimizer.step()
            self.task.advance(step)
            self.iteration += 1
            yield step
            del step  # or its tensors would stay in memory beside those of the next iteration

    def state(self) -> dict[str, Any]:
        """The state as plain tensors and numbers, loadable with ``weights_only=True``."""
        return {
            "iteration": self.iteration,
            "modules": self.task.modules.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "generators": {name: source.get_state() for name, source in self.task.generators.items()},
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a saved state, bit for bit."""
        self.task.modules.load_state_dict(state["modules"])
        self.optimizer.load_state_dict(state["optimizer"])
        for name, source in self.task.generators.items():
            source.set_state(state["generators"][name].cpu())
        self.iteration = state["iteration"]
