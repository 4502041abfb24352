"""What a whole row is: all that any reader of rows asks it for, each of its kind.

Rows lie in a file that people copy, merge and edit, so nothing in them is believed before it is looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from .cells import Cell

#: What looking at bad data raises, nested too deeply or beyond any float among it.
NOT_WHOLE = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)
#: One value per encoder seed, in the order of ``seeds``.
PER_SEED = ("seeds", "iterations", "test", "val")

#: The kind of every field of a cell, as JSON has it.
_CELL = {name: type(value) for name, value in (asdict(Cell("", "")) | {"looks": []}).items()}
_PLAIN = {str, int, float, bool, type(None)}
#: Nobody trains for three hundred years, …
_LONGEST = 1e10
#: … and means of what was measured have to be finite.
_LARGEST = 1e100

_CURVES = {"iteration": [0.0], "train": [0.0], "val": [0.0]}
#: What each look finds in an encoder, by example: a list stands for one of any length.
SHAPES: dict[str, Any] = {
    "spread": {"distance": 0.0, "relative_distance": 0.0, "effective_rank": 0.0},
    "map": {"x": [0.0], "y": [0.0], "class": [0]},
    "silhouette": 0.0,
    "probe-curves": _CURVES,
    "training-curves": _CURVES,
    "stability": {"matrix": [[0.0]], "mean": 0.0, "centred": 0.0},
}
#: Looks that may be taken of the first encoder seed alone; of others there is null.
_FIRST_ONLY = ("map", "probe-curves", "training-curves")


def expect_whole(row: Any) -> None:
    """Raise what bad data raises (``NOT_WHOLE``) unless a row is whole.

    Of a cell that failed nobody asks more than the seeds and why. What was not recorded at first may be absent.
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
    _expect(_are_looks(row.get("looks", {}), cell["looks"], len(seeds)))
    for name, is_right in _OPTIONAL.items():
        _expect(name not in row or is_right(row[name]))
    _expect({*row.get("collapsed", ())} <= {*map(str, seeds)})


def _expect(right: bool) -> None:
    if not right:
        raise ValueError


def _is_between(value: Any, least: float, most: float) -> bool:
    """Whether this is a number in that range, which neither true nor NaN is."""
    return type(value) in (int, float) and least <= value <= most


def _is_counts(values: Any) -> bool:
    return isinstance(values, list) and {*map(type, values)} <= {int} and min(values, default=0) >= 0


def _is_marks(marks: Any) -> bool:
    """Whether these are numbers for one or more probes of every encoder seed, none of them NaN."""
    return isinstance(marks, list) and all(
        _is_shaped(probes, [0.0]) and probes and sum(probes) == sum(probes) for probes in marks
    )


def _is_plain(settings: Any) -> bool:
    return isinstance(settings, dict) and {*map(type, settings.values())} <= _PLAIN


def _is_reasons(collapsed: Any) -> bool:
    return isinstance(collapsed, dict) and {*map(type, collapsed.values())} <= {str}


def _is_words(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _are_looks(looks: Any, names: list[str], seeds: int) -> bool:
    """Whether these are the looks of a cell, and no other, at every encoder seed."""
    if not isinstance(looks, dict) or {*looks} != {*names}:
        return False
    return all(
        isinstance(found, list) and len(found) == seeds and all(_is_look(name, each) for each in found)
        for name, found in looks.items()
    )


def _is_look(name: str, found: Any) -> bool:
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
    """Whether these are numbers of that kind, true being none, whose sum is finite or, as a look may find, NaN.

    There are many, so no loop is ours.
    """
    return {*map(type, values)} <= {int, kind} and not sum(map(abs, values)) > _LARGEST


_OPTIONAL: dict[str, Callable[[Any], bool]] = {
    "resolved": _is_plain,
    "collapsed": _is_reasons,
    "signnap": _is_words,
    "revision": _is_words,
    "peak_memory_mb": lambda value: value is None or _is_between(value, 0, _LONGEST),
}
