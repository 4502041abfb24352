"""The file of results: one row of JSON per cell and training, checked whenever it is read.

People copy, merge and edit this file, so every row is checked before anything uses it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from itertools import chain, compress
from math import isfinite
from pathlib import Path
from typing import Any

from signnap.errors import SignnapError
from signnap.storage import alone, cannot_read, write_text

from .cells import QUICK_PROBE, Cell, quickened

Rule = Callable[[Cell], Cell]


class Results:
    """Rows in a file of JSON lines. Adding a row replaces the whole file at once.

    A row holds one cell and the encoder seeds that were trained together; seeds trained later are another row. Several
    processes may add to one file: each reads the rows of the others before it replaces the file. Where two processes
    trained one seed, the earlier result stays. A ``rule`` replaces every cell that is asked for by another one.
    """

    def __init__(self, path: str | Path, rule: Rule = lambda cell: cell) -> None:
        self.path, self.rule = Path(path), rule
        self._rows: dict[str, list[dict[str, Any]]] = {}
        self._read_last = b""
        self._read()

    def _read(self) -> None:
        """Add the rows of the file to the known ones, unless the file is unchanged."""
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

    @property
    def quick(self) -> bool:
        """Whether these are the results of a quick run, from which no page may draw a conclusion."""
        return self.rule is quickened or any(row["cell"]["probe"] == QUICK_PROBE for row in self)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield all rows, cell by cell."""
        return chain.from_iterable(self._rows.values())

    def find(self, cell: Cell, seeds: int) -> dict[str, Any] | None:
        """Return the results of a cell and its first encoder seeds as one row, or its failure if it only failed.

        The seconds of that row are the share of these seeds in the trainings they were part of.
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
        """Return the cells that lack encoder seeds, each once, with these seeds. Failed cells lack all seeds.

        ``seeds`` is the wanted number of seeds of all cells, or one number for each.
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
        """Keep the results of the seeds that have none yet; they replace an earlier failure."""
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
        """Write the file. Called before the first training, this fails early where the file cannot be written."""
        with self._replaced():
            pass

    @contextmanager
    def _replaced(self) -> Iterator[None]:
        """Lock the file, read the rows of other processes, and write the file after the block has added its rows."""
        with alone(self.path.parent):
            self._read()
            yield
            content = "".join(json.dumps(row) + "\n" for row in self)
            write_text(self.path, content)
            self._read_last = content.encode()


def _cut(row: dict[str, Any], chosen: list[bool]) -> dict[str, Any]:
    """Return a row of the chosen seeds alone, with their share of the seconds."""
    cut = row | {name: [*compress(row[name], chosen)] for name in PER_SEED}
    cut["seconds"] = round(row["seconds"] * sum(chosen) / len(chosen), 3)
    if "looks" in row:
        cut["looks"] = {name: [*compress(values, chosen)] for name, values in row["looks"].items()}
    if "collapsed" in row:
        cut["collapsed"] = {seed: why for seed, why in row["collapsed"].items() if int(seed) in cut["seeds"]}
    return cut


# -- what a whole row is -----------------------------------------------------------------------------------------------

#: The exceptions that checking bad data raises, also where it is nested too deeply or too large for a float.
NOT_WHOLE = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)
#: The fields with one value per encoder seed, in the order of ``seeds``.
PER_SEED = ("seeds", "iterations", "test", "val")

#: The type of every field of a cell, as JSON has it.
_CELL = {name: type(value) for name, value in (asdict(Cell("", "")) | {"looks": []}).items()}
_PLAIN = {str, int, float, bool, type(None)}
#: The most seconds that a row may have: three hundred years.
_LONGEST = 1e10
#: The largest sum of absolute values, so that means stay finite.
_LARGEST = 1e100

_CURVES = {"iteration": [0.0], "train": [0.0], "val": [0.0]}
#: The shape of each measurement, by example: a list stands for one of any length.
SHAPES: dict[str, Any] = {
    "spread": {"distance": 0.0, "relative_distance": 0.0, "effective_rank": 0.0},
    "map": {"x": [0.0], "y": [0.0], "class": [0]},
    "silhouette": 0.0,
    "probe-curves": _CURVES,
    "training-curves": _CURVES,
    "stability": {"matrix": [[0.0]], "mean": 0.0, "centred": 0.0},
}
#: Measurements that other encoder seeds than the first may lack: null stands in their place.
_FIRST_ONLY = ("map", "probe-curves", "training-curves")


