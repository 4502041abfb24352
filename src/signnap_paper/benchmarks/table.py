"""The Markdown page of a results file; ``python -m signnap_paper.benchmarks.table FILE.json`` prints it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


def page(content: Mapping[str, Any]) -> str:
    """Title, protocol, where and when it was measured, one table of all rows, and what was found over them."""
    lines = [f"# {content['title']}", "", content["about"], ""]
    lines += [f"- {name}: {written(value)}" for name, value in {**content["protocol"], **content["found"]}.items()]
    lines += [f"- measured {_in_words(session)}" for session in content["sessions"]]
    return "\n".join([*lines, "", *table(content["columns"], content["rows"])]) + "\n"


def table(columns: Mapping[str, str], rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Lines of a Markdown table: ``columns`` maps keys of the rows to headings; what a row lacks is a dash."""
    head = ["| " + " | ".join(columns.values()) + " |", "|" + "---|" * len(columns)]
    return head + ["| " + " | ".join(written(row.get(key)) for key in columns) + " |" for row in rows]


def written(value: Any) -> str:
    """A value as people read it: numbers with four digits that count, lists and mappings spelt out."""
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, (int, float, list, dict)):
        return str(value).replace("|", "\\|").replace("\n", " ")
    if isinstance(value, dict):
        return ", ".join(f"{name} {written(inner)}" for name, inner in value.items())
    if isinstance(value, list):
        return ", ".join(map(written, value))
    if isinstance(value, int) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.{sum(abs(value) < limit for limit in (1000, 100, 10))}f}" if abs(value) >= 1 else f"{value:.3g}"


def _in_words(session: Mapping[str, Any]) -> str:
    known = {name: value for name, value in session.items() if name not in ("date", "command") and value is not None}
    return f"{session['date']} with `{session['command']}`: {written(known)}"


if __name__ == "__main__":
    print(page(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))), end="")
