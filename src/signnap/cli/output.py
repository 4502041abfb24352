"""What goes to stdout (results) and to stderr (everything else)."""

from __future__ import annotations

import json
import logging
import math
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from ..train.progress import tell


def emit(result: dict[str, Any], as_json: bool, *tables: tuple[str, Sequence[str], Iterable[Sequence[str]]]) -> None:
    """Print one JSON object, or tables of (title, column names, rows)."""
    if as_json:
        print(json.dumps(_strict(result), allow_nan=False))
        return
    from rich.console import Console
    from rich.table import Table

    seen = sys.stdout is not None and sys.stdout.isatty()  # it is None where it was closed
    console = Console(width=None if seen else 120, markup=False, emoji=False)  # names are a user's: [v2] is no style
    for title, columns, rows in tables:
        table = Table(title=title, title_justify="left", title_style="bold")
        for number, column in enumerate(columns):
            table.add_column(column, justify="left" if number == 0 else "right")
        for row in rows:
            table.add_row(*row)
        console.print(table)


def _strict(value: Any) -> Any:
    """JSON has no NaN and no infinity; what is not a number becomes null."""
    if isinstance(value, dict):
        return {key: _strict(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_strict(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def say(words: str) -> None:
    """Tell the user something that is not the result."""
    tell(words)


def show_notes() -> None:
    """Let the library's notes (edges repaired, columns ignored, features made up) appear on stderr."""
    logger = logging.getLogger("signnap")
    if not logger.handlers:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("note: %(message)s"))
        logger.addHandler(handler)
    logger.setLevel(logging.INFO)
