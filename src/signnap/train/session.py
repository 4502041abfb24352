"""Training from start or checkpoint to end: logs, checkpoints, watches for collapse, stops cleanly when asked."""

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

#: Saving may cost one part in so many of the time; large states are saved less often than asked for.
_WORTH = 30


class Interrupted(SignnapError):
    """The user stopped a run; what it had learned is saved."""


@dataclass(frozen=True)
class Timetable:
    """How long to train, how often to log (iterations) and to save (seconds; 0: after every iteration)."""

    iterations: int
    log_every: int = 50
    save_every: float = 30.0


@dataclass(frozen=True)
class Outcome:
    """Where training ended: iteration, seconds over all sessions, the last logged numbers; its profile if wanted.

    ``history`` has the logged numbers of all iterations that were logged, and ``collapsed`` says what was first wrong
    with them, if anything was and training went on.
    """

    iteration: int
    seconds: float
    numbers: dict[str, float]
    profile: Profile | None = None
    history: list[dict[str, float]] = field(default_factory=list)
    collapsed: str | None = None


@dataclass
class Trainee:
    """A run and its surroundings: who watches it, if anybody, and the folder that keeps it, if any.

    The weights of its encoder are saved apart from the training state.
    """

    run: Run
    health: Health | None
    folder: RunFolder | None = None
    numbers: dict[str, float] = field(init=False)
    history: list[dict[str, float]] = field(init=False, default_factory=list)
    before: float = field(init=False)
    wrong: str | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        """Recall the last numbers of a resumed run and the seconds it took, and show ``health`` its history."""
        self.numbers, self.before = {}, 0.0
        for record in self.folder.read_metrics() if self.folder is not None and self.run.iteration else ():
            self.numbers = {name: value for name, value in record.items() if name not in ("iteration", "seconds")}
            self.before = record["seconds"]
            self.history.append(record)
            self._check(record["iteration"])

    def look(self, step: Step, seconds: float) -> str | None:
        """Log an iteration; return what is wrong with it, if anything is."""
        iteration = self.run.iteration
        found = self.run.task.describe(step, self.run.encoder)
        self.numbers = {name: float(value) for name, value in step.numbers.items()} | found
        record = {"iteration": iteration, **self.numbers, "seconds": self.before + seconds}
        self.history.append(record)
        if self.folder is not None:
            self.folder.append_metrics(record)
        return self._check(iteration)

    def _check(self, iteration: int) -> str | None:
        wrong = None if self.health is None else self.health.check(iteration, self.numbers)
        self.wrong = self.wrong or wrong
        return wrong

    def is_over(self) -> bool:
        """Whether patience is at its end and the record that says so is written: a run may be killed in between."""
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
    """Drive the loop to the end of the timetable for all trainees at once.

    Those with a folder can be killed and resumed at any moment. One whose patience is at its end is saved and taken
    out, and one that collapses, too; the others finish before the error is raised, if folders keep what they learn.
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
                wrong = trainee.look(step, now - begun)
                words = f"loss {trainee.numbers['loss']:.4f}"
                if trainee.is_over():
                    trainee.save()
                    runs.remove(run)
                elif wrong:
                    collapsed.append(trainee)
                    if stop_on_collapse:
                        runs.remove(run)
                    elif len(collapsed) == 1:
                        _log.info("training goes on after a collapse: %s", wrong)
            report(iteration, words)
            if collapsed and stop_on_collapse and not folders:
                break
            finished, stopped = iteration == timetable.iterations, stop.is_set()  # asked once: who stops has saved
            if finished or stopped or now - saved >= wait:
                before = time.perf_counter()
                for run in runs:
                    by_run[run].save()
                saved = time.perf_counter()
                wait = max(timetable.save_every, _WORTH * (saved - before)) if timetable.save_every else 0
            if stopped and not finished:
                where = f"iteration {iteration} of {timetable.iterations}; everything is saved in {', '.join(folders)}"
                raise Interrupted(f"stopped at {where}: continue with --resume (resume=True)")
    if collapsed and stop_on_collapse:
        raise _collapse(collapsed, trainees)
    seconds, profile = time.perf_counter() - begun, None if profiler is None else profiler.profile
    return [Outcome(t.run.iteration, t.before + seconds, t.numbers, profile, t.history, t.wrong) for t in trainees]


def _collapse(collapsed: list[Trainee], trainees: Sequence[Trainee]) -> Collapsed:
    """The error for a collapse; a run that is kept holds its folder, which says what happened."""
    first = collapsed[0]
    ways_out = "--keep-going (stop_on_collapse=False) trains on regardless"
    if first.folder is not None:
        ways_out = "--resume --keep-going (resume=True, stop_on_collapse=False) trains on regardless, "
        ways_out += "other settings need another folder"
    where = ""
    if len(trainees) > 1:
        name = first.folder.path if first.folder is not None else f"number {trainees.index(first) + 1}"
        where = f" in {len(collapsed)} of {len(trainees)} runs, first in {name}"
    return Collapsed(f"training collapsed{where}: {first.wrong}; {ways_out}")


def _due(iteration: int, timetable: Timetable) -> bool:
    return iteration == 1 or iteration % timetable.log_every == 0 or iteration == timetable.iterations


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
        _log.info("stopping after this iteration; a second Ctrl-C stops at once, and what is not saved is lost")

    previous = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in previous.items():
            # None: it was not installed from Python, which cannot put it back
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
