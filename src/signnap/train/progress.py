"""What a person sees while training runs: a bar with rate and ETA on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Report(Protocol):
    """Called after every iteration with how far we are and, when there is something new, a few words."""

    def __call__(self, iteration: int, words: str = "") -> None: ...


def silent(iteration: int, words: str = "") -> None:
    """Report nothing."""


@contextmanager
def progress(total: int, start: int = 0) -> Iterator[Report]:
    """Report on stderr: a rich bar if that is a terminal, else a line about every ten seconds."""
    if not sys.stderr.isatty():
        yield _Lines(total, start)
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[words]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("training", total=total, completed=start, rate="", words="")
        begun = time.perf_counter()

        def report(iteration: int, words: str = "") -> None:
            rate = (iteration - start) / max(time.perf_counter() - begun, 1e-9)
            bar.update(task, completed=iteration, rate=f"{rate:.1f} it/s", **({"words": words} if words else {}))

        yield report


class _Lines:
    def __init__(self, total: int, start: int, every: float = 10.0) -> None:
        self.total, self.start, self.every = total, start, every
        self.begun = self.last = time.perf_counter()

    def __call__(self, iteration: int, words: str = "") -> None:
        now = time.perf_counter()
        if (now - self.last < self.every and iteration < self.total) or not words:
            return
        self.last = now
        rate = (iteration - self.start) / max(now - self.begun, 1e-9)
        left = (self.total - iteration) / max(rate, 1e-9)
        print(f"iteration {iteration}/{self.total}  {rate:.1f} it/s  {left:.0f} s left  {words}", file=sys.stderr)
