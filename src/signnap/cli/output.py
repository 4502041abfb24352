"""Results on stdout, as a JSON object or as tables, and notes of the library on stderr."""

from __future__ import annotations

import json
import logging
import math
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from ..errors import printable


def emit(result: dict[str, Any], as_json: bool, *tables: tuple[str, Sequence[str], Iterable[Sequence[str]]]) -> None:
    """Print one JSON object, or tables of (title, column names, rows). Names of a user become printable."""
    if as_json:
        print(json.dumps(_strict(result), allow_nan=False))
        return
    from rich.console import Console
    from rich.table import Table

    on_terminal = sys.stdout is not None and sys.stdout.isatty()  # the caller may have closed stdout
    # Without markup, because names may contain brackets: [v2] is no style.
    console = Console(width=None if on_terminal else 120, markup=False, emoji=False)
    for title, columns, rows in tables:
        table = Table(title=printable(title), title_justify="left", title_style="bold")
        for number, column in enumerate(columns):
            table.add_column(column, justify="left" if number == 0 else "right")
        for row in rows:
            table.add_row(*map(printable, row))
        console.print(table)


def _strict(value: Any) -> Any:
    """Replace NaN and infinities, which JSON does not have, by null."""
    if isinstance(value, dict):
        return {key: _strict(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_strict(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


class _Notes(logging.Formatter):
    """Log messages as printable lines that begin with "note: "."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(f"note: {record.getMessage()}")


def show_notes() -> None:
    """Show the library's log messages (repaired edges, ignored columns, computed features) on stderr."""
    logger = logging.getLogger("signnap")
    if not logger.handlers:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(_Notes())
        logger.addHandler(handler)
    logger.setLevel(logging.INFO)
