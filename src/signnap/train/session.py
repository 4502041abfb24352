"""Training from the start or a checkpoint to the end, with logs, checkpoints, collapse detection and a clean stop."""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

from ..errors import SignnapError
from ..interfaces import Step
from .health import Collapsed, Health
from .loop import lockstep
from .profile import Profile, Profiler
from .progress import Report, silent
from .run import Run
from .run_folder import RunFolder

_log = logging.getLogger(__name__)

#: Saving may take one part in this many of the time. Large states are saved less often than the timetable says.
_SAVING_LIMIT = 30


class Interrupted(SignnapError):
    """The user stopped a run; its state is saved."""


@dataclass(frozen=True)
class Timetable:
    """The number of iterations, and how often to log (iterations) and save (seconds; 0: after every iteration)."""

    iterations: int
    log_every: int = 50
    save_every: float = 30.0


@dataclass(frozen=True)
class Outcome:
    """The end of training: last iteration, seconds over all sessions, last logged numbers, and a profile if requested.

    ``history`` contains the records of all logged iterations. If a collapse was detected and training continued,
    ``collapsed`` describes it.
    """

    iteration: int
    seconds: float
    numbers: dict[str, float]
    profile: Profile | None = None
    history: list[dict[str, float]] = field(default_factory=list)
    collapsed: str | None = None


@dataclass
class Trainee:
    """A run with its collapse detector and its folder, either of which may be missing.

    The weights of its encoder are saved beside the training state. ``earlier`` counts the seconds of earlier sessions.
    """

    run: Run
    health: Health | None
    folder: RunFolder | None = None
    numbers: dict[str, float] = field(init=False)
    history: list[dict[str, float]] = field(init=False, default_factory=list)
    earlier: float = field(init=False)
    collapse: str | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        """Read the records of a resumed run, and let ``health`` check them."""
        self.numbers, self.earlier = {}, 0.0
        for record in self.folder.read_metrics() if self.folder is not None and self.run.iteration else ():
            self.numbers = {name: value for name, value in record.items() if name not in ("iteration", "seconds")}
            self.earlier = record["seconds"]
            self.history.append(record)
            self._check(record["iteration"])

    def log(self, step: Step, seconds: float) -> str | None:
        """Log an iteration. Return a sentence if the run has collapsed."""
        iteration = self.run.iteration
        found = self.run.task.describe(step, self.run.encoder)
        self.numbers = {name: float(value) for name, value in step.numbers.items()} | found
        record = {"iteration": iteration, **self.numbers, "seconds": self.earlier + seconds}
        self.history.append(record)
        if self.folder is not None:
            self.folder.append_metrics(record)
        return self._check(iteration)

    def _check(self, iteration: int) -> str | None:
        found = None if self.health is None else self.health.check(iteration, self.numbers)
        self.collapse = self.collapse or found
        return found

    def is_over(self) -> bool:
        """Whether the patience is used up and the last iteration is logged. A kill may separate these two events."""
        return self.run.is_final() and bool(self.history) and self.history[-1]["iteration"] == self.run.iteration

    def save(self) -> None:
        if self.folder is not None:
            self.folder.save_state(self.run.state(), self.run.encoder.state_dict())


def train(
    trainees: Sequence[Trainee],
    timetable: Timetable,
    *,
    report: Report = silent,
    stop_on_collapse: bool = True,
    profiler: Profiler | None = None,
) -> list[Outcome]:
    """Train all runs together to the end of the timetable.

    A run with a folder may be killed and resumed at any moment. A run whose patience is used up is saved and does not
    continue. A collapsed run does not continue either; if the runs have folders, the others finish before the error is
    raised.
    """
    iterate = lockstep if profiler is None else profiler.lockstep
    by_run = {trainee.run: trainee for trainee in trainees}
    runs = [trainee.run for trainee in trainees if not trainee.is_over()]
    folders = [str(trainee.folder.path) for trainee in trainees if trainee.folder is not None]
    collapsed: list[Trainee] = []
    begun = saved = time.perf_counter()
    wait = timetable.save_every
    with _stop_signal(bool(folders)) as stop:
        for steps in iterate(runs, timetable.iterations):
            now = time.perf_counter()
            words, iteration = "", steps[0][0].iteration
            for run, step in steps if _due(iteration, timetable) else ():
                trainee = by_run[run]
                collapse = trainee.log(step, now - begun)
                words = f"loss {trainee.numbers['loss']:.4f}"
                if trainee.is_over():
                    trainee.save()
                    runs.remove(run)
                elif collapse:
                    collapsed.append(trainee)
                    if stop_on_collapse:
                        runs.remove(run)
                    elif len(collapsed) == 1:
                        _log.info("training continues after a collapse: %s", collapse)
            report(iteration, words)
            if collapsed and stop_on_collapse and not folders:
                break
            # The signal is read once, so that a stop always follows a save.
            finished, stopped = iteration == timetable.iterations, stop.is_set()
            if finished or stopped or now - saved >= wait:
                before = time.perf_counter()
                for run in runs:
                    by_run[run].save()
                saved = time.perf_counter()
                wait = max(timetable.save_every, _SAVING_LIMIT * (saved - before)) if timetable.save_every else 0
            if stopped and not finished:
                where = f"iteration {iteration} of {timetable.iterations}; everything is saved in {', '.join(folders)}"
                raise Interrupted(f"stopped at {where}: continue with --resume (resume=True)")
    if collapsed and stop_on_collapse:
        raise _collapse_error(collapsed, trainees)
    seconds, profile = time.perf_counter() - begun, None if profiler is None else profiler.profile
    return [Outcome(t.run.iteration, t.earlier + seconds, t.numbers, profile, t.history, t.collapse) for t in trainees]


def _collapse_error(collapsed: list[Trainee], trainees: Sequence[Trainee]) -> Collapsed:
    """The error for a collapse. A saved run occupies its folder, so other settings need another folder."""
    first = collapsed[0]
    ways_out = "--keep-going (stop_on_collapse=False) trains on regardless"
    if first.folder is not None:
        ways_out = "--resume --keep-going (resume=True, stop_on_collapse=False) trains on regardless, "
        ways_out += "other settings need another folder"
    where = ""
    if len(trainees) > 1:
        name = first.folder.path if first.folder is not None else f"number {trainees.index(first) + 1}"
        where = f" in {len(collapsed)} of {len(trainees)} runs, first in {name}"
    return Collapsed(f"training collapsed{where}: {first.collapse}; {ways_out}")


def _due(iteration: int, timetable: Timetable) -> bool:
    return iteration == 1 or iteration % timetable.log_every == 0 or iteration == timetable.iterations


@contextmanager
def _stop_signal(wanted: bool) -> Iterator[threading.Event]:
    """Turn the first Ctrl-C or SIGTERM into a request to stop between iterations. A second one interrupts at once."""
    stop = threading.Event()
    if not wanted or threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def handle(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        _log.info("stopping after this iteration; a second Ctrl-C stops at once and loses what is not saved")

    previous = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in previous.items():
            # None: C code installed the handler, and Python cannot restore it
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
