"""The cells of one column: as text, as numbers, as codes, and as node ids.

Node ids and classes are compared as text. Whichever type a file stores, 7, "7" and 7.0 are the same id.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..errors import SignnapError
from .tables import Table, is_number

_log = logging.getLogger(__name__)

#: The longest id in bytes. numpy stores ids as text of one width, so that one long id would widen all others.
_LONGEST_KEY = 1000
#: How R, pandas and databases write a cell without a value.
MISSING = ("NA", "N/A", "NULL", "null", "NaN", "nan", "None", "<NA>")


# -- text ------------------------------------------------------------------------------------------------------------


def texts(table: Table, name: str) -> Any:
    """A column as trimmed text, null where a cell is empty.

    A whole number followed by ".0", as data frames write integers beside gaps, becomes that whole number. Each cell is
    converted by itself: no other cell of the column changes its text.
    """
    import pyarrow as pa

    column = plain(table.columns[name])
    try:
        text = trimmed(_float_text(column) if pa.types.is_floating(column.type) else column)
    except pa.ArrowException as error:
        kind = column.type
        raise SignnapError(f"column {name!r} of {table.title} is of type {kind}: expected text or integers") from error
    return _without_point_zero(text)


def written_out(values: Iterable[Any], place: Callable[[int], str]) -> list[str]:
    """Python objects as text in valid Unicode. A string with half of a surrogate pair is an error.

    ``place`` says where the value with a given number stands.
    """
    found: list[str] = []
    for row, value in enumerate(values):
        try:
            text = str(value)
            text.encode()
        except ValueError as error:  # Python also raises it for an integer with too many digits
            raise SignnapError(f"{place(row)} cannot be written as text ({error}): expected valid Unicode") from error
        found.append(text)
    return found


def encode(text: Any) -> tuple[np.ndarray, Any]:
    """Number the distinct values in order of first appearance; null gets −1. Returns the codes and the values."""
    import pyarrow as pa
    import pyarrow.compute as pc

    coded = pc.dictionary_encode(pa.chunked_array([text]) if isinstance(text, pa.Array) else text)
    if coded.num_chunks == 0:
        return np.zeros(0, dtype=np.int64), pa.array([], text.type)
    coded = coded.unify_dictionaries()
    parts = [pc.fill_null(chunk.indices, -1).to_numpy() for chunk in coded.chunks]
    return np.concatenate(parts).astype(np.int64), coded.chunk(0).dictionary


def without_missing(text: Any) -> Any:
    """Replace the words that mean a missing value (``MISSING``) by null."""
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
    """Remove the blanks around each cell. A cell that is empty then is null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    text = pc.utf8_trim_whitespace(pc.cast(text, pa.large_string()))
    return pc.if_else(pc.equal(text, ""), None, text)


def _float_text(column: Any) -> Any:
    """Floats as text: whole numbers without a point, NaN as null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = pc.if_else(pc.is_nan(column), None, column)
    fits = pc.and_(pc.equal(pc.trunc(column), column), pc.less(pc.abs(column), 2.0**63))
    integers = pc.cast(pc.if_else(fits, column, None), pa.int64(), safe=False)
    return pc.if_else(fits, pc.cast(integers, pa.large_string()), pc.cast(column, pa.large_string()))


def _without_point_zero(text: Any) -> Any:
    """Remove ".0" behind whole numbers. The substring search is fast, and finds nothing in most columns."""
    import pyarrow.compute as pc

    if not pc.any(pc.match_substring(text, ".0")).as_py():
        return text
    return pc.replace_substring_regex(text, r"^(-?\d+)\.0+$", r"\1")


# -- numbers ---------------------------------------------------------------------------------------------------------


def as_numbers(table: Table, name: str, expected: str = "numbers") -> np.ndarray | None:
    """A column of finite numbers or booleans as float32; None if it holds text.

    ``expected`` is the advice in the error about a column of any other type.
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
        raise bad_number(table, name, int(wrong[0]))
    return values


def numbers(table: Table, name: str, expected: str = "numbers") -> np.ndarray:
    """A column of finite numbers or booleans as float32; text is an error that names the first such cell."""
    values = as_numbers(table, name, expected)
    if values is None:
        cells = [str(cell).strip() for cell in table.columns[name].to_pylist()]
        raise bad_number(table, name, next((row for row, cell in enumerate(cells) if not is_number(cell)), 0))
    return values


