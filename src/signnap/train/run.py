"""A run: a task, its optimiser, its best weights, and a state from which it continues bit for bit."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import SignnapError
from ..interfaces import Step, Task, region

#: Settings of the optimiser beside the learning rate. A saved state must have the same values.
_OPTIMIZER_SETTINGS = ("betas", "eps", "weight_decay", "amsgrad", "maximize")


class Run:
    """A task with its optimiser and iteration number.

    ``factor`` multiplies the learning rate at an iteration (None: always 1), ``clip`` limits the norm of the gradient
    (0: no limit), and ``decoupled`` takes weight decay out of the gradient (AdamW). With ``patience`` the run is over
    when the watched number has not fallen for that many iterations, and ``encoder`` is the one with the lowest number.
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
        # A recorded iteration reads a changing rate from the device.
        self.lr, self._rate = lr, torch.tensor(lr, device=parameters[0].device) if factor and self.on_gpu else lr
        kind = torch.optim.AdamW if decoupled else torch.optim.Adam
        self.optimizer = kind(parameters, lr=self._rate, weight_decay=weight_decay, fused=True, capturable=self.on_gpu)
        self.best = BestEncoder(task.modules["encoder"], patience) if patience else None

    @property
    def encoder(self) -> nn.Module:
        """The trained encoder: the current one or, with patience, the best one so far."""
        return self.task.modules["encoder"] if self.best is None else self.best.encoder

    def is_final(self) -> bool:
        """Whether the patience is used up, so that further iterations change nothing. This waits for the device."""
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
        """Compute one iteration and update the weights. The caller counts the iteration."""
        with region("iteration"), _matmul_precision(allow_tf32=self.task.allow_tf32) if self.on_gpu else nullcontext():
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
        return replace(step, total=step.total.detach())  # so that keeping a step does not keep its autograd graph

    def state(self) -> dict[str, Any]:
        """The state as plain tensors and numbers, which ``torch.load`` reads with ``weights_only=True``."""
        return {
            "iteration": self.iteration,
            "modules": self.task.modules.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "generators": {name: source.get_state() for name, source in self.task.generators.items()},
            "best": {} if self.best is None else self.best.state_dict(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a saved state, bit for bit. All parts of the state are checked before any of them is used."""
        _expect_state_of(self, state)
        self.task.modules.load_state_dict(state["modules"])
        _restore_optimizer(self.optimizer, state["optimizer"]["state"])
        if self.best is not None:
            self.best.load_state_dict(state["best"])
        for name, saved in state["generators"].items():
            self.task.generators[name].set_state(saved.cpu())
        self.iteration = state["iteration"]


@contextmanager
def _matmul_precision(*, allow_tf32: bool) -> Iterator[None]:
    """Set the precision of matrix products on a GPU inside the block.

    Torch has an older and a newer name for this setting. Once a program has set the newer one, reading the older one
    fails.
    """
    products: Any = torch.backends.cuda.matmul
    try:
        name, before = "allow_tf32", products.allow_tf32
    except RuntimeError:
        name, before = "fp32_precision", products.fp32_precision
    values: dict[str, Any] = {"allow_tf32": allow_tf32, "fp32_precision": "tf32" if allow_tf32 else "ieee"}
    setattr(products, name, values[name])
    try:
        yield
    finally:
        setattr(products, name, before)


class BestEncoder(nn.Module):
    """A copy of an encoder from the iteration at which a watched number was lowest; of equal iterations, the latest.

    Once the number has not fallen for ``patience`` iterations, the copy does not change any more, so the caller may
    check for that at any later time. All operations run on the device, so a recorded iteration can contain them.
    """

    lowest: Tensor
    waited: Tensor

    def __init__(self, encoder: nn.Module, patience: int) -> None:
        super().__init__()
        self.encoder, self.patience = copy.deepcopy(encoder).requires_grad_(False), patience
        place = next(encoder.parameters()).device
        self.register_buffer("lowest", torch.full((), math.inf, device=place))
        self.register_buffer("waited", torch.zeros((), dtype=torch.int64, device=place))

    @torch.no_grad()
    def consider(self, encoder: nn.Module, watched: Tensor) -> None:
        """Copy the encoder's weights, with which the number was computed, if the number is the lowest so far."""
        waiting = self.waited < self.patience
        better = waiting & (watched <= self.lowest)
        for kept, current in zip(self._tensors(self.encoder), self._tensors(encoder), strict=True):
            kept.copy_(torch.where(better, current, kept))
        self.lowest.copy_(torch.where(better, watched, self.lowest))
        self.waited.copy_(torch.where(better, 0, self.waited + waiting))

    def is_final(self) -> bool:
        """Whether no later iteration can change the copy."""
        return int(self.waited) >= self.patience

    @staticmethod
    def _tensors(module: nn.Module) -> list[Tensor]:
        return [*module.parameters(), *module.buffers()]


# -- saved states ----------------------------------------------------------------------------------------------------


def _expect_state_of(run: Run, state: dict[str, Any]) -> None:
    """Refuse a state that this run cannot have saved, before any of it is used.

    The fused optimiser reads and writes as many numbers as a parameter has, without looking at the shape of its state.
    A state of another shape would let it write to memory outside that state.
    """
    iteration = state["iteration"]
    if type(iteration) is not int or not 0 <= iteration < 2**63:
        raise SignnapError("its iteration is no number of iterations")
    _expect_optimizer(run, state["optimizer"], iteration)
    if not _are_alike(state["generators"], {name: own.get_state() for name, own in run.task.generators.items()}):
        raise SignnapError(f"its generators are not those of {', '.join(run.task.generators)}")
    _expect_best(run.best, state.get("best", {}), iteration)


def _expect_optimizer(run: Run, saved: Any, iteration: int) -> None:
    (own,), (group,), entries = run.optimizer.param_groups, saved["param_groups"], saved["state"]
    if group["params"] != [*range(len(own["params"]))]:
        raise SignnapError("its optimiser has other parameters")
    checked = _OPTIMIZER_SETTINGS if run.factor else ("lr", *_OPTIMIZER_SETTINGS)  # a schedule sets lr at every step
    for name in checked:
        if (group[name] == own[name]) is not True:
            raise SignnapError(f"its optimiser has another {name}")
    # A parameter without a gradient has no entry, but after an iteration some parameter has one.
    if not set(entries) <= set(group["params"]) or bool(entries) != bool(iteration):
        raise SignnapError(f"its optimiser knows {len(entries)} parameters after {iteration} iterations")
    for number, entry in entries.items():
        expected = _initial_entry(own["params"][number], torch.device("meta"))
        if not _are_alike(entry, expected) or not 1 <= float(entry["step"]) <= iteration:
            raise SignnapError(f"its optimiser's entry for parameter {number} is not one that Adam keeps")


def _expect_best(best: BestEncoder | None, saved: Any, iteration: int) -> None:
    if not _are_alike(saved, {} if best is None else best.state_dict()):
        raise SignnapError("its best iteration is not one of this encoder")
    if best is not None and not 0 <= int(saved["waited"]) <= min(best.patience, iteration):
        raise SignnapError("its best iteration is longer ago than the patience of this run")


def _are_alike(found: Any, expected: dict[str, Any]) -> bool:
    """Whether these are tensors with the expected names, shapes and number types.

    Modules may keep values that are no tensors in their state; those are not compared.
    """
    if not isinstance(found, dict) or found.keys() != expected.keys():
        return False
    return all(
        isinstance(found[name], Tensor) and found[name].shape == own.shape and found[name].dtype == own.dtype
        for name, own in expected.items()
        if isinstance(own, Tensor)
    )


def _restore_optimizer(optimizer: torch.optim.Optimizer, entries: dict[int, dict[str, Tensor]]) -> None:
    """Copy the saved entries into new tensors with the layout that the optimiser uses. Rates stay as configured."""
    optimizer.state.clear()
    for number, parameter in enumerate(optimizer.param_groups[0]["params"]):
        if number in entries:
            entry = _initial_entry(parameter, parameter.device)
            optimizer.state[parameter] = {name: entry[name].copy_(entries[number][name].detach()) for name in entry}


def _initial_entry(parameter: Tensor, place: torch.device) -> dict[str, Tensor]:
    """The state of Adam for a parameter before its first gradient."""
    averages = {name: torch.zeros_like(parameter, device=place) for name in ("exp_avg", "exp_avg_sq")}
    return {"step": torch.zeros((), dtype=torch.float32, device=place), **averages}
