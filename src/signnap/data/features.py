"""Feature columns of a node table: which are numbers and which are categories, and the matrix they make."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from ..errors import SignnapError
from .columns import MISSING, encode, is_text, parse_numbers, plain, texts, trimmed
from .structure import COLUMNS
from .tables import Table, is_number

_MAX_CATEGORIES = 10_000
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
_LEAVE_OUT = "leave it out by naming the feature columns to use (--feature-columns)"

#: What a column holds, where that does not follow from its cells.
Kind = Literal["number", "category"]


def trained_kinds(table: Table, wanted: Sequence[str], names: Sequence[str]) -> dict[str, Kind]:
    """What a model took these columns for that was trained on features of those names.

    A category gave it features called ``column=value``, numbers one called like the column. It has to find all its
    columns, and no other.
    """
    if tuple(names) == COLUMNS:
        raise SignnapError(f"the model was trained on features that are made of edges, and {table.title} has others")
    known, categories = {*names}, {name[:end] for name in names for end in _equal_signs(name)}
    kinds: dict[str, Kind] = {column: "category" for column in wanted if column in categories}
    kinds |= {column: "number" for column in wanted if column in known}
    for name in names:
        if name not in kinds and not any(name[:end] in kinds for end in _equal_signs(name)):
            column = name.partition("=")[0]
            raise SignnapError(f"the model was trained on column {column!r}, which {table.title} does not have")
    for column in wanted:
        if column not in kinds:
            raise SignnapError(f"{table.title} has the column {column!r}, which the model was not trained on")
    return kinds


def read_features(
    table: Table, names: Sequence[str], *, chosen: bool, kinds: Mapping[str, Kind]
) -> tuple[Any, tuple[str, ...], list[str]]:
    """One column per number or boolean, one per value of a category; the matrix is sparse if there are categories.

    ``kinds`` says what some columns are, whatever their cells look like; of the others those are categories that hold
    text, or that a data frame stored as such. ``chosen`` says that the user listed the columns, and so may want one
    that differs in every row. Returns the matrix, the names of its columns, and which columns were categories.
    """
    blocks: list[Any] = []
    labels: list[str] = []
    categories: list[str] = []
    for name in names:
        kind = kinds.get(name) or _stored_kind(table, name)
        values = _as_told(table, name, kind)
        if values is not None:
            blocks.append(values)
            labels.append(name)
            continue
        codes, found = encode(texts(table, name))
        if kind is None:
            _expect_words(table, name, codes, found.to_pylist())
        if name not in kinds:
            _expect_few(table, name, len(found), chosen)
        matrix, inside = _one_hot(codes, found.to_pylist())
        blocks.append(matrix)
        labels += [f"{name}={value}" for value in inside]
        categories.append(name)
    _expect_different(table, labels)
    return _side_by_side(blocks), tuple(labels), categories


def as_numbers(table: Table, name: str, expected: str = "numbers") -> np.ndarray | None:
    """A column of numbers or booleans as float32, every one finite; None if it holds text.

    ``expected`` says what to do about a column of another type.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    column = plain(table.columns[name])
    if is_text(column.type):
        parsed = parse_numbers(trimmed(column))
        if parsed is None:
            return None
    else:
        try:
            parsed = pc.cast(column, pa.float64(), safe=False)
        except pa.ArrowException as error:
            found = f"column {name!r} of {table.title} is of type {column.type}"
            raise SignnapError(f"{found}: expected {expected}") from error
    with np.errstate(over="ignore"):
        values = parsed.to_numpy(zero_copy_only=False).astype(np.float32)
    wrong = np.flatnonzero(~np.isfinite(values))
    if len(wrong):
        raise _bad_number(table, name, int(wrong[0]))
    return values


def numbers(table: Table, name: str, expected: str = "numbers") -> np.ndarray:
    """The same where text is an error."""
    values = as_numbers(table, name, expected)
    if values is None:
        cells = [str(cell).strip() for cell in table.columns[name].to_pylist()]
        raise _bad_number(table, name, next((row for row, cell in enumerate(cells) if not is_number(cell)), 0))
    return values


