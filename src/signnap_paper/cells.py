"""Recipes as values: a cell of a table, and which cells are trained together."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Cell:
    """One method on one graph, and how it is judged.

    ``settings`` are changes to the preset. ``redrawn`` gives every encoder seed a split of its own, ``dropped`` trains
    the probe on dropped graphs (spec §2.6), and ``looks`` names what else is measured for a figure (``looks.LOOKS``).
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
        """The same for equal cells, whoever made them."""
        return json.dumps(vars(self), sort_keys=True)

    @property
    def training(self) -> str:
        """The same for cells that differ only in how they are judged: one encoder serves them all."""
        return json.dumps([self.method, self.graph, self.settings, self.redrawn], sort_keys=True)

    def __str__(self) -> str:
        changes = "".join(f" {name}={value}" for name, value in self.settings.items())
        return f"{self.method}{changes} on {self.graph}"


def trained_together(todo: Sequence[tuple[Cell, list[int]]]) -> list[tuple[list[Cell], list[int]]]:
    """Cells whose encoders are the same with seeds that all of them lack, so that no encoder is trained twice.

    They come graph by graph, so that each is loaded once.
    """
    lacking: dict[tuple[str, int], list[Cell]] = {}
    for cell, seeds in todo:
        for seed in seeds:
            lacking.setdefault((cell.training, seed), []).append(cell)
    groups: dict[tuple[str, ...], tuple[list[Cell], list[int]]] = {}
    for (_, seed), cells in lacking.items():
        groups.setdefault(tuple(cell.key for cell in cells), (cells, []))[1].append(seed)
    places = list(dict.fromkeys(cell.graph for cell, _ in todo))
    return sorted(groups.values(), key=lambda group: places.index(group[0][0].graph))
