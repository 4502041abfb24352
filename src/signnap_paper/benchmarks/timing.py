"""How long an iteration takes and how much device memory training holds beside the graph."""

from __future__ import annotations

import gc
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from signnap.graph import Graph

from .rates import synchronize


@dataclass(frozen=True)
class Pace:
    """Iterations before the clock starts, seconds to measure for, and iterations to measure at least."""

    warm_up: int = 12
    seconds: float = 0.2
    least: int = 5

    def in_words(self) -> dict[str, float]:
        return {
            "warm-up iterations": self.warm_up,
            "seconds to measure for": self.seconds,
            "iterations at least": self.least,
        }


def measure(prepare: Callable[[Graph], Callable[[], Any]], graph: Graph, pace: Pace) -> dict[str, Any]:
    """Time what ``prepare`` makes of the graph once that is on the device: GPU where there is one.

    The clock runs from one synchronisation to another, over as many iterations as fit the pace. ``peak_mb`` is the
    most device memory held at once minus what the loaded graph takes (None without a GPU). ``note`` is what the
    library had to say, such as why a step could not be recorded.
    """
    loaded = alone_on_device(graph)
    device = loaded.pattern.device
    on_gpu = device.type == "cuda"
    if on_gpu:
        torch.cuda.reset_peak_memory_stats()
    held = torch.cuda.memory_allocated() if on_gpu else 0
    with Notes() as notes:
        action = prepare(loaded)
        for _ in range(pace.warm_up):
            action()
        rough = seconds_of(action, pace.least, device) / pace.least
        count = max(pace.least, round(pace.seconds / rough))
        seconds = seconds_of(action, count, device)
    return {
        "milliseconds": 1e3 * seconds / count,
        "iterations": count,
        "peak_mb": (torch.cuda.max_memory_allocated() - held) / 2**20 if on_gpu else None,
        "note": "; ".join(notes.words) or None,
    }


def alone_on_device(graph: Graph) -> Graph:
    """Give back what earlier measurements left, and load the graph: on the GPU where there is one."""
    gc.collect()
    if not torch.cuda.is_available():
        return graph.to("cpu")
    torch._C._cuda_clearCublasWorkspaces()  # or whoever multiplied first would pay for all who follow
    torch.cuda.empty_cache()
    return graph.to("cuda")


def seconds_of(action: Callable[[], Any], count: int, device: torch.device) -> float:
    """The time of so many calls, until the device has done them."""
    synchronize(device)
    begun = time.perf_counter()
    for _ in range(count):
        action()
    synchronize(device)
    return time.perf_counter() - begun


class Notes(logging.Handler):
    """Collects what the library logs meanwhile."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.words: list[str] = []
        self.logger = logging.getLogger("signnap")

    def emit(self, record: logging.LogRecord) -> None:
        self.words.append(record.getMessage())

    def __enter__(self) -> Notes:
        self.before = self.logger.level
        self.logger.setLevel(logging.INFO)
        self.logger.addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        self.logger.removeHandler(self)
        self.logger.setLevel(self.before)
