"""How long an action takes and how much device memory it holds, alone or in turns with others."""

from __future__ import annotations

import gc
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import torch

from signnap.graph import Graph


def synchronize(device: torch.device) -> None:
    """Wait for a GPU to finish what was launched; a CPU is never behind."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def best_seconds(action: Callable[[], Any], device: torch.device, times: int = 5) -> float:
    """Seconds of the quickest of some calls, after one that does not count."""
    seconds = []
    for _ in range(times + 1):
        synchronize(device)
        begun = time.perf_counter()
        action()
        synchronize(device)
        seconds.append(time.perf_counter() - begun)
    return min(seconds[1:])


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


# -- several actions in turns: a machine may be busy now and idle later, their ratio stays fair -----------------------


@dataclass(frozen=True)
class Turns:
    """Calls of each action before the clock starts, seconds of a turn (one call at least), and turns of each."""

    warm_up: int
    seconds: float = 0.5
    rounds: int = 5

    def in_words(self) -> dict[str, float]:
        return {"warm-up iterations": self.warm_up, "seconds of a turn": self.seconds, "turns": self.rounds}


class Contender:
    """An action made of a loaded graph, and warmed up.

    ``peak_mb`` is the most device memory it took in doing so above what was held before (None without a GPU), and
    ``notes`` is what the library had to say.
    """

    def __init__(self, prepare: Callable[[Graph], Callable[[], Any]], graph: Graph, warm_up: int) -> None:
        self.device = graph.pattern.device
        on_gpu = self.device.type == "cuda"
        if on_gpu:
            torch.cuda.reset_peak_memory_stats()
        held = torch.cuda.memory_allocated() if on_gpu else 0
        with Notes() as notes:
            self.action = prepare(graph)
            self.rough = [seconds_of(self.action, 1, self.device) for _ in range(warm_up)][-1]
        self.peak_mb = (torch.cuda.max_memory_allocated() - held) / 2**20 if on_gpu else None
        self.notes = notes.words

    def turn(self, seconds: float) -> float:
        """Seconds of a call: the mean over as many as fit."""
        count = max(1, round(seconds / self.rough))
        return seconds_of(self.action, count, self.device) / count


def in_turns(contenders: Sequence[Contender], turns: Turns) -> list[float]:
    """The median of every contender's turns, in seconds of a call."""
    rounds = [[each.turn(turns.seconds) for each in contenders] for _ in range(turns.rounds)]
    return [median(times) for times in zip(*rounds, strict=True)]


def free_bytes(device: torch.device) -> int | None:
    """Memory of a device that can still be had (None where a system does not tell)."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info()[0]
    told = Path("/proc/meminfo")
    if not told.exists():
        return None
    lines = told.read_text(encoding="ascii").splitlines()
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)
