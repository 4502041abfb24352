"""The command that makes the tables."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from pathlib import Path
from typing import Annotated

import typer

from ..errors import SignnapError, unknown_name
from .options import Device, Json
from .output import emit, say

#: What there is; the recipes themselves need torch (a test compares them).
TARGETS = ("authors", "table-datasets", "table-overall", "table-perturbations")


def reproduce(
    target: Annotated[str, typer.Argument(help="authors, table-datasets, table-overall or table-perturbations.")],
    results: Annotated[Path, typer.Option(help="Folder of result rows and tables.")] = Path("results"),
    methods: Annotated[str | None, typer.Option(metavar="A,B,...", help="Only these methods.")] = None,
    graphs: Annotated[str | None, typer.Option(metavar="A,B,...", help="Only these graphs.")] = None,
    jobs: Annotated[int, typer.Option(min=0, help="Processes that judge while the next cell trains.")] = 0,
    limit: Annotated[float, typer.Option(help="Begin no further cell after so many seconds.")] = inf,
    device: Device = "auto",
    as_json: Json = False,
) -> None:
    """Make a table of results; what is in the results folder already is not run again."""
    if target not in TARGETS:
        raise unknown_name("target", target, TARGETS)
    from ..experiments import targets
    from ..experiments.cells import Results
    from ..experiments.runner import run_cells
    from ..storage import write_text
    from ..train.progress import progress

    wanted = targets.TARGETS[target]
    cells = wanted.recipe()
    kinds = _named("method", methods, [cell.method for cell in cells])
    places = _named("graph", graphs, [cell.graph for cell in cells])
    chosen = [cell for cell in cells if cell.method in kinds and cell.graph in places]
    if cells and not chosen:
        raise SignnapError(f"the table has no cell with {' or '.join(sorted(kinds))} on {' or '.join(sorted(places))}")
    rows, page = Results(results / f"{target}.jsonl"), results / f"{target}.md"
    with progress(len(chosen), "cell") as report:
        missing = run_cells(chosen, rows, device=device, jobs=jobs, limit=limit, report=report)
    write_text(page, wanted.page(rows))
    advice = f"; {missing} of {len(chosen)} cells are missing: run the same command again" if missing else ""
    say(f"wrote {page}{advice}")
    emit({"target": target, "cells": len(chosen), "missing": missing, "table": str(page)}, as_json)


def _named(kind: str, given: str | None, known: Iterable[str]) -> set[str]:
    """The names that a list with commas gives; all of them where there is none."""
    known = set(known)
    chosen = known if given is None else set(given.split(","))
    for name in sorted(chosen - known):
        raise unknown_name(kind, name, known)
    return chosen
