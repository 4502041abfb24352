"""The file that holds what is known of every cell."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from itertools import chain, compress
from pathlib import Path
from typing import Any

from signnap.errors import SignnapError
from signnap.storage import alone, cannot_read, write_text

from .cells import Cell
from .whole_rows import NOT_WHOLE, PER_SEED, expect_whole

Rule = Callable[[Cell], Cell]


class Results:
    """Rows in a file of JSON lines, written anew and whole whenever one is added.

    A row tells of one cell and the encoder seeds that were trained together; more seeds of that cell, trained later,
    are another row. Several processes may add to one file: what others wrote meanwhile is read before it is replaced,
    and of a seed that two of them trained, what was there first stays.
    With a ``rule``, whoever asks for a cell gets what the rule makes of it.
    """

    def __init__(self, path: str | Path, rule: Rule = lambda cell: cell) -> None:
        self.path, self.rule = Path(path), rule
        self._rows: dict[str, list[dict[str, Any]]] = {}
        self._read_last = b""
        self._read()

    def _read(self) -> None:
        """Take what the file holds to what is known, unless it holds what it did the last time."""
        content = self._content()
        if content == self._read_last:
            return
        for number, line in enumerate(content.splitlines(), 1):
            try:
                row = json.loads(line)
                expect_whole(row)
                self._keep(Cell(**row["cell"]), row, row["seeds"])
            except NOT_WHOLE as error:
                raise SignnapError(f"{self.path}, line {number} is not a result of this program") from error
        self._read_last = content

    def _content(self) -> bytes:
        try:
            return self.path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return b""
        except OSError as error:
            raise cannot_read(self.path, error) from error

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """All rows, cell by cell."""
        return chain.from_iterable(self._rows.values())

    def find(self, cell: Cell, seeds: int) -> dict[str, Any] | None:
        """What is known of a cell and its first encoder seeds, in one row; of a cell that only failed, the failure.

        Its seconds are the share of these seeds in what was trained together.
        """
        rows = self._rows.get(self.rule(cell).key, [])
        found = [row for row in rows if "error" not in row]
        if not found:
            return rows[-1] if rows else None
        order = sorted((seed, n, at) for n, row in enumerate(found) for at, seed in enumerate(row["seeds"]))
        order = [place for place in order if place[0] < seeds]
        if not order:
            return None
        merged = found[0] | {name: [found[n][name][at] for _, n, at in order] for name in PER_SEED}
        used = Counter(n for _, n, _ in order)
        merged["seconds"] = sum(found[n]["seconds"] * count / len(found[n]["seeds"]) for n, count in used.items())
        merged["device"] = " and ".join(dict.fromkeys(found[n]["device"] for n in sorted(used)))
        looks = {name: [found[n]["looks"][name][at] for _, n, at in order] for name in found[0].get("looks", {})}
        collapsed = {seed: why for row in found for seed, why in row.get("collapsed", {}).items() if int(seed) < seeds}
        merged.pop("collapsed", None)
        return merged | {name: value for name, value in (("looks", looks), ("collapsed", collapsed)) if value}

    def missing(self, cells: Sequence[Cell], seeds: int | Sequence[int]) -> list[tuple[Cell, list[int]]]:
        """The cells that lack encoder seeds, each once, and which; what failed is lacking, and is tried again.

        ``seeds`` is how many are wanted, of all cells or of each.
        """
        wanted: dict[str, tuple[Cell, int]] = {}
        for cell, count in zip(cells, [seeds] * len(cells) if isinstance(seeds, int) else seeds, strict=True):
            ruled = self.rule(cell)
            wanted[ruled.key] = ruled, max(count, wanted.get(ruled.key, (ruled, 0))[1])
        lacking = []
        for key, (cell, count) in wanted.items():
            known = {seed for row in self._rows.get(key, []) if "error" not in row for seed in row["seeds"]}
            lacking.append((cell, [seed for seed in range(count) if seed not in known]))
        return [(cell, left) for cell, left in lacking if left]

    def add(self, cell: Cell, row: dict[str, Any]) -> None:
        """Keep what was found for the seeds that nothing is known of, in the place of an earlier failure."""
        known = {"cell": asdict(cell) | {"looks": [*cell.looks]}, **row}
        try:
            known = json.loads(json.dumps(known))  # as it will be read again
            expect_whole(known)
        except NOT_WHOLE as error:
            raise SignnapError(f"what was found for {cell} is not a result that can be read again") from error
        with self._replaced():
            self._keep(cell, known, row["seeds"])

    def _keep(self, cell: Cell, row: dict[str, Any], seeds: list[int]) -> None:
        found = [old for old in self._rows.get(cell.key, []) if "error" not in old]
        known = {seed for old in found for seed in old["seeds"]}
        new = [seed not in known for seed in seeds]
        if any(new):  # or another process has found all of it, even if it failed here
            self._rows[cell.key] = [*found, row if "error" in row or all(new) else _cut(row, new)]

    def write(self) -> None:
        """Write the file; before the first cell, this tells whether it can be written at all."""
        with self._replaced():
            pass

    @contextmanager
    def _replaced(self) -> Iterator[None]:
        """The file with what others wrote to it and what the block adds; nobody else may replace it meanwhile."""
        with alone(self.path.parent):
            self._read()
            yield
            content = "".join(json.dumps(row) + "\n" for row in self)
            write_text(self.path, content)
            self._read_last = content.encode()


def _cut(row: dict[str, Any], chosen: list[bool]) -> dict[str, Any]:
    """A row of the chosen seeds alone, with their share of the seconds in which all were trained together."""
    cut = row | {name: [*compress(row[name], chosen)] for name in PER_SEED}
    cut["seconds"] = round(row["seconds"] * sum(chosen) / len(chosen), 3)
    if "looks" in row:
        cut["looks"] = {name: [*compress(values, chosen)] for name, values in row["looks"].items()}
    if "collapsed" in row:
        cut["collapsed"] = {seed: why for seed, why in row["collapsed"].items() if int(seed) in cut["seeds"]}
    return cut
