"""What a saved state has to be before a run continues from it.

The fused optimiser reads and writes as many numbers as a parameter has, wherever its state lies: one of another shape
would lead it into the memory of others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..errors import SignnapError
from .best import Best

if TYPE_CHECKING:
    from .loop import Run

#: What every iteration is computed with, beside the learning rate.
_RATES = ("betas", "eps", "weight_decay", "amsgrad", "maximize")


def expect_state_of(run: Run, state: dict[str, Any]) -> None:
    """Refuse a state that this run cannot have saved; nothing of it is used yet."""
    iteration = state["iteration"]
    if type(iteration) is not int or not 0 <= iteration < 2**63:
        raise SignnapError("its iteration is no number of iterations")
    _expect_optimizer(run, state["optimizer"], iteration)
    _expect_generators(run.task.generators, state["generators"])
    _expect_best(run.best, state.get("best", {}), iteration)


def take_over(optimizer: torch.optim.Optimizer, entries: dict[int, dict[str, Tensor]]) -> None:
    """Continue with what a state that was found to fit has of each parameter, copied to where the optimiser keeps it.

    Rates stay those of the settings.
    """
    optimizer.state.clear()
    for number, parameter in enumerate(optimizer.param_groups[0]["params"]):
        if number in entries:
            kept = _blank(parameter, parameter.device)
            optimizer.state[parameter] = {name: kept[name].copy_(entries[number][name].detach()) for name in kept}


def _blank(parameter: Tensor, place: torch.device) -> dict[str, Tensor]:
    """What Adam keeps of a parameter, as it is before the first gradient."""
    averages = {name: torch.zeros_like(parameter, device=place) for name in ("exp_avg", "exp_avg_sq")}
    return {"step": torch.zeros((), dtype=torch.float32, device=place), **averages}


def _expect_optimizer(run: Run, saved: Any, iteration: int) -> None:
    (own,), (group,), entries = run.optimizer.param_groups, saved["param_groups"], saved["state"]
    if group["params"] != [*range(len(own["params"]))]:
        raise SignnapError("its optimiser has other parameters")
    for name in _RATES if run.factor else ("lr", *_RATES):  # a schedule sets its rate before every iteration
        if (group[name] == own[name]) is not True:
            raise SignnapError(f"its optimiser has another {name}")
    # A parameter that no gradient has reached has no entry, but not all of them.
    if not set(entries) <= set(group["params"]) or bool(entries) != bool(iteration):
        raise SignnapError(f"its optimiser knows {len(entries)} parameters after {iteration} iterations")
    for number, entry in entries.items():
        wanted = _blank(own["params"][number], torch.device("meta"))
        if not _are_alike(entry, wanted) or not 1 <= float(entry["step"]) <= iteration:
            raise SignnapError(f"its optimiser has something else of parameter {number} than Adam keeps")


def _expect_generators(own: dict[str, torch.Generator], saved: Any) -> None:
    if not _are_alike(saved, {name: source.get_state() for name, source in own.items()}):
        raise SignnapError(f"its generators are not those of {', '.join(own)}")


def _expect_best(best: Best | None, saved: Any, iteration: int) -> None:
    if not _are_alike(saved, {} if best is None else best.state_dict()):
        raise SignnapError("its best iteration is not one of this encoder")
    if best is not None and not 0 <= int(saved["waited"]) <= min(best.patience, iteration):
        raise SignnapError("its best iteration is longer ago than a run waits")


def _are_alike(found: Any, wanted: dict[str, Any]) -> bool:
    """Whether these are tensors of the wanted names, shapes and kinds of numbers; what else modules keep is theirs."""
    if not isinstance(found, dict) or found.keys() != wanted.keys():
        return False
    return all(
        isinstance(found[name], Tensor) and found[name].shape == own.shape and found[name].dtype == own.dtype
        for name, own in wanted.items()
        if isinstance(own, Tensor)
    )
