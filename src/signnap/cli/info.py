"""Commands that need no files: demo, datasets and methods."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import printable
from .options import Json, path
from .output import emit


def demo(
    out: Annotated[
        Path, typer.Option(parser=path, metavar="PATH", help="Folder for the files that the demo writes.")
    ] = Path("runs/demo"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of the graph and the model.")] = 0,
    as_json: Json = False,
) -> None:
    """Train on a generated graph, and measure accuracy and stability before and after edges are removed."""
    from ..train.progress import progress
    from .demo import ITERATIONS, run_demo

    with progress(ITERATIONS) as report:
        result = run_demo(out, seed, report=report)
    columns = ("method", "accuracy", "accuracy, 30 % of edges gone", "stability, 30 % of edges gone")
    rows = [
        (row["method"], f"{row['accuracy']:.1f} %", f"{row['accuracy_perturbed']:.1f} %", row["stability_text"])
        for row in result["rows"]
    ]
    emit(result, as_json, (result["title"], columns, rows))
    if not as_json:
        print(result["reading"])
        print("\n".join(f"{what:12s} {printable(where)}" for what, where in result["files"].items()))
        print(f"{result['seconds']:.0f} seconds")


def datasets(as_json: Json = False) -> None:
    """List the public graphs that can be loaded by name."""
    from ..data.public import DATASETS

    facts = [
        {
            "name": name, "nodes": d.nodes, "edges": d.edges, "features": d.features, "classes": d.classes,
            "setting": d.setting,
        }
        for name, d in DATASETS.items()
    ]  # fmt: skip
    columns = ("name", "nodes", "edges", "features", "classes", "setting")
    rows = [[f"{value:,}" if isinstance(value, int) else str(value) for value in fact.values()] for fact in facts]
    emit({"datasets": facts}, as_json, ("Public graphs (also: synthetic, generated)", columns, rows))


def methods(as_json: Json = False) -> None:
    """List the methods and their properties."""
    from ..methods import capabilities

    found = capabilities()
    yes = lambda value: "yes" if value else "no"
    declared = ("uses_labels", "reads_features", "inductive")
    rows = [(m["name"], *(yes(m[name]) for name in declared), m["memory"], m["time"], m["about"]) for m in found]
    columns = ("name", *(name.replace("_", " ") for name in declared), "memory", "time", "what it does")
    emit({"methods": found}, as_json, ("Methods", columns, rows))
