"""Stray quotes in a text table, which would swallow the rows up to the next quote."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from ..errors import SignnapError

_QUOTE = ord('"')
_LINE_END = re.compile(rb"\r\n?|\n")
_SHOWN = 20


def check_quotes(path: Path, data: bytes, delimiter: str) -> None:
    """Refuse a quote that opens a cell but does not end it; ``data`` ends with a line end.

    Quotes within a cell that does not begin with one are text, as in 5" pipe.
    """
    if b'"' not in data or _in_pairs(data, delimiter):
        return
    bound = re.escape(delimiter).encode() + rb"\r\n"
    cell = re.compile(rb'(?<![^%b])"[^"]*(?:""[^"]*)*("(?=[%b]))?' % (bound, bound))
    stray = next((found for found in cell.finditer(data) if found[1] is None), None)
    if stray is None:
        return
    opened, closed = _line_of(data, stray.start()), _line_of(data, stray.end())
    if stray.end() == len(data):
        raise SignnapError(f"{path}, line {opened} opens a quote that is never closed")
    where = f"in line {closed} " if closed > opened else ""
    rest = re.split(rb"[%b]" % bound, data[stray.end() + 1 :], maxsplit=1)[0].decode()[:_SHOWN]
    raise SignnapError(
        f"{path}, line {opened} opens a quote that closes {where}before {rest!r}: expected the end of the cell there"
    )


def _in_pairs(data: bytes, delimiter: str) -> bool:
    """Whether quotes stand in pairs around cells, the usual case, which whole arrays settle in milliseconds.

    A doubled quote within a cell reads as the end of one pair and the start of the next.
    """
    text = np.frombuffer(b"\n" + data, dtype=np.uint8)
    places = np.flatnonzero(text == _QUOTE)
    if len(places) % 2:
        return False
    bound = np.zeros(256, dtype=bool)
    bound[[*delimiter.encode(), *b'\r\n"']] = True
    return bool(bound[text[places[::2] - 1]].all() and bound[text[places[1::2] + 1]].all())


def _line_of(data: bytes, place: int) -> int:
    return len(_LINE_END.findall(data, 0, place)) + 1
