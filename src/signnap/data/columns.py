"""Columns of a table as text or numbers, and what is made of them: node ids and class labels."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..errors import SignnapError
from .tables import Table

#: Ids become fixed-width text, where one very long id would widen them all.
_LONGEST_KEY = 1000
#: How R, pandas and databases write a cell without a value.
MISSING = ("NA", "N/A", "NULL", "null", "NaN", "nan", "None", "<NA>")


def texts(table: Table, name: str) -> Any:
    """A column as trimmed text, null where empty.

    Every cell by itself, so that no other cell decides what it is: a whole number followed by ".0", as data frames
    write integers next to gaps, is that whole number, and 7, "7" and 7.0 are one and the same.
    """
    import pyarrow as pa

    column = plain(table.columns[name])
    try:
        text = trimmed(_float_text(column) if pa.types.is_floating(column.type) else column)
    except pa.ArrowException as error:
        kind = column.type
        raise SignnapError(f"column {name!r} of {table.title} is of type {kind}: expected text or integers") from error
    return _without_point_zero(text)


def keys(table: Table, name: str) -> Any:
    """The same for a column of ids or labels, none of them longer than one can be."""
    import pyarrow.compute as pc

    text = texts(table, name)
    lengths = pc.fill_null(pc.binary_length(text), 0).to_numpy()
    if len(lengths) and lengths.max() > _LONGEST_KEY:
        place = table.place(int(lengths.argmax()))
        raise SignnapError(f"{place}, column {name!r} is {lengths.max():,} bytes long: expected at most {_LONGEST_KEY}")
    return text


def object_keys(values: Iterable[Any]) -> Any:
    """The same for ids that are Python objects."""
    import pyarrow as pa

    written = [int(value) if isinstance(value, float) and value.is_integer() else value for value in values]
    text = [value.strip() for value in written_out(written, lambda row: f"node number {row}")]
    return _without_point_zero(pa.array(text, pa.large_string()))


def written_out(values: Iterable[Any], place: Callable[[int], str]) -> list[str]:
    """Python objects as text that a file can hold: a string may have half of a character, which none can.

    ``place`` says where the value with this number stands.
    """
    found: list[str] = []
    for row, value in enumerate(values):
        try:
            text = str(value)
            text.encode()
        except ValueError as error:  # also that of an integer with more digits than Python writes
            raise SignnapError(f"{place(row)} cannot be written as text ({error}): expected valid Unicode") from error
        found.append(text)
    return found


def encode(text: Any) -> tuple[np.ndarray, Any]:
    """Number the distinct values in order of first appearance; null gets −1."""
    import pyarrow as pa
    import pyarrow.compute as pc

    coded = pc.dictionary_encode(pa.chunked_array([text]) if isinstance(text, pa.Array) else text)
    if coded.num_chunks == 0:
        return np.zeros(0, dtype=np.int64), pa.array([], text.type)
    coded = coded.unify_dictionaries()
    parts = [pc.fill_null(chunk.indices, -1).to_numpy() for chunk in coded.chunks]
    return np.concatenate(parts).astype(np.int64), coded.chunk(0).dictionary


def first_repeat(text: Any) -> int | None:
    """The first row that holds the same text as an earlier one."""
    codes, values = encode(text)
    if len(values) == len(codes):
        return None
    return int(np.flatnonzero(np.maximum.accumulate(codes) != np.arange(len(codes)))[0])


def to_ids(text: Any) -> np.ndarray:
    """Text keys as the user's ids: int64 if every one is an integer written the usual way, else strings."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        integers = pc.cast(text, pa.int64())
        if pc.all(pc.equal(pc.cast(integers, text.type), text), min_count=0).as_py():
            return integers.to_numpy().astype(np.int64)
    except pa.ArrowInvalid:
        pass
    return np.array(text.to_pylist(), dtype=np.str_)


def own_ids(text: Any, table: Table, *names: str) -> np.ndarray:
    """Text keys as ids of the type that their columns have: what a Parquet file calls text stays text, even digits."""
    if table.typed and any(is_text(plain(table.columns[name]).type) for name in names):
        return np.array(text.to_pylist(), dtype=np.str_)
    return to_ids(text)


