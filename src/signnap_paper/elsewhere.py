"""Work for other processes while this one goes on; whichever of them is killed, no work is lost."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import active_children, get_context, parent_process
from threading import Thread
from typing import Any


@dataclass
class Job:
    """What a judge elsewhere has promised, and the same work, to be done here should that judge be killed."""

    promise: Future[Any]
    work: Callable[[], Any]

    def is_done(self) -> bool:
        """Whether the judge is done; one who was told to stop before it began never is."""
        return self.promise.done() and not self.promise.cancelled()

    def is_lost(self) -> bool:
        """Wait for the judge, and tell whether it was killed."""
        return isinstance(self.promise.exception(), BrokenProcessPool)

    def result(self) -> Any:
        return self.work() if self.is_lost() else self.promise.result()


def done(value: Any) -> Job:
    """What a judge elsewhere would have promised, kept."""
    kept: Future[Any] = Future()
    kept.set_result(value)
    return Job(kept, lambda: value)


@dataclass
class Judges:
    """Processes that work when they are asked to; where there are none, this one does."""

    pool: ProcessPoolExecutor | None

    def ask(self, work: Callable[..., Any], *arguments: Any) -> Job:
        if self.pool is not None:
            try:
                return Job(self.pool.submit(work, *arguments), partial(work, *arguments))
            except BrokenProcessPool:  # one was killed, for its memory perhaps: from here on this process judges
                self.pool = None
        return done(work(*arguments))


@contextmanager
def judging(jobs: int) -> Iterator[Judges]:
    """So many judges, who end with the block whatever ends it."""
    if not jobs:
        yield Judges(None)
        return
    others = active_children()
    with _single_threads(), ProcessPoolExecutor(jobs, get_context("spawn"), initializer=_begin_judging) as pool:
        try:
            yield Judges(pool)
        except BaseException:
            for judge in active_children():  # nobody is left to read what they find
                if judge not in others:
                    judge.terminate()
            pool.shutdown(cancel_futures=True)
            raise


def _begin_judging() -> None:
    """Leave Ctrl-C to the parent, which ends its judges; if it is killed itself it cannot, so they watch it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None  # only a judge elsewhere calls this
    parent.join()
    os._exit(1)  # whatever the judge is at


@contextmanager
def _single_threads() -> Iterator[None]:
    """Keep new processes to one core each. They read this when they import numpy, before any code of ours runs."""
    before = {name: os.environ.get(name) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    os.environ.update(dict.fromkeys(before, "1"))
    try:
        yield
    finally:
        for name in before:
            del os.environ[name]
        os.environ.update({name: value for name, value in before.items() if value is not None})
