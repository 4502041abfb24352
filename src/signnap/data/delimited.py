"""Text tables (.csv, .tsv, .txt) as columns of text: nothing is guessed about types, so no cell can surprise later."""

from __future__ import annotations

import csv
import io
import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import SignnapError
from ..storage import cannot_read
from .quotes import check_quotes

_log = logging.getLogger(__name__)

_QUOTED = re.compile(r'"[^"]*"')
_FIRST_LINE = re.compile(rb"[\r\n]*([^\r\n]*)")
_LEADING_COMMENTS = re.compile(rb"\A(?:[ \t]*(?:[#%][^\n]*)?\n)+")
#: A row must fit into one block; a larger block costs nothing but memory.
_BLOCK_BYTES = 1 << 24


@dataclass(frozen=True)
class Cells:
    """All rows of a text table, a header (if there is one) being row 0."""

    path: Path
    columns: list[Any]
    data: bytes
    delimiter: str

    def line(self, row: int) -> int:
        """The line of the file where a row begins; walks the file, so only errors ask for it."""
        for number, (line, _) in enumerate(_records(self.data, self.delimiter)):
            if number == row:
                return line
        return row + 1

    def first_row(self) -> list[str]:
        return [column[0].as_py().strip() for column in self.columns]


def read_delimited(path: Path, *, one_line: bool = False) -> Cells:
    """Read a table whose delimiter follows from its suffix and first line.

    ``one_line`` refuses cells of several lines; elsewhere they get a note, as two stray quotes look the same.
    """
    data = _text_bytes(path)
    if path.suffix.lower() == ".txt":
        data = _without_comments(data, path)
    delimiter = _delimiter(path, data)
    if delimiter == " ":
        data = _single_spaced(data)
    if not data.strip():
        raise SignnapError(f"{path} is empty: expected a table with one row per line")
    data = data.rstrip(b"\n") + b"\n"  # the parser needs the end of a single line
    if delimiter != " ":
        check_quotes(path, data, delimiter)
    cells = Cells(path, _parse(path, data, delimiter), data, delimiter)
    broken = _row_of_several_lines(cells)
    if broken is not None and one_line:
        found = f"{path}, line {cells.line(broken)} opens a quote that closes in a later line"
        raise SignnapError(f"{found}: expected every cell of an edge list on one line")
    if broken is not None:
        _log.info("%s: some cells hold several lines, the first of them in line %d", path, cells.line(broken))
    return cells


def _text_bytes(path: Path) -> bytes:
    try:
        data = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    except OSError as error:
        raise cannot_read(path, error) from error
    if b"\0" in data:
        raise SignnapError(f"{path} is not a text file: expected a table with one row per line, in UTF-8")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SignnapError(f"{path}, line {line} is not UTF-8 text: expected a table with one row per line") from error
    return data


def _without_comments(data: bytes, path: Path) -> bytes:
    """Blank out the remarks that public collections put before their edges; lines keep their numbers."""
    remarks = _LEADING_COMMENTS.match(data)
    if remarks is None:
        return data
    lines = remarks.group().count(b"\n")
    _log.info("%s: skipped %d lines of comments before the table", path, lines)
    return b"\n" * lines + data[remarks.end() :]


def _delimiter(path: Path, data: bytes) -> str:
    if path.suffix.lower() == ".tsv":
        return "\t"
    bare = _QUOTED.sub("", _first_line(data).decode())
    best = max((",", "\t", ";"), key=bare.count)
    if bare.count(best):
        return best
    return " " if path.suffix.lower() == ".txt" else ","


def _single_spaced(data: bytes) -> bytes:
    """Turn any run of blanks into one space, with whole-buffer operations that take milliseconds."""
    data = data.replace(b"\t", b" ").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    while b"  " in data:
        data = data.replace(b"  ", b" ")
    return data.replace(b" \n", b"\n").replace(b"\n ", b"\n").removeprefix(b" ").removesuffix(b" ")


def _parse(path: Path, data: bytes, delimiter: str) -> list[Any]:
    """All cells as text, by Arrow's reader of tables.

    Its streaming reader would tell the number of columns, but goes on reading after it was closed: a process that ends
    then, as after bad input, may abort. For the same reason no threads read what is one block.
    """
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    threads = len(data) > _BLOCK_BYTES
    read = arrow_csv.ReadOptions(autogenerate_column_names=True, block_size=_BLOCK_BYTES, use_threads=threads)
    quote = '"' if delimiter != " " and b'"' in data else False
    parse = arrow_csv.ParseOptions(delimiter=delimiter, quote_char=quote, newlines_in_values=bool(quote))

    def read_as_text(columns: int) -> Any:
        as_text = {f"f{column}": pa.string() for column in range(columns)}
        convert = arrow_csv.ConvertOptions(column_types=as_text, strings_can_be_null=False)
        return arrow_csv.read_csv(pa.BufferReader(data), read, parse, convert)

    expected = _first_line(data).count(delimiter.encode()) + 1
    try:
        table = read_as_text(expected)
        if table.num_columns > expected:  # a cell of several lines in the first row
            table = read_as_text(table.num_columns)
        return table.columns
    except pa.ArrowException as error:
        raise _not_a_table(path, data, delimiter, error) from error


def _first_line(data: bytes) -> bytes:
    """The first line that is not empty."""
    found = _FIRST_LINE.match(data)
    return found.group(1) if found else b""


def _row_of_several_lines(cells: Cells) -> int | None:
    """The first row with a line end inside a cell; mostly counting lines shows that there is none."""
    import pyarrow.compute as pc

    if {cells.data.count(end) for end in (b"\r", b"\n")} <= {0, len(cells.columns[0])}:
        return None
    found = [pc.index(pc.match_substring(column, end), True).as_py() for column in cells.columns for end in "\r\n"]
    return min((row for row in found if row >= 0), default=None)


def _not_a_table(path: Path, data: bytes, delimiter: str, error: Exception) -> SignnapError:
    """Find the first row whose length differs: the parser, working on many blocks at once, cannot say which."""
    expected = None
    for line, cells in _records(data, delimiter):
        if expected not in (None, cells):
            return SignnapError(f"{path}, line {line} has {cells} cells: expected {expected}, as in the first row")
        expected = cells
    reason = str(error).splitlines()[0][:200]
    return SignnapError(f"{path} is not a readable table ({reason}): expected one row per line")


def _records(data: bytes, delimiter: str) -> Iterator[tuple[int, int]]:
    """Yield the first line and the number of cells of every row that is not blank."""
    options: dict[str, Any] = {"quoting": csv.QUOTE_NONE} if delimiter == " " else {}
    reader = csv.reader(io.StringIO(data.decode("utf-8"), newline=""), delimiter=delimiter, **options)
    start = 1
    try:
        for cells in reader:
            if cells:
                yield start, len(cells)
            start = reader.line_num + 1
    except csv.Error:  # a cell too long for this reader: the rows before it have been told
        return
