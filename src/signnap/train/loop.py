"""The only loop that trains encoders.

A method supplies a task; callers look at what each iteration yields, and may stop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn

from .. import rng
from ..errors import SignnapError
from ..graph import View
from ..ops.geometry import spread
from .best import Best
from .capture import Launcher
from .pages import keep_freed_pages
from .regions import region
from .saved import expect_state_of, take_over


@dataclass(frozen=True)
class Step:
    """What one iteration computed: the loss to minimise, numbers to log, and, detached, what ``advance`` needs.

    ``watched`` is what the best iteration has the lowest value of; None: the loss.
    """

    total: Tensor
    numbers: dict[str, Tensor]
    outputs: tuple[Any, ...] = field(default=())
    watched: Tensor | None = None


class Task:
    """What a method hands to the loop.

    ``view`` is the clean graph, which the run is for. ``modules`` holds everything that a checkpoint must restore,
    learnable or not; what embeds is its ``encoder``. ``generators`` are its sources of randomness by purpose; a step
    draws from nothing else. ``allow_tf32`` allows a GPU to multiply in tf32.
    """

    view: View
    modules: nn.ModuleDict
    generators: dict[str, torch.Generator]
    allow_tf32: bool

    def step(self) -> Step:
        """Compute the loss of one iteration; change nothing but the generators."""
        raise NotImplementedError

    def advance(self, step: Step) -> None:
        """Update state that is not learned by gradient (memory banks), after the optimiser."""

    def describe(self, step: Step, encoder: nn.Module) -> dict[str, float]:
        """Numbers that are too dear to compute every time, about what the run would give by now with this encoder.

        The embeddings of the iteration itself would not do: in dropout's noise, nodes differ that are all the same.
        """
        with _resting(encoder, self.view.stored.device):
            return spread(self.embedding(step, encoder))

    def embedding(self, step: Step, encoder: nn.Module) -> Tensor:
        """What an encoder makes of the clean graph."""
        return encoder(self.view)


class Run:
    """A task, its optimiser and how far they are: everything that a resumed run needs.

    ``factor`` is that of the learning rate at an iteration (None: always 1), ``clip`` a limit to the norm of the
    gradient (0: none), and ``decoupled`` takes weight decay out of the gradient (AdamW). With ``patience`` the run is
    over when the watched number has not fallen for so many iterations, and ``encoder`` is that of the lowest.
    """

    def __init__(
        self,
        task: Task,
        lr: float,
        weight_decay: float,
        *,
        factor: Callable[[int], float] | None = None,
        decoupled: bool = False,
        clip: float = 0.0,
        patience: int = 0,
    ) -> None:
        self.task, self.factor, self.clip = task, factor, clip
        self.iteration = 0
        parameters = [p for p in task.modules.parameters() if p.requires_grad]
        if not parameters:
            raise SignnapError("there is nothing to learn: expected an encoder with at least one parameter")
        self.on_gpu = parameters[0].is_cuda
        # A recorded iteration reads a rate that changes from the device.
        self.lr, self._rate = lr, torch.tensor(lr, device=parameters[0].device) if factor and self.on_gpu else lr
        kind = torch.optim.AdamW if decoupled else torch.optim.Adam
        self.optimizer = kind(parameters, lr=self._rate, weight_decay=weight_decay, fused=True, capturable=self.on_gpu)
        self.best = Best(task.modules["encoder"], patience) if patience else None

    @property
    def encoder(self) -> nn.Module:
        """What has been learned: the encoder as it is, or as it was at its best."""
        return self.task.modules["encoder"] if self.best is None else self.best.encoder

    def is_final(self) -> bool:
        """Whether more iterations would change nothing (this waits for the device)."""
        return self.best is not None and self.best.is_final()

    def set_rate(self) -> None:
        """Give the optimiser the learning rate of the next iteration."""
        if self.factor is not None:
            rate = self.lr * self.factor(self.iteration)
            if isinstance(self._rate, Tensor):
                rate = self._rate.fill_(rate)
            for group in self.optimizer.param_groups:
                group["lr"] = rate

    def advance(self) -> Step:
        """Compute and learn from one iteration, without counting it."""
        with region("iteration"), _products(allow_tf32=self.task.allow_tf32) if self.on_gpu else nullcontext():
            self.task.modules.train()
            step = self.task.step()
            if self.best is not None:
                watched = step.total if step.watched is None else step.watched
                self.best.consider(self.task.modules["encoder"], watched.detach())
            self.optimizer.zero_grad(set_to_none=True)
            with region("backward"):
                step.total.backward()
            with region("optimiser"):
                if self.clip:
                    nn.utils.clip_grad_norm_(self.optimizer.param_groups[0]["params"], self.clip, foreach=True)
                self.optimizer.step()
            with region("memory"):
                self.task.advance(step)
        return replace(step, total=step.total.detach())  # whoever keeps the step need not keep its graph

    def iterate(self, until: int, *, capture: bool = True) -> Iterator[Step]:
        """Train up to iteration ``until``, yielding after each one (see ``lockstep``)."""
        for ((_, step),) in lockstep([self], until, capture=capture):
            yield step
            del step

    def state(self) -> dict[str, Any]:
        """The state as plain tensors and numbers, loadable with ``weights_only=True``."""
        return {
            "iteration": self.iteration,
            "modules": self.task.modules.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "generators": {name: source.get_state() for name, source in self.task.generators.items()},
            "best": {} if self.best is None else self.best.state_dict(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a saved state, bit for bit; one that does not fit is refused before anything of it is used."""
        expect_state_of(self, state)
        self.task.modules.load_state_dict(state["modules"])
        take_over(self.optimizer, state["optimizer"]["state"])
        if self.best is not None:
            self.best.load_state_dict(state["best"])
        for name, saved in state["generators"].items():
            self.task.generators[name].set_state(saved.cpu())
        self.iteration = state["iteration"]


