"""Arguments that several commands share."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from ..graph import Graph
    from ..methods.method import Method


def named(text: str) -> str:
    """A name; an empty one, of a variable that a script did not set, would be taken for none at all."""
    if not text.strip(", "):
        raise typer.BadParameter(f"{text!r} names nothing")
    return text


def path(text: str | Path) -> Path:
    """A path; an empty one would mean the present folder. Typer sends defaults, which are paths, through here too."""
    return Path(named(str(text)))


GraphArgument = Annotated[
    str,
    typer.Argument(
        metavar="GRAPH", help="A data set's name, 'synthetic', an .npz, or an edge list (csv, tsv, txt, parquet)."
    ),
]
Nodes = Annotated[
    Path | None,
    typer.Option("--nodes", parser=path, metavar="PATH", help="Node table beside an edge list: ids, features, labels."),
]
IdColumn = Annotated[
    str | None,
    typer.Option("--id-column", parser=named, metavar="TEXT", help="Column of the node table that holds the ids."),
]
Endpoints = Annotated[
    str | None,
    typer.Option("--endpoints", parser=named, metavar="SOURCE,TARGET", help="Columns of the edge list to read."),
]
FeatureColumns = Annotated[
    str | None,
    typer.Option("--feature-columns", parser=named, metavar="A,B,...", help="Columns to use as features."),
]
CategoricalColumns = Annotated[
    str | None,
    typer.Option(
        "--categorical-columns", parser=named, metavar="A,B,...", help="Features that are categories, even of numbers."
    ),
]
LabelColumn = Annotated[
    str | None, typer.Option("--label-column", parser=named, metavar="TEXT", help="Column that holds the labels.")
]
SplitColumn = Annotated[
    str | None,
    typer.Option("--split-column", parser=named, metavar="TEXT", help="Column of train, val or test: split public."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else there.")]
Device = Annotated[str, typer.Option("--device", help="auto, cpu or cuda.")]


def open_graph(
    source: str,
    nodes: Path | None,
    endpoints: str | None,
    id_column: str | None,
    label_column: str | None,
    feature_columns: str | None,
    categorical_columns: str | None,
    split_column: str | None,
    runs: Sequence[Path] = (),
) -> Graph:
    """Load the graph that the arguments describe, telling what was repaired in it.

    Its columns are read as they were for ``runs`` that were trained on them; files of embeddings among these say
    nothing of that.
    """
    from ..data.load import load_graph
    from ..errors import SignnapError
    from .output import show_notes

    show_notes()
    ends = [None, None] if endpoints is None else _names(endpoints)
    if len(ends) != 2 or "" in ends:
        raise SignnapError(f"--endpoints is {endpoints!r}: expected two column names with a comma between them")
    options: dict[str, Any] = {
        "nodes": nodes, "source_column": ends[0], "target_column": ends[1], "id_column": id_column,
        "label_column": label_column, "split_column": split_column,
        "feature_columns": feature_columns and _names(feature_columns),
        "categorical_columns": categorical_columns and _names(categorical_columns),
        "trained_on": nodes and _trained_on(runs),
    }  # fmt: skip
    return load_graph(source, **{name: value for name, value in options.items() if value is not None})


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def _trained_on(runs: Sequence[Path]) -> list[str] | None:
    """The features of the first that is a folder."""
    from ..train.run_folder import RunFolder

    for folder in [RunFolder(run) for run in runs if os.path.isdir(run)]:
        folder.expect()
        return [*folder.read_info().feature_names]
    return None


def open_run(folder: Path) -> Method:
    """Load a run, telling where it was not trained to its end."""
    from ..methods.registry import load_method
    from .output import say, show_notes

    show_notes()
    model = load_method(folder)
    if not model.facts_["finished"]:
        say(f"note: {folder} was not trained to its end: this is what it had learned when it was last saved")
    return model
