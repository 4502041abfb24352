"""What the columns of a table mean: node ids, class labels, features."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import SignnapError
from .tables import Table, is_number

#: Ids become fixed-width text, where one very long id would widen them all.
_LONGEST_KEY = 1000
_MAX_CATEGORIES = 10_000
#: How R, pandas and databases write a cell without a value.
_MISSING = ("NA", "N/A", "NULL", "null", "NaN", "nan", "None", "<NA>")


def keys(table: Table, name: str) -> Any:
    """A column of ids or labels as trimmed text, null where empty.

    Every cell by itself, so that no other cell decides who it is: a whole number followed by ".0", as data frames
    write integers next to gaps, is that whole number, and 7, "7" and 7.0 are one and the same.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    column = _plain(table.columns[name])
    try:
        text = _trimmed(_float_text(column) if pa.types.is_floating(column.type) else column)
    except pa.ArrowException as error:
        kind = column.type
        raise SignnapError(f"column {name!r} of {table.title} is of type {kind}: expected text or integers") from error
    lengths = pc.fill_null(pc.binary_length(text), 0).to_numpy()
    if len(lengths) and lengths.max() > _LONGEST_KEY:
        place = table.place(int(lengths.argmax()))
        raise SignnapError(f"{place}, column {name!r} is {lengths.max():,} bytes long: expected at most {_LONGEST_KEY}")
    return _without_point_zero(text)


def object_keys(values: Iterable[Any]) -> Any:
    """The same for ids that are Python objects."""
    import pyarrow as pa

    written = [int(value) if isinstance(value, float) and value.is_integer() else value for value in values]
    return _without_point_zero(pa.array([str(value).strip() for value in written], pa.large_string()))


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


def read_labels(table: Table, name: str) -> tuple[np.ndarray | None, tuple[str, ...]]:
    """Class numbers (−1 where missing) and the class names they count through, in sorted order."""
    codes, values = encode(_without_missing(keys(table, name)))
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

    column = _plain(table.columns[name])
    numbers = _parse_numbers(_trimmed(column)) if _is_text(column.type) else column
    if numbers is None or not pa.types.is_floating(numbers.type):
        return False
    values = numbers.drop_null().to_numpy()
    values = values[np.isfinite(values)]
    return bool((values % 1).any()) and 2 * len(np.unique(values)) > len(values)


def read_features(table: Table, names: Sequence[str], *, chosen: bool) -> tuple[Any, tuple[str, ...], list[str]]:
    """One column per number or boolean, one per value of a text column; the matrix is sparse if text is involved.

    ``chosen`` says that the user listed the columns, and so may want one that differs in every row. Returns the
    matrix, the names of its columns, and which columns were text.
    """
    blocks: list[Any] = []
    labels: list[str] = []
    text: list[str] = []
    for name in names:
        values = as_numbers(table, name)
        if values is not None:
            blocks.append(values)
            labels.append(name)
        else:
            matrix, categories = _one_hot(table, name, chosen)
            blocks.append(matrix)
            labels += [f"{name}={value}" for value in categories]
            text.append(name)
    return _side_by_side(blocks), tuple(labels), text


def as_numbers(table: Table, name: str) -> np.ndarray | None:
    """A column of numbers or booleans as float32, every one finite; None if it holds text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = _plain(table.columns[name])
    if _is_text(column.type):
        parsed = _parse_numbers(_trimmed(column))
        if parsed is None:
            return None
    else:
        try:
            parsed = pc.cast(column, pa.float64(), safe=False)
        except pa.ArrowException as error:
            found = f"column {name!r} of {table.title} is of type {column.type}"
            raise SignnapError(f"{found}: expected numbers, booleans or text") from error
    with np.errstate(over="ignore"):
        values = parsed.to_numpy(zero_copy_only=False).astype(np.float32)
    wrong = np.flatnonzero(~np.isfinite(values))
    if len(wrong):
        raise bad_number(table, name, int(wrong[0]))
    return values


def bad_number(table: Table, name: str, row: int) -> SignnapError:
    """Name the cell that is not a number."""
    cell = table.columns[name][row].as_py()
    found = "is empty" if cell is None or not str(cell).strip() else f"holds {str(cell)[:50]!r}"
    return SignnapError(f"{table.place(row)}, column {name!r} {found}: expected a finite number")


def _one_hot(table: Table, name: str, chosen: bool) -> tuple[sp.csr_matrix, list[str]]:
    text = _trimmed(_plain(table.columns[name]))
    codes, found = encode(text)
    values = found.to_pylist()
    numeric = np.array([*(is_number(value) for value in values), False])[codes]
    given = np.array([*(value not in _MISSING for value in values), False])[codes]
    if 2 * numeric.sum() > given.sum():  # one bad cell must not turn a column of numbers into categories
        raise bad_number(table, name, int(np.flatnonzero(~numeric & (codes >= 0))[0]))
    if len(values) > _MAX_CATEGORIES or (len(values) == len(table) and not chosen):
        count = "different text in every row" if len(values) == len(table) else f"{len(values):,} different texts"
        advice = "leave it out by naming the feature columns to use"
        raise SignnapError(f"column {name!r} of {table.title} holds {count}, too many to be categories: {advice}")
    order = sorted(range(len(values)), key=values.__getitem__)
    rank = np.empty(len(values), dtype=np.int64)
    rank[order] = np.arange(len(values))
    present = codes >= 0
    start = np.concatenate([[0], np.cumsum(present)])
    ones = np.ones(int(present.sum()), dtype=np.float32)
    matrix = sp.csr_matrix((ones, rank[codes[present]], start), shape=(len(table), len(values)))
    return matrix, [values[i] for i in order]


def _side_by_side(blocks: list[Any]) -> Any:
    if not any(sp.issparse(block) for block in blocks):
        return np.column_stack(blocks) if blocks else None
    return sp.hstack([block if sp.issparse(block) else sp.csr_matrix(block[:, None]) for block in blocks], format="csr")


def _parse_numbers(text: Any) -> Any | None:
    """Text as numbers, null where one is missing; None if anything else is there, or nothing but words for missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        return pc.cast(text, pa.float64())
    except pa.ArrowInvalid:
        text = _without_missing(text)
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


def _without_missing(text: Any) -> Any:
    """Null in place of the words for it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.if_else(pc.is_in(text, value_set=pa.array(_MISSING, text.type)), None, text)


def _plain(column: Any) -> Any:
    """Undo the dictionary encoding that data frames use for categories."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.cast(column, column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or str(kind) == "string_view"


def _trimmed(text: Any) -> Any:
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
