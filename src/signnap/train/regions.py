"""Names for the parts of an iteration, and how long each takes while somebody is looking."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from itertools import pairwise
from typing import Any

import torch

#: What to do around a region, given its name.
Look = Callable[[str], AbstractContextManager[Any]]

#: Cycles for which a GPU is held back before an iteration that is timed, about ten milliseconds.
HOLD = 20_000_000

_look: ContextVar[Look | None] = ContextVar("look", default=None)
_unseen: AbstractContextManager[None] = nullcontext()


def region(name: str) -> AbstractContextManager[Any]:
    """Name what happens inside; regions may lie in one another. Costs next to nothing while nobody looks."""
    look = _look.get()
    return _unseen if look is None else look(name)


@contextmanager
def watching(look: Look) -> Iterator[None]:
    """Look at all regions that this thread enters."""
    token = _look.set(look)
    try:
        yield
    finally:
        _look.reset(token)


class Stopwatch:
    """Adds up the time of each region itself, without the regions inside it: the device's time on a GPU.

    A GPU that waits for its next kernel would make every region as long as its launches take. So it is held back
    at the start of an outermost region, while the host queues what is inside.
    """

    def __init__(self, on_gpu: bool) -> None:
        self._on_gpu = on_gpu
        self._open: list[str] = []
        #: moments, and the region that the time after each of them belongs to
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
        """The time of every region so far; waits for the device."""
        if self._on_gpu:
            torch.cuda.synchronize()
        totals: dict[str, float] = {}
        for (begin, name), (end, _) in pairwise(self._moments):
            if name is not None:
                passed = begin.elapsed_time(end) if self._on_gpu else 1000 * (end - begin)
                totals[name] = totals.get(name, 0.0) + passed
        return totals
