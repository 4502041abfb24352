"""A table from a file, and the columns an edge list or a node table is read from."""

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
from .delimited import Cells, read_delimited

_log = logging.getLogger(__name__)

TABLE_SUFFIXES = (".csv", ".tsv", ".txt", ".parquet")

_ENDPOINT_NAMES = (("source", "target"), ("src", "dst"), ("from", "to"), ("u", "v"), ("node1", "node2"))
ID_NAMES = ("id", "node", "node_id", "name")
LABEL_NAMES = ("label", "class", "y", "target")
#: These may name a coordinate or an aim as well.
DOUBTFUL_LABEL_NAMES = ("y", "target")
#: How data frames write an index that has no name: never meant as data.
_NAMELESS = ("", "__index_level_0__", "Unnamed: 0")
#: So many rows are enough to see what a column holds.
_GLANCE = 100
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
#: 16 GiB of 32-bit numbers: a few compressed kilobytes can claim any size.
_MAX_CELLS = 2**32
_NAMES_SHOWN = 30
_NAMES_NOTED = 5


@dataclass(frozen=True)
class Table:
    """Named Arrow columns, and where in its source each row stands (for error messages).

    ``typed`` says that the source has types, so that digits in a column of text are text.
    """

    title: str
    columns: dict[str, Any]
    place: Callable[[int], str]
    nameless: frozenset[str] = frozenset()
    typed: bool = False

    def __len__(self) -> int:
        return max(map(len, self.columns.values()), default=0)

    def require(self, name: str) -> str:
        """Return ``name`` if there is such a column, else say which one may be meant."""
        if name in self.columns:
            return name
        if not self.columns:
            raise SignnapError(f"there is no column {name!r} in {self.title}")
        shown = list(self.columns)
        if len(shown) > _NAMES_SHOWN:
            shown = [*shown[:_NAMES_SHOWN], *difflib.get_close_matches(name, shown, n=1, cutoff=0.5), "…"]
        raise unknown_name(f"column in {self.title}:", name, dict.fromkeys(shown))

    def first_of(self, names: Iterable[str], but: Iterable[str] = ()) -> str | None:
        """The first of these names, whatever its capitals, that is a column."""
        found = {name.lower(): name for name in reversed(self.columns) if name not in but}
        return next((found[name] for name in names if name in found), None)


def read_table(
    path: str | Path,
    *,
    header: Sequence[Sequence[str]],
    keys: int,
    one_line: bool = False,
    counted: bool = False,
    ids: Any = None,
) -> Table:
    """Read any supported file, whose cells must not be longer than a line if ``one_line``.

    A text file may lack a header. The first row is one if it holds all names of one of the groups in ``header``,
    unless they are several and all turn up in the first ``keys`` columns again: u and v may be nodes. Otherwise it is
    data as soon as one of its first ``keys`` cells is a number, or turns up in those columns again, or all are ``ids``.
    Columns that may be ``counted`` have a header as well if that is 0, 1, 2, …
    """
    path = Path(path)
    check_file(path)
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        return _read_parquet(path)
    if suffix in TABLE_SUFFIXES:
        cells = read_delimited(path, one_line=one_line)
        first = cells.first_row()
        count = counted and len(first) > 1 and first == [str(number) for number in range(len(first))]
        return _with_header(cells, first, skip=int(count or _is_header(cells, first, header, keys, ids)))
    raise SignnapError(f"{path} ends in {suffix!r}: expected a table in {', '.join(TABLE_SUFFIXES)}")


def check_file(path: str | Path) -> None:
    """Refuse what is not a file with something in it."""
    if os.path.isdir(path):
        raise SignnapError(f"{path} is a directory: expected a file")
    if not os.path.isfile(path):
        raise SignnapError(f"there is no file {path}")
    if os.path.getsize(path) == 0:
        raise SignnapError(f"{path} is empty: expected a table with at least one row")


def endpoint_columns(table: Table, source: str | None, target: str | None) -> tuple[str, str]:
    """Choose the two columns of an edge list: as told, else by common names, else the first two."""
    if len(table.columns) < 2:
        raise SignnapError(f"{table.title} has one column: expected two for the endpoints, a delimiter between")
    pairs = [(table.first_of([one]), table.first_of([other])) for one, other in _ENDPOINT_NAMES]
    named = sorted(table.columns, key=lambda name: name in table.nameless)
    defaults = [pair for pair in pairs if None not in pair]
    first, second = defaults[0] if defaults else named[:2]
    source = table.require(source) if source else (first if target != first else second)
    target = table.require(target) if target else (second if source != second else first)
    if source == target:
        raise SignnapError(f"both endpoints are column {source!r} of {table.title}: expected two different columns")
    return str(source), str(target)