def expect_whole(row: Any) -> None:
    """Raise one of ``NOT_WHOLE`` unless a row has all that its readers need, each of its kind.

    The row of a failed cell needs its seeds and the error only. Fields that early versions did not record may be
    absent.
    """
    cell, seeds = row["cell"], row["seeds"]
    _expect(isinstance(cell, dict) and {name: type(value) for name, value in cell.items()} == _CELL)
    _expect({*map(type, cell["looks"])} <= {str})
    _expect(_is_counts(seeds) and len({*seeds}) == len(seeds) > 0)
    if "error" in row:
        _expect(isinstance(row["error"], str))
        return
    _expect(_is_plain(cell["settings"]))
    _expect(isinstance(row["device"], str) and row["device"] != "" and _is_between(row["seconds"], 0, _LONGEST))
    _expect(_is_counts(row["iterations"]) and _is_marks(row["test"]) and _is_marks(row["val"]))
    _expect(all(len(row[name]) == len(seeds) for name in PER_SEED))
    _expect(_are_measurements(row.get("looks", {}), cell["looks"], len(seeds)))
    for name, is_right in _OPTIONAL.items():
        _expect(name not in row or is_right(row[name]))
    _expect({*row.get("collapsed", ())} <= {*map(str, seeds)})


def _expect(right: bool) -> None:
    if not right:
        raise ValueError


def _is_between(value: Any, least: float, most: float) -> bool:
    """Whether this is a number in that range; true and NaN are not."""
    return type(value) in (int, float) and least <= value <= most


def _is_counts(values: Any) -> bool:
    return isinstance(values, list) and {*map(type, values)} <= {int} and min(values, default=0) >= 0


def _is_marks(marks: Any) -> bool:
    """Whether these are numbers for one or more probes of every encoder seed, none of them NaN."""
    return isinstance(marks, list) and all(
        _is_shaped(probes, [0.0]) and probes and sum(probes) == sum(probes) for probes in marks
    )


def _is_plain(settings: Any) -> bool:
    """Whether these are settings by name: text, finite numbers, true, false or null."""
    if not isinstance(settings, dict) or not {*map(type, settings.values())} <= _PLAIN:
        return False
    return all(isfinite(value) for value in settings.values() if isinstance(value, float))


def _is_reasons(collapsed: Any) -> bool:
    return isinstance(collapsed, dict) and {*map(type, collapsed.values())} <= {str}


def _is_words(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _are_measurements(looks: Any, names: list[str], seeds: int) -> bool:
    """Whether these are the measurements of a cell, and no others, at every encoder seed."""
    if not isinstance(looks, dict) or {*looks} != {*names}:
        return False
    return all(
        isinstance(found, list) and len(found) == seeds and all(_is_measurement(name, each) for each in found)
        for name, found in looks.items()
    )


def _is_measurement(name: str, found: Any) -> bool:
    return (found is None and name in _FIRST_ONLY) or _is_shaped(found, SHAPES[name])


def _is_shaped(found: Any, like: Any) -> bool:
    """Whether numbers are nested as in the example; lists beside each other are equally long, a matrix is square."""
    if isinstance(like, dict):
        lengths = {len(each) for each in found.values() if isinstance(each, list)}
        return {*found} == {*like} and len(lengths) <= 1 and all(_is_shaped(found[name], like[name]) for name in like)
    if not isinstance(like, list):
        return _is_numbers([found], type(like))
    if not isinstance(found, list):
        return False
    if isinstance(like[0], list):
        return len(found) > 0 and all(_is_shaped(each, like[0]) and len(each) == len(found) for each in found)
    return _is_numbers(found, type(like[0]))


def _is_numbers(values: list[Any], kind: type) -> bool:
    """Whether these are numbers of that type (true is none) with a finite sum, or NaN, which a measurement may be.

    Lists are long, so the loops are those of built-in functions.
    """
    return {*map(type, values)} <= {int, kind} and not sum(map(abs, values)) > _LARGEST


_OPTIONAL: dict[str, Callable[[Any], bool]] = {
    "resolved": _is_plain,
    "collapsed": _is_reasons,
    "signnap": _is_words,
    "revision": _is_words,
    "peak_memory_mb": lambda value: value is None or _is_between(value, 0, _LONGEST),
}
