"""Recipes as values: a cell of a table, and the file that holds what is known of each."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..errors import SignnapError
from ..storage import write_text


@dataclass(frozen=True)
class Cell:
    """One method on one graph, and how it is judged.

    ``settings`` are changes to the preset. ``redrawn`` gives every encoder seed a split of its own, ``dropped`` trains
    the probe on dropped graphs (spec §2.6).
    """

    method: str
    graph: str
    settings: dict[str, Any] = field(default_factory=dict)
    split: str = "paper"
    redrawn: bool = False
    probe: str = "linear"
    dropped: bool = False
    encoder_seeds: int = 5
    probe_seeds: int = 5

    @property
    def key(self) -> str:
        """The same for equal cells, whoever made them."""
        return json.dumps(asdict(self), sort_keys=True)

    def __str__(self) -> str:
        changes = "".join(f" {name}={value}" for name, value in self.settings.items())
        return f"{self.method}{changes} on {self.graph}"


class Results:
    """Rows in a file of JSON lines, one for every cell, written anew and whole whenever one is added."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._rows: dict[str, dict[str, Any]] = {}
        for number, line in enumerate(self._lines(), 1):
            try:
                row = json.loads(line)
                self._rows[Cell(**row["cell"]).key] = row
            except (ValueError, TypeError, KeyError) as error:
                raise SignnapError(f"{self.path}, line {number} is not a result of this program") from error

    def _lines(self) -> list[bytes]:
        try:
            return self.path.read_bytes().splitlines()
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise SignnapError(f"cannot read {self.path}: {error.strerror or error}") from error

    def find(self, cell: Cell) -> dict[str, Any] | None:
        """What is known of a cell."""
        return self._rows.get(cell.key)

    def missing(self, cells: Iterable[Cell]) -> list[Cell]:
        """The cells that have no result yet, each once; one that failed has none, and is tried again."""
        unknown = {cell.key: cell for cell in cells if "error" in (self.find(cell) or {"error": ""})}
        return list(unknown.values())

    def add(self, cell: Cell, row: dict[str, Any]) -> None:
        """Keep what was found, in the place of an earlier failure."""
        self._rows[cell.key] = {"cell": asdict(cell), **row}
        self.write()

    def write(self) -> None:
        """Write the file; before the first cell, this tells whether it can be written at all."""
        write_text(self.path, "".join(json.dumps(row) + "\n" for row in self._rows.values()))
