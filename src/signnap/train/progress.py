"""Progress on stderr: a bar with rate and remaining time on a terminal, lines of text elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any, Protocol

from ..errors import printable

#: Seconds between two lines of progress without a terminal.
_SECONDS_APART = 10.0


class Report(Protocol):
    """A function that receives the number of finished iterations (or cells, or blocks) and, at times, a new text."""

    def __call__(self, iteration: float, words: str = "") -> None: ...


def silent(iteration: float, words: str = "") -> None:
    """Report nothing."""


class _Patient:
    """A stream whose write errors are ignored, so that a full or closed stderr does not end the training."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def write(self, text: str) -> None:
        with suppress(OSError):
            self.stream.write(text)

    def flush(self) -> None:
        with suppress(OSError):
            self.stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def tell(words: str) -> None:
    """Write one printable line to stderr, or nowhere if that is closed: print would then write to stdout."""
    if sys.stderr is not None:
        print(printable(words), file=_Patient(sys.stderr))


@contextmanager
def progress(total: int, what: str = "iteration", title: str = "training") -> Iterator[Report]:
    """Show progress on stderr: a bar if that is a terminal, otherwise a line about every ten seconds."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield _Lines(total, what)
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn(f"{what} {{task.fields[whole]}}/{{task.total}}"),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[words]}"),
    )
    terminal: Any = _Patient(sys.stderr)
    with Progress(*columns, console=Console(file=terminal), transient=True) as bar:
        task = bar.add_task(title, total=total, whole=0, rate="", words="")
        pace = _Pace()

        def report(iteration: float, words: str = "") -> None:
            bar.update(task, completed=iteration, whole=int(iteration), rate=_speed(pace(iteration), what))
            if words:
                bar.update(task, words=words)

        yield report


def _speed(rate: float, what: str) -> str:
    """A rate in units that suit it: iterations per second or seconds per iteration, other things per minute or hour."""
    if what != "iteration":
        return f"{60 * rate:.1f} {what}s/min" if 60 * rate >= 1 else f"{3600 * rate:.1f} {what}s/h"
    return f"{rate:.1f} it/s" if rate >= 1 or not rate else f"{1 / rate:.1f} s/it"


def _left(seconds: float) -> str:
    return f"{seconds:.0f} s left" if seconds < 600 else f"{timedelta(seconds=round(seconds))} left"


class _Pace:
    """Iterations per second since the first reported one. A resumed run has not computed the earlier iterations."""

    def __init__(self) -> None:
        self.first: tuple[float, float] | None = None

    def __call__(self, iteration: float) -> float:
        now = time.perf_counter()
        start, begun = self.first = self.first or (iteration, now)
        return (iteration - start) / max(now - begun, 1e-9)


class _Lines:
    def __init__(self, total: int, what: str) -> None:
        self.total, self.what = total, what
        self.pace, self.last, self.words = _Pace(), time.perf_counter(), ""

    def __call__(self, iteration: float, words: str = "") -> None:
        now, rate = time.perf_counter(), self.pace(iteration)
        self.words = words or self.words
        if now - self.last < _SECONDS_APART and iteration < self.total:
            return
        self.last = now
        speed = f"{_speed(rate, self.what)}  {_left((self.total - iteration) / rate)}  " if rate else ""
        tell(f"{self.what} {int(iteration)}/{self.total}  {speed}{self.words}")
