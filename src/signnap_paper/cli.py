"""The commands that this package adds to ``signnap``: reproduce, report and bench."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from signnap.cli.options import Device, Json, path
from signnap.cli.output import emit, say
from signnap.errors import SignnapError, unknown_name

if TYPE_CHECKING:
    from .cells import Cell
    from .results import Results
    from .targets import Target

#: What there is; the recipes themselves need torch (a test compares them).
TARGETS = (
    "authors",
    "table-datasets",
    "table-overall",
    "table-fidelity",
    "table-seeds",
    "table-start",
    "table-tried",
    "table-letter",
    "table-rounding",
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
    results: Annotated[
        Path | None, typer.Option(parser=path, metavar="PATH", show_default="results", help="Folder of rows and pages.")
    ] = None,
    methods: Annotated[str | None, typer.Option(metavar="A,B,...", help="Only these methods.")] = None,
    backbones: Annotated[str | None, typer.Option(metavar="A,B,...", help="Only these backbones.")] = None,
    graphs: Annotated[str | None, typer.Option(metavar="A,B,...", help="Only these graphs.")] = None,
    seeds: Annotated[int | None, typer.Option(min=1, show_default="the target's own", help="Encoder seeds.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A try in minutes; its folder is results-quick.")] = False,
    jobs: Annotated[int, typer.Option(min=0, help="Processes that judge while the next cell trains.")] = 0,
    limit: Annotated[float, typer.Option(help="Begin no further training after so many seconds.")] = inf,
    device: Device = "auto",
    as_json: Json = False,
) -> None:
    """Make tables and figures of results; what is in the results folder already is not run again."""
    for name in targets:
        if name not in (*TARGETS, "all"):
            raise unknown_name("target", name, (*TARGETS, "all"))
    from . import quick as trying
    from .report.canvas import canvas
    from .reproduction import EVERYTHING
    from .results import Results

    everything = "all" in targets
    wanted = {name: each for name, each in EVERYTHING.items() if name in targets or (everything and name != "authors")}
    if any(each.figure for each in wanted.values()):
        canvas(1, 1)  # says at once whether figures can be drawn here
    recipes = [each.recipe() for each in wanted.values()]
    chosen = _chosen(recipes, method=methods, backbone=backbones, graph=graphs)
    folder = results or Path("results-quick" if quick else "results")
    rows = Results(folder / "rows.jsonl", **({"rule": trying.quickened} if quick else {}))
    counts = [seeds or (1 if quick else each.seeds) for each in wanted.values()]
    cells = [cell for recipe in chosen for cell in recipe]
    wanted_seeds = [count for recipe, count in zip(chosen, counts, strict=True) for _ in recipe]
    # one matrix, so that targets share encoders
    failures, gained = _fill(cells, rows, wanted_seeds, device=device, jobs=jobs, limit=limit)
    made = []
    for (name, each), recipe, count in zip(wanted.items(), chosen, counts, strict=True):
        page = folder / f"{name}.md"
        _write(page, each, rows, count, trying.BANNER if quick else "")
        made.append({"target": name, **_counts(recipe, rows, count), "page": str(page)})
        say(_told(made[-1], bool(failures)))
    emit({"targets": made, "rows": str(rows.path)}, as_json)
    _tell_failures(failures, gained)


def _fill(cells: list[Cell], rows: Results, seeds: list[int], **options: Any) -> tuple[list[str], int]:
    """Run what is missing; return why cells failed, and how many are no longer missing."""
    from signnap.train.progress import progress

    from .runner import run_cells

    failures: dict[str, str] = {}  # one of a cell, whichever of its seeds failed
    note = lambda cell, why: failures.update({cell.key: f"{cell}: {why}"})
    before = len(rows.missing(cells, seeds))
    with progress(len(cells), "cell") as report:
        left = run_cells(cells, rows, seeds=seeds, report=report, failed=note, **options)
    return [*failures.values()], before - left


def _counts(recipe: list[Cell], rows: Results, seeds: int) -> dict[str, int]:
    """How many different cells there are, and how many of them lack encoder seeds."""
    different = {rows.rule(cell).key for cell in recipe}
    return {"cells": len(different), "missing": len(rows.missing(recipe, seeds))}


def _told(made: dict[str, Any], failed: bool) -> str:
    """Where a page is and what it lacks; more of the same would not help where cells fail."""
    advice = "" if failed else ": run the same command again"
    lack = f"; {made['missing']} of {made['cells']} cells are missing{advice}" if made["missing"] else ""
    return f"wrote {made['page']}{lack}"


def _tell_failures(failures: list[str], gained: int) -> None:
    """Say why cells failed; a command that got nothing else done has failed itself."""
    if not failures:
        return
    words = f"{len(failures)} {'cells' if len(failures) > 1 else 'cell'} failed, the first is {failures[0]}"
    if not gained:
        raise SignnapError(words)
    say(f"note: {words}")


def _write(page: Path, target: Target, rows: Results, seeds: int, banner: str) -> None:
    """The page and, of a figure, the picture beside it."""
    from signnap.storage import write_text

    if target.figure is not None:
        from .report.canvas import save

        save(target.figure(rows, seeds), page.with_suffix(""))
    write_text(page, banner + target.text(page.stem, rows, seeds))


def _chosen(recipes: list[list[Cell]], **given: str | None) -> list[list[Cell]]:
    """The cells of the methods, backbones and graphs that are named."""
    from signnap.data.public import DATASETS
    from signnap.methods.settings import BACKBONES, METHODS

    value_of: dict[str, tuple[Callable[[Cell], str | None], Container[str]]] = {
        "method": (lambda cell: cell.method, METHODS),
        "backbone": (_backbone, BACKBONES),
        "graph": (lambda cell: cell.graph, DATASETS),
    }
    cells = [cell for recipe in recipes for cell in recipe]
    chosen = recipes
    for kind, (value, elsewhere) in value_of.items():
        names = _named(kind, given[kind], (each for cell in cells if (each := value(cell))), elsewhere)
        if names is not None:
            chosen = [[cell for cell in recipe if value(cell) in names] for recipe in chosen]
    if cells and not any(chosen):
        wanted = " and ".join(f"{kind} {' or '.join(names.split(','))}" for kind, names in given.items() if names)
        raise SignnapError(f"there is no cell with {wanted}")
    return chosen


def _backbone(cell: Cell) -> str | None:
    """The backbone of a cell, stated or not; some methods have none."""
    from signnap.methods.settings import resolve

    return getattr(resolve({"method": cell.method, **cell.settings}, dataset=cell.graph), "backbone", None)


def _named(kind: str, given: str | None, known: Iterable[str], elsewhere: Container[str]) -> set[str] | None:
    """The names that a list with commas gives, or None where there is none. Those of other targets are no typos."""
    if given is None:
        return None
    known, chosen = set(known), set(given.split(","))
    for name in sorted(chosen - known):
        if not known:
            raise SignnapError(f"there is no {kind} {name!r} to choose: the target has none")
        if name in elsewhere:
            raise SignnapError(f"the target has no row of the {kind} {name}: expected {', '.join(sorted(known))}")
        raise unknown_name(kind, name, known)
    return chosen


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
    from signnap.storage import write_text

    from .results import Results

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

    from . import quick as trying
    from .report.canvas import save
    from .report.html import document
    from .reproduction import WHOLE
    from .results import Results
    from .targets import TARGETS

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
    from .measurements import measurements

    return "".join(json.dumps(line, allow_nan=False) + "\n" for line in measurements(rows))


bench = typer.Typer(
    help="Measure speed and memory against slow twins that ship with the program.", no_args_is_help=True
)


@bench.command()
def speed(as_json: Json = False) -> None:
    """Ratios of time: a training step and a propagation against their obvious formulations."""
    from .benchmarks.speed import measure_speed

    result = measure_speed()
    rows = [
        (name, f"{ratio:.1f} ×", f"{times['ours']:.1f} ms", f"{times['twin']:.0f} ms", result["measured_on"][name])
        for (name, ratio), times in zip(result["ratios"].items(), result["milliseconds"].values(), strict=True)
    ]
    step_ms = result["milliseconds"]["step_vs_per_anchor"]["ours"]
    title = (
        f"{result['threads']} threads, torch {result['torch']}; times are noisy, ratios were measured side by side\n"
        f"a step reaches {100 * result['matmul_fraction']:.0f} % of the rate of a large matrix product here "
        f"({result['step_operations'] / 1e9:.1f} GFLOP in {step_ms:.0f} ms)"
    )
    emit(result, as_json, (title, ("ratio", "faster", "ours", "twin", "measured on"), rows))


@bench.command()
def memory(as_json: Json = False) -> None:
    """Peak memory of a pubmed training step above the loaded graph."""
    from .benchmarks.memory import measure_memory

    result = measure_memory()
    rows = [(name, f"{value:,.0f} MB") for name, value in result.items() if name.endswith("_mb")]
    emit(result, as_json, ("Memory of one training step on pubmed", ("what", "memory"), rows))