@contextmanager
def _resting(encoder: nn.Module, device: torch.device) -> Iterator[None]:
    """Let an encoder embed as it will after training: without dropout, without gradients, and without a trace."""
    training = encoder.training
    with torch.no_grad(), rng.as_default(rng.generator(0, "look", device)):
        encoder.eval()
        try:
            yield
        finally:
            encoder.train(training)


@contextmanager
def _products(*, allow_tf32: bool) -> Iterator[None]:
    """Say how matrices may be multiplied on a GPU meanwhile.

    Torch has two names for it, and answers by the older one no more once it was told by the newer one.
    """
    products: Any = torch.backends.cuda.matmul
    try:
        name, before = "allow_tf32", products.allow_tf32
    except RuntimeError:
        name, before = "fp32_precision", products.fp32_precision
    spoken: dict[str, Any] = {"allow_tf32": allow_tf32, "fp32_precision": "tf32" if allow_tf32 else "ieee"}
    setattr(products, name, spoken[name])
    try:
        yield
    finally:
        setattr(products, name, before)


def lockstep(runs: list[Run], until: int, *, capture: bool = True) -> Iterator[list[tuple[Run, Step]]]:
    """Train all runs up to iteration ``until`` together, yielding after each iteration.

    Runs that are behind go first, and the caller may take runs out of the list. On a GPU, unless ``capture`` is off,
    iterations are replays of a recording, and what is yielded is overwritten by the next one.
    """
    keep_freed_pages()
    launcher: Launcher | None = None
    while runs and (at := min(run.iteration for run in runs)) < until:
        active = [run for run in runs if run.iteration == at]
        if launcher is None or launcher.runs != active:
            launcher = Launcher(active, capture=capture)
        steps = launcher()
        for run in active:
            run.iteration += 1
        yield list(zip(active, steps, strict=True))
        del steps  # or their tensors would stay in memory beside those of the next iteration
