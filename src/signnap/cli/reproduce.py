"""The command that makes the tables and figures."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import SignnapError, unknown_name
from .options import Device, Json
from .output import emit, say

if TYPE_CHECKING:
    from ..experiments.cells import Cell, Results
    from ..experiments.targets import Target

#: What there is; the recipes themselves need torch (a test compares them).
TARGETS = (
    "authors",
    "table-datasets",
    "table-overall",
    "table-fidelity",
    "table-tried",
    "figure-oversmoothing",
    "figure-overfitting",
    "figure-stability",
    "figure-tsne",
    "table-perturbations",
    "figure-hyperparameters",
    "figure-dimensions",
    "table-sharing",
    "table-grid",
    "reproduction",
)


def reproduce(
    targets: Annotated[
        list[str], typer.Argument(metavar="TARGET...", help=f"{', '.join(TARGETS)}, or all (but authors).")
    ],
    results: Annotated[Path | None, typer.Option(help="Folder of rows and pages [default: results].")] = None,
    methods: Annotated[str | None, typer.Option(metavar="A,B,...", help="Only these methods.")] = None,
    graphs: Annotated[str | None, typer.Option(metavar="A,B,...", help="Only these graphs.")] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Encoder seeds [default: the target's own].")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A try in minutes; its folder is results-quick.")] = False,
    jobs: Annotated[int, typer.Option(min=0, help="Processes that judge while the next cell trains.")] = 0,
    limit: Annotated[float, typer.Option(help="Begin no further cell after so many seconds.")] = inf,
    device: Device = "auto",
    as_json: Json = False,
) -> None:
    """Make tables and figures of results; what is in the results folder already is not run again."""
    for name in targets:
        if name not in (*TARGETS, "all"):
            raise unknown_name("target", name, (*TARGETS, "all"))
    from ..experiments import quick as trying
    from ..experiments.cells import Results
    from ..experiments.runner import run_cells
    from ..experiments.targets import TARGETS as KNOWN
    from ..report.canvas import canvas
    from ..train.progress import progress

    everything = "all" in targets
    wanted = {name: each for name, each in KNOWN.items() if name in targets or (everything and name != "authors")}
    if any(each.figure for each in wanted.values()):
        canvas(1, 1)  # says at once whether figures can be drawn here
    chosen = _chosen([each.recipe() for each in wanted.values()], methods, graphs)
    folder = results or Path("results-quick" if quick else "results")
    rows = Results(folder / "rows.jsonl", **({"rule": trying.quickened} if quick else {}))
    counts = [seeds or (1 if quick else each.seeds) for each in wanted.values()]
    cells = [cell for recipe in chosen for cell in recipe]
    wanted_seeds = [count for recipe, count in zip(chosen, counts, strict=True) for _ in recipe]
    with progress(len(cells), "cell") as report:  # one matrix, so that targets share encoders
        run_cells(cells, rows, seeds=wanted_seeds, device=device, jobs=jobs, limit=limit, report=report)
    made = []
    for (name, each), recipe, count in zip(wanted.items(), chosen, counts, strict=True):
        page, missing = folder / f"{name}.md", len(rows.missing(recipe, count))
        _write(page, each, rows, count, trying.BANNER if quick else "")
        advice = f"; {missing} of {len(recipe)} cells are missing: run the same command again" if missing else ""
        say(f"wrote {page}{advice}")
        made.append({"target": name, "cells": len(recipe), "missing": missing, "page": str(page)})
    emit({"targets": made, "rows": str(rows.path)}, as_json)


def _write(page: Path, target: Target, rows: Results, seeds: int, banner: str) -> None:
    """The page and, of a figure, the picture beside it."""
    from ..storage import write_text

    if target.figure is not None:
        from ..report.canvas import save

        save(target.figure(rows, seeds), page.with_suffix(""))
    write_text(page, banner + target.text(page.stem, rows, seeds))


def _chosen(recipes: list[list[Cell]], methods: str | None, graphs: str | None) -> list[list[Cell]]:
    """The cells of the methods and graphs that are named."""
    cells = [cell for recipe in recipes for cell in recipe]
    kinds = _named("method", methods, [cell.method for cell in cells])
    places = _named("graph", graphs, [cell.graph for cell in cells])
    chosen = [[cell for cell in recipe if cell.method in kinds and cell.graph in places] for recipe in recipes]
    if cells and not any(chosen):
        raise SignnapError(f"there is no cell with {' or '.join(sorted(kinds))} on {' or '.join(sorted(places))}")
    return chosen


def _named(kind: str, given: str | None, known: Iterable[str]) -> set[str]:
    """The names that a list with commas gives; all of them where there is none."""
    known = set(known)
    chosen = known if given is None else set(given.split(","))
    for name in sorted(chosen - known):
        raise unknown_name(kind, name, known)
    return chosen
