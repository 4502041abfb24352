"""Processes that work beside this one. If one of them is killed, its work is done here, so none is lost."""

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
    """The promised result of a worker, and the work itself, which this process does if the worker is killed."""

    promise: Future[Any]
    work: Callable[[], Any]

    def is_done(self) -> bool:
        """Whether the worker is done; a job that was cancelled before it began never is."""
        return self.promise.done() and not self.promise.cancelled()

    def is_lost(self) -> bool:
        """Wait for the worker, and tell whether it was killed."""
        return isinstance(self.promise.exception(), BrokenProcessPool)

    def result(self) -> Any:
        return self.work() if self.is_lost() else self.promise.result()


def done(value: Any) -> Job:
    """Return a job that is done already, with this result."""
    kept: Future[Any] = Future()
    kept.set_result(value)
    return Job(kept, lambda: value)


@dataclass
class Workers:
    """A pool of processes; without one, this process does the work."""

    pool: ProcessPoolExecutor | None

    def submit(self, work: Callable[..., Any], *arguments: Any) -> Job:
        if self.pool is not None:
            try:
                return Job(self.pool.submit(work, *arguments), partial(work, *arguments))
            except BrokenProcessPool:  # one was killed, perhaps for its memory: from here on this process works
                self.pool = None
        return done(work(*arguments))


@contextmanager
def working(count: int) -> Iterator[Workers]:
    """Start so many workers; they end with the block, whatever ends it."""
    if not count:
        yield Workers(None)
        return
    others = active_children()
    with _single_threads(), ProcessPoolExecutor(count, get_context("spawn"), initializer=_begin) as pool:
        try:
            yield Workers(pool)
        except BaseException:
            for worker in active_children():  # nobody is left to read their results
                if worker not in others:
                    worker.terminate()
            pool.shutdown(cancel_futures=True)
            raise


def _begin() -> None:
    """Leave Ctrl-C to the parent, which ends its workers, and watch the parent, which cannot end them if killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None  # only a worker calls this
    parent.join()
    os._exit(1)  # in the middle of any work


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
