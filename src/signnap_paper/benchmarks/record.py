"""A file of benchmark results that grows row by row, and the Markdown page of it.

Every row says where, when and how it was measured. ``python -m signnap_paper.benchmarks.record FILE.json`` prints the
page again.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from signnap.errors import SignnapError
from signnap.storage import write_text

from ..provenance import provenance


class Record:
    """A JSON file and the same as Markdown beside it; opening an existing file continues it.

    ``keys`` are the fields that tell one row from another, ``columns`` maps fields to the headings of the table, and
    ``found`` is for numbers over all rows. ``protocol`` and device must be what they were: rows of one file compare.
    Each row names the session, one run of a script, that measured it.
    """

    def __init__(
        self, path: Path, *, title: str, about: str, protocol: dict[str, Any], keys: list[str], columns: dict[str, str]
    ) -> None:
        self.path, self.keys, protocol = path, keys, json.loads(json.dumps(protocol))
        self.content: dict[str, Any] = {
            "title": title, "about": about, "protocol": protocol, "found": {}, "columns": columns,
            "sessions": [], "rows": [],
        }  # fmt: skip
        self.session = provenance()
        if path.exists():
            before = json.loads(path.read_text(encoding="utf-8"))
            self._expect_same("protocol", protocol, before["protocol"])
            for earlier in before["sessions"]:
                self._expect_same("device", self.session["device"], earlier["device"])
            self.content |= {name: before[name] for name in ("found", "sessions", "rows")}

    def _expect_same(self, what: str, ours: Any, theirs: Any) -> None:
        if ours != theirs:
            raise SignnapError(f"{self.path} holds results with {what} {theirs}, not {ours}: give another --out")

    @property
    def rows(self) -> list[dict[str, Any]]:
        return self.content["rows"]

    def holds(self, **key: Any) -> bool:
        """Whether this row has been measured; a failed row has not, so it is measured again."""
        row = self.find(**key)
        return row is not None and "error" not in row

    def find(self, **key: Any) -> dict[str, Any] | None:
        return next((row for row in self.rows if all(row[name] == value for name, value in key.items())), None)

    def add(self, row: dict[str, Any]) -> None:
        """Add a row, in the place of an earlier one with the same keys."""
        same = self.find(**{name: row[name] for name in self.keys})
        if same is not None:
            self.rows.remove(same)
        if not any(session is self.session for session in self.content["sessions"]):
            self.content["sessions"].append(self.session)
        self.rows.append(row | {"session": len(self.content["sessions"]) - 1})

    def save(self) -> None:
        """Write both files, each completely or not at all."""
        write_text(self.path, json.dumps(self.content, indent=1, ensure_ascii=False) + "\n")
        write_text(self.path.with_suffix(".md"), page(self.content))


def page(content: Mapping[str, Any]) -> str:
    """Return the page: title, protocol, findings over all rows, sessions, and a table of the rows."""
    lines = [f"# {content['title']}", "", content["about"], ""]
    lines += [f"- {name}: {written(value)}" for name, value in {**content["protocol"], **content["found"]}.items()]
    lines += [f"- measured {_in_words(session)}" for session in content["sessions"]]
    return "\n".join([*lines, "", *table(content["columns"], content["rows"])]) + "\n"


def table(columns: Mapping[str, str], rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the lines of a Markdown table; ``columns`` maps keys to headings, and a missing value is a dash."""
    head = ["| " + " | ".join(columns.values()) + " |", "|" + "---|" * len(columns)]
    return head + ["| " + " | ".join(written(row.get(key)) for key in columns) + " |" for row in rows]


def written(value: Any) -> str:
    """Write a value for readers: numbers with four significant digits, lists and mappings as text."""
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