def endpoint_headers(*given: str | None) -> list[Sequence[str]]:
    """The groups of names that prove the first row of an edge list to be its header."""
    return [*_ENDPOINT_NAMES, *([name.lower()] for name in given if name)]


def listed(names: Sequence[str]) -> str:
    """Some names for a note: the first few, and how many more there are.

    >>> listed(["city", "team"]), listed(list("abcdefgh"))
    ('city, team', 'a, b, c, d, e and 3 more')
    """
    rest = len(names) - _NAMES_NOTED
    return ", ".join(names[:_NAMES_NOTED]) + (f" and {rest} more" if rest > 0 else "")


def is_number(cell: str) -> bool:
    """Whether a cell of text is written as a finite number."""
    return _NUMBER.fullmatch(cell) is not None


def _with_header(cells: Cells, first: list[str], skip: int) -> Table:
    numbered = [f"column {i + 1}" for i in range(len(first))]
    names = [name or number for name, number in zip(first, numbered, strict=True)] if skip else numbered
    nameless = [name for name, cell in zip(names, first, strict=True) if skip and cell in _NAMELESS]
    return Table(
        title=str(cells.path),
        columns=_by_name(cells.path, names, [column.slice(skip) for column in cells.columns]),
        place=lambda row: f"{cells.path}, line {cells.line(row + skip)}",
        nameless=frozenset(nameless),
    )


def _is_header(cells: Cells, first: list[str], header: Sequence[Sequence[str]], keys: int, ids: Any) -> bool:
    lowered = {name.lower() for name in first}
    known = [group for group in header if lowered.issuperset(group)]
    if any(len(group) == 1 for group in known):
        return True
    if not known and (any(map(is_number, first[:keys])) or _all_among(first[:keys], ids)):
        return False
    if known and _above_numbers(cells, first, keys):
        return True
    again = _found_below(cells, first[:keys])
    if known and not any({cell.lower() for cell in again}.issuperset(group) for group in known):
        return True
    shown = listed(first)
    if known:
        words = "took the first row for data, as its names turn up again (name the columns if it is the header)"
        _log.info("%s: %s: %s", cells.path, words, shown)
    elif not again:
        _log.info("%s: took the first row for its header: %s", cells.path, shown)
    return not again


def _all_among(cells: Sequence[str], ids: Any | None) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    return ids is not None and pc.all(pc.is_in(pa.array(cells, ids.type), value_set=ids)).as_py()


def _above_numbers(cells: Cells, first: Sequence[str], keys: int) -> bool:
    """Whether words of the first row stand above nothing but numbers, as that of a weight does."""
    for cell, column in list(zip(first, cells.columns, strict=True))[keys:]:
        below = [text.strip() for text in column.slice(1, _GLANCE).to_pylist() if text]
        if below and cell and not is_number(cell) and all(map(is_number, below)):
            return True
    return False


def _found_below(cells: Cells, wanted: Sequence[str]) -> list[str]:
    """Which cells of the first row turn up again in these columns, blanks around them aside."""
    import pyarrow.compute as pc

    below = [pc.utf8_trim_whitespace(column.slice(1)) for column in cells.columns[: len(wanted)]]
    return [cell for cell in wanted if cell and any(pc.any(pc.equal(column, cell)).as_py() for column in below)]


def _by_name(path: Path, names: Sequence[str], columns: Sequence[Any]) -> dict[str, Any]:
    named = dict(zip(names, columns, strict=True))
    if len(named) < len(names):
        twice = next(name for name in named if list(names).count(name) > 1)
        raise SignnapError(f"{path} has two columns named {twice!r}: expected different names")
    return named


def _read_parquet(path: Path) -> Table:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        data = pa.BufferReader(path.read_bytes())  # Arrow wants UTF-8 names of files
        with parquet.ParquetFile(data, pre_buffer=False) as file:
            if file.metadata.num_rows * file.metadata.num_columns > _MAX_CELLS:
                raise SignnapError(f"{path} claims {file.metadata.num_rows:,} rows: expected a table that fits memory")
            table = file.read(use_threads=False)  # a process that ends while Arrow's threads begin may abort
            stored = _stored_schema(file.metadata)
        table.validate(full=True)  # that text is UTF-8, for one
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
    """The types that Arrow had when it wrote the file, if it did."""
    import pyarrow as pa

    written = (metadata.metadata or {}).get(b"ARROW:schema")
    return None if written is None else pa.ipc.read_schema(pa.py_buffer(base64.b64decode(written)))


def _as_stored(stored: Any | None, name: str, column: Any) -> Any:
    """Categories of numbers as categories again: the reader of the file gives those of text only."""
    import pyarrow as pa

    if stored is None or stored.get_field_index(name) < 0:
        return column
    return column.dictionary_encode() if pa.types.is_dictionary(stored.field(name).type) else column
