"""The command that makes one file of a folder of results: a page to read, or lines for other programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import SignnapError
from .options import Json, path
from .output import emit, say

if TYPE_CHECKING:
    from ..experiments.results import Results

#: The files that it can make.
SUFFIXES = (".html", ".jsonl")


def report(
    results: Annotated[Path, typer.Argument(parser=path, metavar="RESULTS", help="The folder that reproduce wrote.")],
    out: Annotated[
        Path,
        typer.Option(
            parser=path, metavar="FILE", help="FILE.html, a page with all figures, or FILE.jsonl, a line per accuracy."
        ),
    ],
    as_json: Json = False,
) -> None:
    """Make one file of all results: claims, tables and figures to read, or every accuracy for other programs."""
    suffix = out.suffix.lower()
    if suffix not in SUFFIXES:
        raise SignnapError(f"{out} ends in {out.suffix!r}: expected {' or '.join(SUFFIXES)}")
    from ..experiments.results import Results
    from ..storage import write_text

    rows = Results(results / "rows.jsonl")
    states = ["error" not in row for row in rows]
    if not any(states):
        found = f"{len(states)} rows of cells that failed" if states else "no row in its rows.jsonl"
        raise SignnapError(f"{results} has {found}, and no result: expected a folder that reproduce wrote")
    if out.resolve() == rows.path.resolve():
        raise SignnapError(f"{out} holds the results themselves: expected another file")
    write_text(out, _page(rows) if suffix == ".html" else _lines(rows))
    say(f"wrote {out}")
    emit({"report": str(out), "rows": len(states)}, as_json)


def _page(rows: Results) -> str:
    """The whole reproduction, of a quick try as such."""
    from tempfile import TemporaryDirectory

    from ..experiments import quick as trying
    from ..experiments.reproduction import WHOLE
    from ..experiments.results import Results
    from ..experiments.targets import TARGETS
    from ..report.canvas import save
    from ..report.html import document

    quick = any(row["cell"]["probe"] == trying.PROBE for row in rows)
    rows = Results(rows.path, trying.quickened) if quick else rows
    count = lambda target: 1 if quick else target.seeds
    pictures = {}
    with TemporaryDirectory() as folder:
        for name, target in TARGETS.items():
            if target.figure is not None:
                picture, *_ = save(target.figure(rows, count(target)), Path(folder) / name)
                pictures[picture.name] = picture.read_bytes()
    page = WHOLE.page(rows, count(WHOLE))
    return document("Reproduction", (trying.BANNER if quick else "") + page, pictures)


def _lines(rows: Results) -> str:
    from ..experiments.measurements import measurements

    return "".join(json.dumps(line, allow_nan=False) + "\n" for line in measurements(rows))
