"""Text tables (.csv, .tsv, .txt) as columns of text, and the line in which each row begins.

The reader guesses no types: every cell stays text, and later code decides per column what the cells mean.
"""

from __future__ import annotations

import csv
import io
import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import SignnapError
from ..storage import cannot_read

_log = logging.getLogger(__name__)

_QUOTED = re.compile(r'"[^"]*"')
_FIRST_LINE = re.compile(rb"[\r\n]*([^\r\n]*)")
_LINE_END = re.compile(rb"\r\n?|\n")
_LEADING_COMMENTS = re.compile(rb"\A(?:[ \t]*(?:[#%][^\n]*)?\n)+")
_QUOTE = ord('"')
#: Arrow refuses a row that does not fit into one block. A large block costs memory only.
_BLOCK_BYTES = 1 << 24
#: Messages about quotes show at most this many characters of a cell.
_SHOWN = 20


@dataclass(frozen=True)
class TextTable:
    """All rows of a text table as columns of text. Row 0 is the header if the file has one."""

    path: Path
    columns: list[Any]
    data: bytes
    delimiter: str

    def line(self, row: int) -> int:
        """The line of the file in which a row begins. The search reads the file again, so call it for errors only."""
        for number, (line, _) in enumerate(_records(self.data, self.delimiter)):
            if number == row:
                return line
        return row + 1

    def first_row(self) -> list[str]:
        return [column[0].as_py().strip() for column in self.columns]


def read_delimited(path: Path, *, one_line: bool = False) -> TextTable:
    """Read a text table. The suffix and the first line decide on the delimiter.

    A cell that spans several lines is an error if ``one_line`` is set, else a note: two stray quotes look the same as
    such a cell.
    """
    data = _text_bytes(path)
    if path.suffix.lower() == ".txt":
        data = _without_comments(data, path)
    delimiter = _delimiter(path, data)
    if delimiter == " ":
        data = _single_spaced(data)
    if not data.strip():
        raise SignnapError(f"{path} is empty: expected a table with one row per line")
    data = data.rstrip(b"\n") + b"\n"  # Arrow cannot parse a single line without its line end
    if delimiter != " ":
        _check_quotes(path, data, delimiter)
    table = TextTable(path, _parse(path, data, delimiter), data, delimiter)
    broken = _row_of_several_lines(table)
    if broken is not None and one_line:
        found = f"{path}, line {table.line(broken)} opens a quote that closes in a later line"
        raise SignnapError(f"{found}: expected every cell of an edge list on one line")
    if broken is not None:
        _log.info("%s: some cells hold several lines, the first of them in line %d", path, table.line(broken))
    return table


def _text_bytes(path: Path) -> bytes:
    """The bytes of a UTF-8 file without its byte order mark."""
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
    """Replace the comment lines above the table by empty lines, so that line numbers stay."""
    comments = _LEADING_COMMENTS.match(data)
    if comments is None:
        return data
    lines = comments.group().count(b"\n")
    _log.info("%s: skipped %d lines of comments before the table", path, lines)
    return b"\n" * lines + data[comments.end() :]


def _delimiter(path: Path, data: bytes) -> str:
    """A tab for .tsv, else the most frequent of comma, tab and semicolon outside quotes in the first line."""
    if path.suffix.lower() == ".tsv":
        return "\t"
    bare = _QUOTED.sub("", _first_line(data).decode())
    best = max((",", "\t", ";"), key=bare.count)
    if bare.count(best):
        return best
    return " " if path.suffix.lower() == ".txt" else ","


def _single_spaced(data: bytes) -> bytes:
    """Replace every run of blanks by one space. Operations on the whole buffer take milliseconds."""
    data = data.replace(b"\t", b" ").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    while b"  " in data:
        data = data.replace(b"  ", b" ")
    return data.replace(b" \n", b"\n").replace(b"\n ", b"\n").removeprefix(b" ").removesuffix(b" ")


def _parse(path: Path, data: bytes, delimiter: str) -> list[Any]:
    """Parse all cells as text with Arrow.

    Arrow's streaming reader would report the number of columns, but its threads continue after it is closed: a process
    that exits then, for example after bad input, can abort. For the same reason one thread reads a file of one block.
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
        if table.num_columns > expected:  # a cell of the first row spans several lines
            table = read_as_text(table.num_columns)
        return table.columns
    except pa.ArrowException as error:
        raise _not_a_table(path, data, delimiter, error) from error


def _first_line(data: bytes) -> bytes:
    """The first line that is not empty."""
    found = _FIRST_LINE.match(data)
    return found.group(1) if found else b""


def _row_of_several_lines(table: TextTable) -> int | None:
    """The first row with a line end inside a cell. For most files a count of the line ends rules such a row out."""
    import pyarrow.compute as pc

    if {table.data.count(end) for end in (b"\r", b"\n")} <= {0, len(table.columns[0])}:
        return None
    found = [pc.index(pc.match_substring(column, end), True).as_py() for column in table.columns for end in "\r\n"]
    return min((row for row in found if row >= 0), default=None)


def _not_a_table(path: Path, data: bytes, delimiter: str, error: Exception) -> SignnapError:
    """Find the first row with another number of cells: Arrow parses blocks in parallel and cannot name the line."""
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
    except csv.Error:  # a cell is too long for this reader; the caller has seen the rows before it
        return


# -- stray quotes ----------------------------------------------------------------------------------------------------


def _check_quotes(path: Path, data: bytes, delimiter: str) -> None:
    """Refuse a quote that opens a cell and does not end it: such a quote would swallow the rows up to the next quote.

    ``data`` ends with a line end. Quotes inside a cell that does not begin with a quote are text, as in 5" pipe.
    """
    if b'"' not in data or _quotes_in_pairs(data, delimiter):
        return
    bound = re.escape(delimiter).encode() + rb"\r\n"
    cell = re.compile(rb'(?<![^%b])"[^"]*(?:""[^"]*)*("(?=[%b]))?' % (bound, bound))
    stray = next((found for found in cell.finditer(data) if found[1] is None), None)
    if stray is None:
        return
    opened, closed = (len(_LINE_END.findall(data, 0, place)) + 1 for place in stray.span())
    if stray.end() == len(data):
        raise SignnapError(f"{path}, line {opened} opens a quote that is never closed")
    where = f"in line {closed} " if closed > opened else ""
    rest = re.split(rb"[%b]" % bound, data[stray.end() + 1 :], maxsplit=1)[0].decode()[:_SHOWN]
    raise SignnapError(
        f"{path}, line {opened} opens a quote that closes {where}before {rest!r}: expected the end of the cell there"
    )


def _quotes_in_pairs(data: bytes, delimiter: str) -> bool:
    """Whether all quotes stand in pairs around cells. This is the usual case, and numpy checks it in milliseconds.

    A doubled quote inside a cell counts as the end of one pair and the start of the next.
    """
    text = np.frombuffer(b"\n" + data, dtype=np.uint8)
    places = np.flatnonzero(text == _QUOTE)
    if len(places) % 2:
        return False
    bound = np.zeros(256, dtype=bool)
    bound[[*delimiter.encode(), *b'\r\n"']] = True
    return bool(bound[text[places[::2] - 1]].all() and bound[text[places[1::2] + 1]].all())