def _bad_number(table: Table, name: str, row: int) -> SignnapError:
    """Name the cell that is not a number."""
    cell = table.columns[name][row].as_py()
    found = "is empty" if cell is None or not str(cell).strip() else f"holds {str(cell)[:50]!r}"
    return SignnapError(f"{table.place(row)}, column {name!r} {found}: expected a finite number")


def _as_told(table: Table, name: str, kind: Kind | None) -> np.ndarray | None:
    """Numbers; None of a category."""
    if kind == "category":
        return None
    read = numbers if kind == "number" else as_numbers
    return read(table, name, f"numbers, booleans or text, or {_LEAVE_OUT}")


def _expect_different(table: Table, labels: Sequence[str]) -> None:
    """Refuse a column called like the value of another: a model knows its features by their names alone."""
    seen: set[str] = set()
    for label in labels:
        if label in seen:
            found = f"the columns of {table.title} make two features named {label!r}"
            raise SignnapError(f"{found}: expected no column called like another one and its value, so rename one")
        seen.add(label)


def _equal_signs(name: str) -> list[int]:
    return [place for place, sign in enumerate(name) if sign == "="]


def _stored_kind(table: Table, name: str) -> Kind | None:
    """A data frame's categories are categories, even of numbers."""
    import pyarrow as pa

    return "category" if pa.types.is_dictionary(table.columns[name].type) else None


def _expect_words(table: Table, name: str, codes: np.ndarray, values: list[str]) -> None:
    """Refuse numbers for categories: a column of them in which some cell is none, or that are written with commas."""
    numeric = np.array([*map(is_number, values), False])[codes]
    given = np.array([*(value not in MISSING for value in values), False])[codes]
    if 2 * numeric.sum() > given.sum():
        raise _bad_number(table, name, int(np.flatnonzero(~numeric & (codes >= 0))[0]))
    commas = np.array([*(_DECIMAL_COMMA.fullmatch(value) is not None for value in values), False])[codes]
    if 2 * commas.sum() > given.sum():
        row = int(np.flatnonzero(commas)[0])
        found = f"{table.place(row)}, column {name!r} holds {values[codes[row]]!r}"
        raise SignnapError(f"{found}, as if commas were decimal points: expected 12.50, not 12,50")


def _expect_few(table: Table, name: str, count: int, chosen: bool) -> None:
    if count > _MAX_CATEGORIES or (count == len(table) and not chosen):
        found = "different text in every row" if count == len(table) else f"{count:,} different texts"
        advice = f"{_LEAVE_OUT}, or name it as a categorical column (--categorical-columns)"
        raise SignnapError(f"column {name!r} of {table.title} holds {found}, too many to be categories: {advice}")


def _one_hot(codes: np.ndarray, values: list[str]) -> tuple[sp.csr_matrix, list[str]]:
    """One column per value in sorted order; a column without any is one of zeros, so that it is known to be there."""
    if not values:
        return sp.csr_matrix((len(codes), 1), dtype=np.float32), [""]
    order = sorted(range(len(values)), key=values.__getitem__)
    rank = np.empty(len(values), dtype=np.int64)
    rank[order] = np.arange(len(values))
    present = codes >= 0
    start = np.concatenate([[0], np.cumsum(present)])
    ones = np.ones(int(present.sum()), dtype=np.float32)
    matrix = sp.csr_matrix((ones, rank[codes[present]], start), shape=(len(codes), len(values)))
    return matrix, [values[i] for i in order]


def _side_by_side(blocks: list[Any]) -> Any:
    if not any(sp.issparse(block) for block in blocks):
        return np.column_stack(blocks) if blocks else None
    return sp.hstack([block if sp.issparse(block) else sp.csr_matrix(block[:, None]) for block in blocks], format="csr")
