"""Arguments that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from ..graph import Graph

GraphArgument = Annotated[
    str,
    typer.Argument(
        metavar="GRAPH", help="A data set's name, 'synthetic', an .npz, or an edge list (csv, tsv, parquet)."
    ),
]
Nodes = Annotated[Path | None, typer.Option("--nodes", help="Node table beside an edge list: ids, features, labels.")]
IdColumn = Annotated[str | None, typer.Option("--id-column", help="Column of the node table that holds the ids.")]
LabelColumn = Annotated[str | None, typer.Option("--label-column", help="Column that holds the labels.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else there.")]
Device = Annotated[str, typer.Option("--device", help="auto, cpu or cuda.")]


def open_graph(source: str, nodes: Path | None, id_column: str | None = None, label_column: str | None = None) -> Graph:
    """Load the graph that the arguments describe, telling what was repaired in it."""
    from ..data import load_graph
    from .output import show_notes

    show_notes()
    options: dict[str, Any] = {"nodes": nodes, "id_column": id_column, "label_column": label_column}
    return load_graph(source, **{name: value for name, value in options.items() if value is not None})
