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
    """Wait until a GPU has finished all launched work; on a CPU there is nothing to wait for."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def best_seconds(action: Callable[[], Any], device: torch.device, times: int = 5) -> float:
    """Return the seconds of the fastest of some calls, after one warm-up call."""
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
    """Warm-up iterations, the seconds to measure for, and the least number of measured iterations."""

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
    """Time the action that ``prepare`` returns for the graph on the device: a GPU where there is one.

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
    """Free the memory of earlier measurements, and move the graph to the GPU where there is one."""
    gc.collect()
    if not torch.cuda.is_available():
        return graph.to("cpu")
    torch._C._cuda_clearCublasWorkspaces()  # otherwise the first product would pay for the workspaces of all
    torch.cuda.empty_cache()
    return graph.to("cuda")


def seconds_of(action: Callable[[], Any], count: int, device: torch.device) -> float:
    """Return the seconds of so many calls, until the device has finished them."""
    synchronize(device)
    begun = time.perf_counter()
    for _ in range(count):
        action()
    synchronize(device)
    return time.perf_counter() - begun


class Notes(logging.Handler):
    """Collects the log messages of the library inside a ``with`` block."""

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


# -- actions in turns: a machine may be busy now and idle later, and the ratio of their times stays fair ---------------


@dataclass(frozen=True)
class Turns:
    """Warm-up calls of each action, seconds of a turn (at least one call), and the number of turns."""

    warm_up: int
    seconds: float = 0.5
    rounds: int = 5

    def in_words(self) -> dict[str, float]:
        return {"warm-up iterations": self.warm_up, "seconds of a turn": self.seconds, "turns": self.rounds}


class Contender:
    """An action prepared for a loaded graph, after its warm-up calls.

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
        """Return the seconds of a call: the mean over as many calls as fit the turn."""
        count = max(1, round(seconds / self.rough))
        return seconds_of(self.action, count, self.device) / count


def in_turns(contenders: Sequence[Contender], turns: Turns) -> list[float]:
    """Return the median of the turns of every contender, in seconds per call."""
    rounds = [[each.turn(turns.seconds) for each in contenders] for _ in range(turns.rounds)]
    return [median(times) for times in zip(*rounds, strict=True)]


def free_bytes(device: torch.device) -> int | None:
    """Return the free memory of a device, or None where the system does not tell."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info()[0]
    told = Path("/proc/meminfo")
    if not told.exists():
        return None
    lines = told.read_text(encoding="ascii").splitlines()
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)
