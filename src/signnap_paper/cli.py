"""The commands that this package adds to ``signnap``: reproduce, report and bench.

``pyproject.toml`` names them as entry points. Nothing here imports torch before a command needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from math import inf
from pathlib import Path
from typing import Annotated, Any

import typer

from signnap.cli.options import Device, Json, path
from signnap.cli.output import emit
from signnap.errors import SignnapError, unknown_name
from signnap.train.progress import tell

from . import cells as cell_rules
from .cells import Cell
from .results import Results
from .targets import HOMES, Target, find_target

# -- reproduce ---------------------------------------------------------------------------------------------------------


def reproduce(
    targets: Annotated[
        list[str], typer.Argument(metavar="TARGET...", help=f"{', '.join(HOMES)}, or all (but authors).")
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
    """Make tables and figures of results; completed cells are skipped."""
    for name in targets:
        if name not in (*HOMES, "all"):
            raise unknown_name("target", name, (*HOMES, "all"))
    everything = "all" in targets
    names = [name for name in HOMES if name in targets or (everything and name != "authors")]
    wanted = {name: find_target(name) for name in names}
    if any(each.figure for each in wanted.values()):
        from .plots import canvas

        canvas(1, 1)  # fails at once where figures cannot be drawn
    recipes = [each.recipe() for each in wanted.values()]
    chosen = _chosen(recipes, method=methods, backbone=backbones, graph=graphs)
    folder = results or Path("results-quick" if quick else "results")
    rows = Results(folder / "rows.jsonl", **({"rule": cell_rules.quickened} if quick else {}))
    counts = [seeds or (1 if quick else each.seeds) for each in wanted.values()]
    cells = [cell for recipe in chosen for cell in recipe]
    wanted_seeds = [count for recipe, count in zip(chosen, counts, strict=True) for _ in recipe]
    # all cells at once, so that targets share encoders
    failures, gained = _fill(cells, rows, wanted_seeds, device=device, jobs=jobs, limit=limit)
    made = []
    for (name, each), recipe, count in zip(wanted.items(), chosen, counts, strict=True):
        page = folder / f"{name}.md"
        _write(page, each, rows, count, cell_rules.BANNER if quick else "")
        made.append({"target": name, **_counts(recipe, rows, count), "page": str(page)})
        tell(_made_in_words(made[-1], bool(failures)))
    emit({"targets": made, "rows": str(rows.path)}, as_json)
    _report_failures(failures, gained)


def _fill(cells: list[Cell], rows: Results, seeds: list[int], *, device: str, **options: Any) -> tuple[list[str], int]:
    """Run what is missing; return why cells failed, and how many cells are no longer missing."""
    if not (before := len(rows.missing(cells, seeds))):
        from signnap.train.run_info import choose_device

        choose_device(device)  # a device that is not there is an error, even with nothing to run on it
        return [], 0
    from signnap.train.progress import progress

    from .runner import run_cells

    failures: dict[str, str] = {}  # one per cell, whichever of its seeds failed
    note = lambda cell, why: failures.update({cell.key: f"{cell}: {why}"})
    with progress(len(cells), "cell") as report:
        left = run_cells(cells, rows, seeds=seeds, device=device, report=report, failed=note, **options)
    return [*failures.values()], before - left


def _counts(recipe: list[Cell], rows: Results, seeds: int) -> dict[str, int]:
    """Count the different cells, and those of them that lack encoder seeds."""
    different = {rows.rule(cell).key for cell in recipe}
    return {"cells": len(different), "missing": len(rows.missing(recipe, seeds))}


def _made_in_words(made: dict[str, Any], failed: bool) -> str:
    """Say where a page is and what it lacks; running the command again helps only where no cell fails."""
    advice = "" if failed else ": run the same command again"
    lack = f"; {made['missing']} of {made['cells']} cells are missing{advice}" if made["missing"] else ""
    return f"wrote {made['page']}{lack}"


def _report_failures(failures: list[str], gained: int) -> None:
    """Say why cells failed; a command whose cells all failed has failed itself."""
    if not failures:
        return
    words = f"{len(failures)} {'cells' if len(failures) > 1 else 'cell'} failed, the first is {failures[0]}"
    if not gained:
        raise SignnapError(words)
    tell(f"note: {words}")


def _write(page: Path, target: Target, rows: Results, seeds: int, banner: str) -> None:
    """Write the page and, of a figure, the picture beside it."""
    from signnap.storage import write_text

    if target.figure is not None:
        from .plots import save

        save(target.figure(rows, seeds), page.with_suffix(""))
    write_text(page, banner + target.text(page.stem, rows, seeds))


def _chosen(recipes: list[list[Cell]], **given: str | None) -> list[list[Cell]]:
    """Return the cells of the methods, backbones and graphs that are named; all cells where nothing is named."""
    if all(names is None for names in given.values()):
        return recipes
    from signnap.data.public import DATASETS
    from signnap.registry import ENCODERS, METHODS

    value_of: dict[str, tuple[Callable[[Cell], str | None], Container[str]]] = {
        "method": (lambda cell: cell.method, METHODS),
        "backbone": (_backbone, ENCODERS),
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
    """Return the backbone of a cell, stated or not; some methods have none."""
    from signnap.methods.settings import resolve

    return getattr(resolve({"method": cell.method, **cell.settings}, dataset=cell.graph), "backbone", None)


def _named(kind: str, given: str | None, known: Iterable[str], elsewhere: Container[str]) -> set[str] | None:
    """Return the names in a list with commas, or None without a list. Names of other targets are no typos."""
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


# -- report ------------------------------------------------------------------------------------------------------------

#: The kinds of file that report can write.
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
    rows = Results(results / "rows.jsonl")
    states = ["error" not in row for row in rows]
    if not any(states):
        found = f"{len(states)} rows of cells that failed" if states else "no row in its rows.jsonl"
        raise SignnapError(f"{results} has {found}, and no result: expected a folder that reproduce wrote")
    if out.resolve() == rows.path.resolve():
        raise SignnapError(f"{out} holds the results themselves: expected another file")
    from signnap.storage import write_text

    from .report import html_page, json_lines

    write_text(out, html_page(rows) if suffix == ".html" else json_lines(rows))
    tell(f"wrote {out}")
    emit({"report": str(out), "rows": len(states)}, as_json)


# -- bench -------------------------------------------------------------------------------------------------------------

bench = typer.Typer(
    help="Measure speed and memory against slow twins that ship with the program.", no_args_is_help=True
)


@bench.command()
def speed(as_json: Json = False) -> None:
    """Ratios of time: a training step and a propagation against their obvious formulations."""
    from .benchmarks.bench import measure_speed

    result = measure_speed()
    rows = [
        (name, f"{ratio:.1f} ×", f"{times['ours']:.1f} ms", f"{times['twin']:.0f} ms", result["measured_on"][name])
        for (name, ratio), times in zip(result["ratios"].items(), result["milliseconds"].values(), strict=True)
    ]
    step_ms = result["milliseconds"]["step_vs_per_anchor"]["ours"]
    title = (
        f"{result['threads']} threads, torch {result['torch']}; times are noisy, ratios were measured side by side; "
        f"a step reaches {100 * result['matmul_fraction']:.0f} % of the rate of a large matrix product here "
        f"({result['step_operations'] / 1e9:.1f} GFLOP in {step_ms:.0f} ms)"
    )
    emit(result, as_json, (title, ("ratio", "faster", "ours", "twin", "measured on"), rows))


@bench.command()
def memory(as_json: Json = False) -> None:
    """Peak memory of a pubmed training step above the loaded graph."""
    from .benchmarks.bench import measure_memory

    result = measure_memory()
    rows = [(name, f"{value:,.0f} MB") for name, value in result.items() if name.endswith("_mb")]
    emit(result, as_json, ("Memory of one training step on pubmed", ("what", "memory"), rows))