def parse_numbers(text: Any) -> Any | None:
    """Text as numbers, or true and false as 1 and 0, with null for missing values.

    None if a cell is anything else, or if all cells are missing.
    """
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


def bad_number(table: Table, name: str, row: int) -> SignnapError:
    """The error for a cell that is not a finite number."""
    cell = table.columns[name][row].as_py()
    found = "is empty" if cell is None or not str(cell).strip() else f"holds {str(cell)[:50]!r}"
    return SignnapError(f"{table.place(row)}, column {name!r} {found}: expected a finite number")


# -- node ids --------------------------------------------------------------------------------------------------------


def keys(table: Table, name: str) -> Any:
    """A column of ids, labels or parts of a split as trimmed text, each at most 1,000 bytes long."""
    import pyarrow.compute as pc

    text = texts(table, name)
    lengths = pc.fill_null(pc.binary_length(text), 0).to_numpy()
    if len(lengths) and lengths.max() > _LONGEST_KEY:
        place = table.place(int(lengths.argmax()))
        raise SignnapError(f"{place}, column {name!r} is {lengths.max():,} bytes long: expected at most {_LONGEST_KEY}")
    return text


def id_keys(table: Table, name: str) -> Any:
    """A column of node ids as text. An empty cell is an error; a note counts ids with blanks around them."""
    column = keys(table, name)
    if column.null_count:
        raise SignnapError(f"{table.place(first_null(column))}, column {name!r} is empty: expected a node id")
    if (row := ends_in_nul(column)) is not None:
        found = f"{table.place(row)}, column {name!r} holds {column[row].as_py()!r}"
        raise SignnapError(f"{found}, which ends in a NUL character: expected a node id without")
    if blanks := _blanks_around(table, name):
        _log.warning("%s: removed the blanks around %d ids in column %r", table.title, blanks, name)
    return column


def object_keys(values: Iterable[Any]) -> Any:
    """Ids that are Python objects as text, by the same rules as the cells of a table."""
    import pyarrow as pa

    written = [int(value) if isinstance(value, float) and value.is_integer() else value for value in values]
    text = [value.strip() for value in written_out(written, lambda row: f"node number {row}")]
    return _without_point_zero(pa.array(text, pa.large_string()))


def to_ids(text: Any) -> np.ndarray:
    """Text keys as ids: int64 if every key is an integer in its usual notation, else strings."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        integers = pc.cast(text, pa.int64())
        if pc.all(pc.equal(pc.cast(integers, text.type), text), min_count=0).as_py():
            return integers.to_numpy().astype(np.int64)
    except pa.ArrowInvalid:
        pass
    return np.array(text.to_pylist(), dtype=np.str_)


def typed_ids(text: Any, table: Table, *names: str) -> np.ndarray:
    """Text keys as ids of the type of their columns: digits in a text column of a Parquet file stay text."""
    if table.typed and any(is_text(plain(table.columns[name]).type) for name in names):
        return np.array(text.to_pylist(), dtype=np.str_)
    return to_ids(text)


def first_null(column: Any) -> int:
    """The first row without a value, in a column that has one."""
    import pyarrow.compute as pc

    return int(pc.index(pc.is_null(column), True).as_py())


def first_repeat(text: Any) -> int | None:
    """The first row that holds the same text as an earlier row."""
    codes, values = encode(text)
    if len(values) == len(codes):
        return None
    return int(np.flatnonzero(codes != np.arange(len(codes)))[0])  # until then, every row brings a new code


def ends_in_nul(text: Any) -> int | None:
    """The first row whose text ends in NUL. numpy drops a final NUL, so that two ids could become one."""
    import pyarrow.compute as pc

    row = pc.index(pc.ends_with(text, "\0"), True).as_py()
    return None if row < 0 else row


def _blanks_around(table: Table, name: str) -> int:
    """The number of cells with blanks before or after their text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = plain(table.columns[name])
    if not is_text(column.type):
        return 0
    text = pc.cast(column, pa.large_string())
    return pc.sum(pc.not_equal(pc.utf8_trim_whitespace(text), text)).as_py() or 0
