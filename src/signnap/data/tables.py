"""Tables from text and Parquet files: named columns, and the place of every row for messages."""

from __future__ import annotations

import base64
import difflib
import logging
import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import SignnapError, unknown_name
from .delimited import TextTable, read_delimited

_log = logging.getLogger(__name__)

TABLE_SUFFIXES = (".csv", ".tsv", ".txt", ".parquet")
#: Usual names for the column of node ids.
ID_NAMES = ("id", "node", "node_id", "name")

#: How data frames write an index that has no name. Such a column is never meant as data.
_NAMELESS = ("", "__index_level_0__", "Unnamed: 0")
#: This many rows suffice to see whether a column holds numbers.
_GLANCE = 100
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
#: 16 GiB of 32-bit numbers. A few compressed kilobytes can claim any size.
_MAX_CELLS = 2**32
#: An error about an unknown column lists at most this many columns, a note this many.
_NAMES_SHOWN, _NAMES_NOTED = 30, 5


@dataclass(frozen=True)
class Table:
    """Named Arrow columns. ``place`` says where a row stands in its source.

    ``nameless`` are the columns of a data frame's index. ``typed`` means that the source stores types, so that digits
    in a text column are text.
    """

    title: str
    columns: dict[str, Any]
    place: Callable[[int], str]
    nameless: frozenset[str] = frozenset()
    typed: bool = False

    def __len__(self) -> int:
        return max(map(len, self.columns.values()), default=0)

    def require(self, name: str) -> str:
        """Return ``name`` if the table has this column, else raise an error that suggests the nearest name."""
        if name in self.columns:
            return name
        if not self.columns:
            raise SignnapError(f"there is no column {name!r} in {self.title}")
        shown = list(self.columns)
        if len(shown) > _NAMES_SHOWN:
            shown = [*shown[:_NAMES_SHOWN], *difflib.get_close_matches(name, shown, n=1, cutoff=0.5), "…"]
        raise unknown_name(f"column in {self.title}:", name, dict.fromkeys(shown))

    def first_of(self, names: Iterable[str], but: Iterable[str] = ()) -> str | None:
        """The first of these names that is a column and not in ``but``. Upper and lower case do not matter."""
        found = {name.lower(): name for name in reversed(self.columns) if name not in but}
        return next((found[name] for name in names if name in found), None)


@dataclass(frozen=True)
class HeaderRule:
    """How to decide whether the first row of a text file is a header.

    ``names`` are groups of names that a header has. A group of one name decides at once. A group of several, such as
    (u, v), may consist of node ids: it decides unless all its names occur again in the first ``keys`` columns and no
    word of the row stands above a column of numbers. Without such a group the row is data as soon as one of its first
    ``keys`` cells is a number or occurs again in these columns, or if all of them are in ``ids``. With ``numbered``,
    the row 0, 1, 2, … is a header as well.
    """

    names: Sequence[Sequence[str]]
    keys: int
    ids: Any = None
    numbered: bool = False


def read_table(path: str | Path, header: HeaderRule, *, one_line: bool = False) -> Table:
    """Read a text or Parquet file. With ``one_line``, a text cell that spans several lines is an error."""
    path = Path(path)
    check_file(path)
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        return _read_parquet(path)
    if suffix in TABLE_SUFFIXES:
        text = read_delimited(path, one_line=one_line)
        return _with_header(text, skip=int(_has_header(text, text.first_row(), header)))
    raise SignnapError(f"{path} ends in {suffix!r}: expected a table in {', '.join(TABLE_SUFFIXES)}")


def check_file(path: str | Path) -> None:
    """Refuse a path that is not a file with content."""
    if os.path.isdir(path):
        raise SignnapError(f"{path} is a directory: expected a file")
    if not os.path.isfile(path):
        raise SignnapError(f"there is no file {path}")
    if os.path.getsize(path) == 0:
        raise SignnapError(f"{path} is empty: expected a table with at least one row")


def listed(names: Sequence[str]) -> str:
    """The first few names for a note, and how many more there are.

    >>> listed(["city", "team"]), listed(list("abcdefgh"))
    ('city, team', 'a, b, c, d, e and 3 more')
    """
    rest = len(names) - _NAMES_NOTED
    return ", ".join(names[:_NAMES_NOTED]) + (f" and {rest} more" if rest > 0 else "")


def is_number(cell: str) -> bool:
    """Whether the text of a cell is a finite decimal number."""
    return _NUMBER.fullmatch(cell) is not None


# -- text ------------------------------------------------------------------------------------------------------------


