"""The command that makes one file of a folder of results: a page to read, or lines for other programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import SignnapError
from .options import Json
from .output import emit, say

if TYPE_CHECKING:
    from ..experiments.cells import Results

#: The files that it can make.
SUFFIXES = (".html", ".jsonl")


def report(
    results: Annotated[Path, typer.Argument(metavar="RESULTS", help="The folder that reproduce wrote.")],
    out: Annotated[Path, typer.Option(help="FILE.html, a page with all figures, or FILE.jsonl, a line per accuracy.")],
    as_json: Json = False,
) -> None:
    """Make one file of all results: claims, tables and figures to read, or every accuracy for other programs."""
    if out.suffix not in SUFFIXES:
        raise SignnapError(f"{out} ends in {out.suffix!r}: expected {' or '.join(SUFFIXES)}")
    from ..experiments.cells import Results
    from ..storage import write_text

    rows = Results(results / "rows.jsonl")
    count = len(list(rows))
    if not count:
        raise SignnapError(f"{results} has no results: expected a folder that reproduce wrote, with rows.jsonl in it")
    if out.resolve() == rows.path.resolve():
        raise SignnapError(f"{out} holds the results themselves: expected another file")
    write_text(out, _page(rows) if out.suffix == ".html" else _lines(rows))
    say(f"wrote {out}")
    emit({"report": str(out), "rows": count}, as_json)


def _page(rows: Results) -> str:
    from tempfile import TemporaryDirectory

    from ..experiments.targets import TARGETS
    from ..report.canvas import save
    from ..report.html import document

    pictures = {}
    with TemporaryDirectory() as folder:
        for name, target in TARGETS.items():
            if target.figure is not None:
                picture, *_ = save(target.figure(rows, target.seeds), Path(folder) / name)
                pictures[picture.name] = picture.read_bytes()
    page = TARGETS["reproduction"]
    return document("Reproduction", page.page(rows, page.seeds), pictures)


def _lines(rows: Results) -> str:
    from ..experiments.measurements import measurements

    return "".join(json.dumps(line) + "\n" for line in measurements(rows))
