"""The command that makes the tables."""

from __future__ import annotations

from math import inf
from pathlib import Path
from typing import Annotated

import typer

from .options import Device, Json
from .output import emit, say


def reproduce(
    target: Annotated[str, typer.Argument(help="authors: every method beside what was reported for it.")],
    results: Annotated[Path, typer.Option(help="Folder of result rows and tables.")] = Path("results"),
    methods: Annotated[str | None, typer.Option(metavar="A,B,...", help="Only these methods.")] = None,
    graphs: Annotated[str | None, typer.Option(metavar="A,B,...", help="Only these graphs.")] = None,
    jobs: Annotated[int, typer.Option(min=0, help="Processes that judge while the next cell trains.")] = 0,
    limit: Annotated[float, typer.Option(help="Begin no further cell after so many seconds.")] = inf,
    device: Device = "auto",
    as_json: Json = False,
) -> None:
    """Make a table of results; what is in the results folder already is not run again."""
    from ..errors import unknown_name
    from ..storage import write_text

    if target not in _TARGETS:
        raise unknown_name("target", target, _TARGETS)
    from ..experiments import authors
    from ..experiments.cells import Results
    from ..experiments.runner import run_cells
    from ..train.progress import progress

    rows, page = Results(results / f"{target}.jsonl"), results / f"{target}.md"
    chosen = [
        cell
        for cell in authors.recipe()
        if (methods is None or cell.method in methods.split(","))
        and (graphs is None or cell.graph in graphs.split(","))
    ]
    with progress(len(chosen)) as report:
        missing = run_cells(chosen, rows, device=device, jobs=jobs, limit=limit, report=report)
    write_text(page, authors.table(rows))
    say(f"wrote {page}" + (f"; {missing} cells are missing: run the same command again" if missing else ""))
    emit({"target": target, "cells": len(chosen), "missing": missing, "table": str(page)}, as_json)


_TARGETS = ("authors",)