def _with_header(text: TextTable, skip: int) -> Table:
    """Name the columns by the first row if ``skip`` is 1, else by their numbers."""
    first = text.first_row()
    numbered = [f"column {i + 1}" for i in range(len(first))]
    names = [name or number for name, number in zip(first, numbered, strict=True)] if skip else numbered
    nameless = [name for name, cell in zip(names, first, strict=True) if skip and cell in _NAMELESS]
    return Table(
        title=str(text.path),
        columns=_by_name(text.path, names, [column.slice(skip) for column in text.columns]),
        place=lambda row: f"{text.path}, line {text.line(row + skip)}",
        nameless=frozenset(nameless),
    )


def _has_header(text: TextTable, first: list[str], rule: HeaderRule) -> bool:
    if rule.numbered and len(first) > 1 and first == [str(number) for number in range(len(first))]:
        return True
    lowered = {name.lower() for name in first}
    known = [group for group in rule.names if lowered.issuperset(group)]
    if any(len(group) == 1 for group in known):
        return True
    keys = first[: rule.keys]
    if not known and (any(map(is_number, keys)) or _all_among(keys, rule.ids)):
        return False
    if known and _above_numbers(text, first, rule.keys):
        return True
    again = _found_below(text, keys)
    if known and not any({cell.lower() for cell in again}.issuperset(group) for group in known):
        return True
    shown = listed(first)
    if known:
        words = "took the first row for data, as its names turn up again (name the columns if it is the header)"
        _log.info("%s: %s: %s", text.path, words, shown)
    elif not again:
        _log.info("%s: took the first row for its header: %s", text.path, shown)
    return not again


def _all_among(cells: Sequence[str], ids: Any | None) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    return ids is not None and pc.all(pc.is_in(pa.array(cells, ids.type), value_set=ids)).as_py()


def _above_numbers(text: TextTable, first: Sequence[str], keys: int) -> bool:
    """Whether a word of the first row, such as weight, stands above nothing but numbers behind the key columns."""
    for cell, column in list(zip(first, text.columns, strict=True))[keys:]:
        below = [each.strip() for each in column.slice(1, _GLANCE).to_pylist() if each]
        if below and cell and not is_number(cell) and all(map(is_number, below)):
            return True
    return False


def _found_below(text: TextTable, wanted: Sequence[str]) -> list[str]:
    """The cells of the first row that occur again in the columns of ``wanted``; blanks around cells do not count."""
    import pyarrow.compute as pc

    below = [pc.utf8_trim_whitespace(column.slice(1)) for column in text.columns[: len(wanted)]]
    return [cell for cell in wanted if cell and any(pc.any(pc.equal(column, cell)).as_py() for column in below)]


def _by_name(path: Path, names: Sequence[str], columns: Sequence[Any]) -> dict[str, Any]:
    named = dict(zip(names, columns, strict=True))
    if len(named) < len(names):
        twice = next(name for name in named if list(names).count(name) > 1)
        raise SignnapError(f"{path} has two columns named {twice!r}: expected different names")
    return named


# -- Parquet ---------------------------------------------------------------------------------------------------------


def _read_parquet(path: Path) -> Table:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        data = pa.BufferReader(path.read_bytes())  # Arrow opens only files with UTF-8 names
        with parquet.ParquetFile(data, pre_buffer=False) as file:
            if file.metadata.num_rows * file.metadata.num_columns > _MAX_CELLS:
                raise SignnapError(f"{path} claims {file.metadata.num_rows:,} rows: expected a table that fits memory")
            table = file.read(use_threads=False)  # a process that exits while Arrow starts threads can abort
            stored = _stored_schema(file.metadata)
        table.validate(full=True)  # among other things, that text is UTF-8
        names = table.column_names
        columns = [_as_stored(stored, name, column) for name, column in zip(names, table.columns, strict=True)]
    except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise SignnapError(f"{path} is not a readable Parquet file: {reason}") from error
    if not names:
        raise SignnapError(f"{path} has no columns: expected at least one")
    return Table(
        title=str(path),
        columns=_by_name(path, names, columns),
        place=lambda row: f"{path}, row {row + 1}",
        nameless=frozenset(_NAMELESS),
        typed=True,
    )


def _stored_schema(metadata: Any) -> Any | None:
    """The Arrow types that the writer stored in the file; None if the writer was not Arrow."""
    import pyarrow as pa

    written = (metadata.metadata or {}).get(b"ARROW:schema")
    return None if written is None else pa.ipc.read_schema(pa.py_buffer(base64.b64decode(written)))


def _as_stored(stored: Any | None, name: str, column: Any) -> Any:
    """Restore a dictionary column of numbers: Arrow's Parquet reader restores only those of text."""
    import pyarrow as pa

    if stored is None or stored.get_field_index(name) < 0:
        return column
    return column.dictionary_encode() if pa.types.is_dictionary(stored.field(name).type) else column
