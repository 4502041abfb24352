"""Where the time of training goes: a few of its first iterations are timed region by region, the next are traced.

Those that are timed are not traced, because tracing slows every operation down. No CUDA graph is recorded until both
are done: inside a recording regions cannot be told apart.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from torch.profiler import ProfilerActivity, profile, record_function

from ..errors import SignnapError
from ..storage import replacing_regular
from .loop import Run, Step, lockstep
from .regions import Stopwatch, watching

#: Iterations to let pass, since the first ones compile and allocate; then iterations to time, and to trace.
PASSED, TIMED, TRACED = 5, 10, 10


@dataclass(frozen=True)
class RegionTime:
    """What a region itself, without those inside it, takes of an iteration: milliseconds, and the share of it."""

    name: str
    milliseconds: float
    share: float


@dataclass(frozen=True)
class Profile:
    """All regions, the most expensive first; over how many iterations they were timed; the file of the trace."""

    regions: tuple[RegionTime, ...]
    iterations: int
    trace: Path


class Profiler:
    """Looks at the beginning of training, and changes nothing about what is learned."""

    def __init__(self, trace: Path, left: int) -> None:
        """``left`` is the number of iterations to go; short runs are looked at for a shorter time."""
        if left < 2:
            raise SignnapError(f"a profile needs at least 2 iterations to go: found {left}")
        self.trace = trace
        self.profile: Profile | None = None
        self.passed = min(PASSED, left // 3)
        self.timed = min(TIMED, (left - self.passed) // 2)
        self.traced = min(TRACED, left - self.passed - self.timed)

    def lockstep(self, runs: list[Run], until: int, *, capture: bool = True) -> Iterator[list[tuple[Run, Step]]]:
        """Train as ``loop.lockstep`` does; ``profile`` is there and the trace is written once both are known."""
        if not runs:
            raise SignnapError("a profile needs at least 2 iterations to go: the patience of this run is used up")
        first = min(run.iteration for run in runs) + self.passed
        on_gpu = all(run.on_gpu for run in runs)
        yield from lockstep(runs, first, capture=False)
        watch = Stopwatch(on_gpu)
        with watching(watch):
            yield from lockstep(runs, first + self.timed, capture=False)
        regions = _by_expense(watch.milliseconds(), self.timed)
        with _tracing(self.trace, on_gpu):
            yield from lockstep(runs, first + self.timed + self.traced, capture=False)
        self.profile = Profile(regions, self.timed, self.trace)
        yield from lockstep(runs, until, capture=capture)


def _by_expense(milliseconds: dict[str, float], iterations: int) -> tuple[RegionTime, ...]:
    whole = sum(milliseconds.values())
    times = [RegionTime(name, spent / iterations, spent / whole) for name, spent in milliseconds.items()]
    return tuple(sorted(times, key=lambda region: -region.milliseconds))


@contextmanager
def _tracing(path: Path, on_gpu: bool) -> Iterator[None]:
    """Record every operation and region, and on success write a trace that Chrome and Perfetto open."""
    activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA] if on_gpu else [ProfilerActivity.CPU]
    with profile(activities=activities) as traced, watching(record_function):
        yield
    with replacing_regular(path) as file, tempfile.TemporaryDirectory() as scratch:
        written = Path(scratch) / path.name
        traced.export_chrome_trace(str(written))
        if not written.exists():  # the exporter logs its failures and leaves half a file under another name
            raise OSError(f"exporting the trace by way of {scratch} failed")
        with open(written, "rb") as trace:
            shutil.copyfileobj(trace, file)
