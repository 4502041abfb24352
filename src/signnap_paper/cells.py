"""Cells: one method on one graph, and how its embeddings are judged."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

#: The first line of every page of a quick run.
BANNER = (
    "**Quick run: one iteration, narrow layers, few negatives, short probes. It shows that the program works; its "
    "numbers mean nothing.**\n\n"
)
QUICK_ITERATIONS = 1
#: The probe of a quick run; it marks the rows of one.
QUICK_PROBE = "linear-quick"


@dataclass(frozen=True)
class Cell:
    """One method on one graph, and how it is judged. The fields are the keys of a cell in ``rows.jsonl``.

    ``settings`` are changes to the preset. With ``redrawn`` every encoder seed has a split of its own, with ``dropped``
    the probe is trained on dropped graphs, and ``looks`` names the measurements that a figure needs
    (``measurements.MEASUREMENTS``).
    """

    method: str
    graph: str
    settings: dict[str, Any] = field(default_factory=dict)
    split: str = "paper"
    redrawn: bool = False
    probe: str = "linear"
    dropped: bool = False
    probe_seeds: int = 5
    looks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "looks", tuple(self.looks))  # JSON knows lists only

    @property
    def key(self) -> str:
        """A text that is the same for equal cells."""
        return json.dumps(vars(self), sort_keys=True)

    @property
    def training(self) -> str:
        """A text that is the same for cells with the same encoder, however this is judged."""
        return json.dumps([self.method, self.graph, self.settings, self.redrawn], sort_keys=True)

    def __str__(self) -> str:
        changes = "".join(f" {name}={value}" for name, value in self.settings.items())
        return f"{self.method}{changes} on {self.graph}"


def trained_together(todo: Sequence[tuple[Cell, list[int]]]) -> list[tuple[list[Cell], list[int]]]:
    """Group cells with the same encoders and the seeds that all of them lack, so that no encoder is trained twice.

    Groups come graph by graph, so that each graph is loaded once.
    """
    lacking: dict[tuple[str, int], list[Cell]] = {}
    for cell, seeds in todo:
        for seed in seeds:
            lacking.setdefault((cell.training, seed), []).append(cell)
    groups: dict[tuple[str, ...], tuple[list[Cell], list[int]]] = {}
    for (_, seed), cells in lacking.items():
        groups.setdefault(tuple(cell.key for cell in cells), (cells, []))[1].append(seed)
    graphs = list(dict.fromkeys(cell.graph for cell, _ in todo))
    return sorted(groups.values(), key=lambda group: graphs.index(group[0][0].graph))


def quickened(cell: Cell) -> Cell:
    """Return the cell of a quick run: next to no training, and a probe of a few epochs.

    The method's quick settings make it small. A cell that states one of them keeps its own value.
    """
    from signnap.registry import METHODS

    method = METHODS.find(cell.method)
    settings = {**method.quick, **cell.settings}
    if method.load().trains:
        settings |= {"iterations": QUICK_ITERATIONS}
    probe = QUICK_PROBE if cell.probe != "none" else "none"
    return replace(cell, settings=settings, probe=probe, probe_seeds=1)
