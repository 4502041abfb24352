"""Several actions in turns: a machine may be busy now and idle later, their ratio stays fair."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import torch

from signnap.graph import Graph

from .timing import Notes, seconds_of


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
