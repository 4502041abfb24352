"""Where the time of training goes: a profiler times the regions of some early iterations, and traces the next ones.

It does not trace the iterations that it times, because tracing slows every operation down. Training records no CUDA
graph before the profile is complete, because a profiler cannot tell regions apart inside a recording.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile, record_function

from ..errors import SignnapError
from ..interfaces import Step, observing
from ..storage import replacing_regular
from .loop import lockstep
from .run import Run

#: Iterations to skip, since the first ones compile and allocate; then iterations to time, and to trace.
SKIPPED, TIMED, TRACED = 5, 10, 10

#: Clock cycles for which the stopwatch holds a GPU back before an iteration, about ten milliseconds.
HOLD = 20_000_000


@dataclass(frozen=True)
class RegionTime:
    """The time of a region without the regions inside it: milliseconds per iteration, and share of the iteration."""

    name: str
    milliseconds: float
    share: float


@dataclass(frozen=True)
class Profile:
    """All regions, the most expensive first, the number of timed iterations, and the file of the trace."""

    regions: tuple[RegionTime, ...]
    iterations: int
    trace: Path


class Profiler:
    """Profiles the first iterations of training, without an effect on the result."""

    def __init__(self, trace: Path, left: int) -> None:
        """``left`` is the number of remaining iterations; of a short run, fewer iterations are profiled."""
        if left < 2:
            raise SignnapError(f"a profile needs at least 2 iterations to go: found {left}")
        self.trace = trace
        self.profile: Profile | None = None
        self.skipped = min(SKIPPED, left // 3)
        self.timed = min(TIMED, (left - self.skipped) // 2)
        self.traced = min(TRACED, left - self.skipped - self.timed)

    def lockstep(self, runs: list[Run], until: int, *, capture: bool = True) -> Iterator[list[tuple[Run, Step]]]:
        """Train as ``loop.lockstep`` does. After the profiled iterations, set ``profile`` and write the trace."""
        if not runs:
            raise SignnapError("a profile needs at least 2 iterations to go: the patience of this run is used up")
        first = min(run.iteration for run in runs) + self.skipped
        on_gpu = all(run.on_gpu for run in runs)
        yield from lockstep(runs, first, capture=False)
        watch = Stopwatch(on_gpu)
        with observing(watch):
            yield from lockstep(runs, first + self.timed, capture=False)
        regions = _by_expense(watch.milliseconds(), self.timed)
        with _tracing(self.trace, on_gpu):
            yield from lockstep(runs, first + self.timed + self.traced, capture=False)
        self.profile = Profile(regions, self.timed, self.trace)
        yield from lockstep(runs, until, capture=capture)


class Stopwatch:
    """Adds up the time of each region without the regions inside it. On a GPU this is the time of the device.

    A GPU that waits for its next kernel would make every region as long as its launches take. Therefore the stopwatch
    holds the GPU back at the start of an outermost region, while the host queues the kernels of that region.
    """

    def __init__(self, on_gpu: bool) -> None:
        self._on_gpu = on_gpu
        self._open: list[str] = []
        #: moments, and the region to which the time after each of them belongs
        self._moments: list[tuple[Any, str | None]] = []

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        if self._on_gpu and not self._open:
            torch.cuda._sleep(HOLD)
        self._open.append(name)
        self._note()
        try:
            yield
        finally:
            self._open.pop()
            self._note()

    def _note(self) -> None:
        moment: Any
        if self._on_gpu:
            moment = torch.cuda.Event(enable_timing=True)
            moment.record()
        else:
            moment = time.perf_counter()
        self._moments.append((moment, self._open[-1] if self._open else None))

    def milliseconds(self) -> dict[str, float]:
        """The time of every region so far. This waits for the device."""
        if self._on_gpu:
            torch.cuda.synchronize()
        totals: dict[str, float] = {}
        for (begin, name), (end, _) in pairwise(self._moments):
            if name is not None:
                passed = begin.elapsed_time(end) if self._on_gpu else 1000 * (end - begin)
                totals[name] = totals.get(name, 0.0) + passed
        return totals


def _by_expense(milliseconds: dict[str, float], iterations: int) -> tuple[RegionTime, ...]:
    whole = sum(milliseconds.values())
    times = [RegionTime(name, spent / iterations, spent / whole) for name, spent in milliseconds.items()]
    return tuple(sorted(times, key=lambda region: -region.milliseconds))


@contextmanager
def _tracing(path: Path, on_gpu: bool) -> Iterator[None]:
    """Trace every operation and region, and on success write a file that Chrome and Perfetto open."""
    activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA] if on_gpu else [ProfilerActivity.CPU]
    with profile(activities=activities) as traced, observing(record_function):
        yield
    with replacing_regular(path) as file, tempfile.TemporaryDirectory() as scratch:
        written = Path(scratch) / path.name
        traced.export_chrome_trace(str(written))
        if not written.exists():  # the exporter only logs a failure, and leaves a partial file under another name
            raise OSError(f"exporting the trace by way of {scratch} failed")
        with open(written, "rb") as trace:
            shutil.copyfileobj(trace, file)