def blanks_around(table: Table, name: str) -> int:
    """How many cells of a column have blanks before or after their text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = plain(table.columns[name])
    if not is_text(column.type):
        return 0
    text = pc.cast(column, pa.large_string())
    return pc.sum(pc.not_equal(pc.utf8_trim_whitespace(text), text)).as_py() or 0


def ends_in_nul(text: Any) -> int | None:
    """The first row whose text ends in NUL: numpy would drop that, and make it another's twin."""
    import pyarrow.compute as pc

    row = pc.index(pc.ends_with(text, "\0"), True).as_py()
    return None if row < 0 else row


def read_labels(table: Table, name: str) -> tuple[np.ndarray | None, tuple[str, ...]]:
    """Class numbers (−1 where missing) and the class names they count through, in sorted order."""
    codes, values = encode(without_missing(keys(table, name)))
    if not len(values):
        return None, ()
    order = np.argsort(to_ids(values), kind="stable")
    rank = np.empty(len(order) + 1, dtype=np.int64)
    rank[order], rank[-1] = np.arange(len(order)), -1
    return rank[codes], tuple(values[int(i)].as_py() for i in order)


def is_measured(table: Table, name: str) -> bool:
    """Whether a column holds measured numbers, such as coordinates, rather than classes.

    Some of them then have a fraction, and on average fewer than two nodes share one.
    """
    import pyarrow as pa

    column = plain(table.columns[name])
    numbers = parse_numbers(trimmed(column)) if is_text(column.type) else column
    if numbers is None or not pa.types.is_floating(numbers.type):
        return False
    values = numbers.drop_null().to_numpy()
    values = values[np.isfinite(values)]
    return bool((values % 1).any()) and 2 * len(np.unique(values)) > len(values)


def parse_numbers(text: Any) -> Any | None:
    """Text as numbers, null where one is missing; None if anything else is there, or nothing but words for missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        return pc.cast(text, pa.float64())
    except pa.ArrowInvalid:
        text = without_missing(text)
    if text.null_count == len(text):
        return None
    try:
        return pc.cast(text, pa.float64())
    except pa.ArrowInvalid:
        lowered = pc.utf8_lower(text)
        words = pc.is_in(lowered, value_set=pa.array(["true", "false"], lowered.type))
        if pc.all(pc.or_(words, pc.is_null(lowered))).as_py():
            return pc.cast(pc.equal(lowered, "true"), pa.float64())
        return None


def without_missing(text: Any) -> Any:
    """Null in place of the words for it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.if_else(pc.is_in(text, value_set=pa.array(MISSING, text.type)), None, text)


def plain(column: Any) -> Any:
    """Undo the dictionary encoding that data frames use for categories."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.cast(column, column.type.value_type) if pa.types.is_dictionary(column.type) else column


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is one of its several types of text."""
    import pyarrow as pa

    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or str(kind) == "string_view"


def trimmed(text: Any) -> Any:
    """Strip blanks; what is left empty is missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    text = pc.utf8_trim_whitespace(pc.cast(text, pa.large_string()))
    return pc.if_else(pc.equal(text, ""), None, text)


def _float_text(column: Any) -> Any:
    """Floats as text, whole ones without a point, NaN being missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = pc.if_else(pc.is_nan(column), None, column)
    fits = pc.and_(pc.equal(pc.trunc(column), column), pc.less(pc.abs(column), 2.0**63))
    integers = pc.cast(pc.if_else(fits, column, None), pa.int64(), safe=False)
    return pc.if_else(fits, pc.cast(integers, pa.large_string()), pc.cast(column, pa.large_string()))


def _without_point_zero(text: Any) -> Any:
    """The same for text; the first look costs a fraction of the second, and mostly suffices."""
    import pyarrow.compute as pc

    if not pc.any(pc.match_substring(text, ".0")).as_py():
        return text
    return pc.replace_substring_regex(text, r"^(-?\d+)\.0+$", r"\1")
