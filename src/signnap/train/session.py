"""Training from start or checkpoint to end: logs, checkpoints, watches for collapse, stops cleanly when asked."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from torch import nn

from ..errors import SignnapError
from .checkpoint import RunFolder
from .health import Collapsed, Health
from .loop import Run, Step
from .progress import Report, silent


class Interrupted(SignnapError):
    """The user stopped a run; what it had learned is saved."""


@dataclass(frozen=True)
class Schedule:
    """How long to train, how often to log (iterations) and to save (seconds)."""

    iterations: int
    log_every: int = 20
    save_every: float = 30.0


@dataclass(frozen=True)
class Outcome:
    """Where training ended: iteration, seconds over all sessions, the last logged numbers."""

    iteration: int
    seconds: float
    numbers: dict[str, float]


def train(
    run: Run,
    schedule: Schedule,
    health: Health,
    *,
    model: nn.Module,
    folder: RunFolder | None = None,
    report: Report = silent,
    stop_on_collapse: bool = True,
) -> Outcome:
    """Drive the loop to the end of the schedule; with a folder, the run can be killed and resumed at any moment.

    ``model`` is the part of the task that embeds; its weights are saved apart from the training state.
    """
    numbers, before = _so_far(folder, run.iteration, health)
    begun = saved = time.perf_counter()
    with _stop_signal(folder is not None) as stop:
        for step in run.iterate(schedule.iterations):
            now = time.perf_counter()
            words = ""
            if _due(run.iteration, schedule):
                numbers = _measure(run, step)
                words = f"loss {numbers['loss']:.4f}"
                if folder is not None:
                    folder.append_metrics({"iteration": run.iteration, **numbers, "seconds": before + now - begun})
                _examine(health, run.iteration, numbers, stop_on_collapse)
            report(run.iteration, words)
            finished = run.iteration == schedule.iterations
            if folder is not None and (finished or stop.is_set() or now - saved >= schedule.save_every):
                folder.save_state(run.state(), model.state_dict())
                saved = time.perf_counter()
            if stop.is_set() and folder is not None and not finished:
                where = f"iteration {run.iteration} of {schedule.iterations}"
                raise Interrupted(f"stopped at {where}; everything is saved in {folder.path}: continue with --resume")
    return Outcome(run.iteration, before + time.perf_counter() - begun, numbers)


def _due(iteration: int, schedule: Schedule) -> bool:
    return iteration == 1 or iteration % schedule.log_every == 0 or iteration == schedule.iterations


def _measure(run: Run, step: Step) -> dict[str, float]:
    return {**{name: float(value) for name, value in step.numbers.items()}, **run.task.describe(step)}


def _examine(health: Health, iteration: int, numbers: dict[str, float], stop: bool) -> None:
    sentence = health.check(iteration, numbers)
    if sentence and stop:
        raise Collapsed(f"training collapsed: {sentence}; --keep-going trains on regardless")


def _so_far(folder: RunFolder | None, iteration: int, health: Health) -> tuple[dict[str, float], float]:
    """The last numbers of a resumed run and the seconds it took, with its history shown to ``health`` again."""
    numbers: dict[str, float] = {}
    seconds = 0.0
    for record in folder.read_metrics() if folder is not None and iteration else ():
        numbers = {name: value for name, value in record.items() if name not in ("iteration", "seconds")}
        seconds = record["seconds"]
        health.check(record["iteration"], numbers)
    return numbers, seconds


@contextmanager
def _stop_signal(wanted: bool) -> Iterator[threading.Event]:
    """Turn the first Ctrl-C or SIGTERM into a request to stop between iterations; a second one interrupts at once."""
    stop = threading.Event()
    if not wanted or threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def handle(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    previous = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
