"""Options that several commands share, declared once.

A group of options is a dataclass with one field per option. A command takes the group as one parameter, and the
decorator ``grouped`` replaces that parameter by the options of the group.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from ..graph import Graph
    from ..methods.base import Method


class OptionGroup:
    """Base class of dataclasses whose fields are options."""


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Replace each parameter that is an option group by the options of the group, as Typer reads them."""
    parameters = inspect.signature(command, eval_str=True).parameters.values()
    kinds = {each.name: each.annotation for each in parameters if _is_group(each.annotation)}
    shown: list[inspect.Parameter] = []
    for each in parameters:
        kind = kinds.get(each.name)
        shown += [each] if kind is None else inspect.signature(kind, eval_str=True).parameters.values()

    @functools.wraps(command)
    def run(**options: Any) -> None:
        groups = {
            name: kind(**{field.name: options.pop(field.name) for field in fields(kind)})
            for name, kind in kinds.items()
        }
        command(**groups, **options)

    keywords = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in shown]
    run.__signature__ = inspect.Signature(keywords)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in shown}
    return run


def _is_group(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, OptionGroup)


def named(text: str) -> str:
    """Parse a name. An empty one, from a variable that a script did not set, would otherwise count as not given."""
    if not text.strip(", "):
        raise typer.BadParameter(f"{text!r} names nothing")
    return text


def path(text: str | Path) -> Path:
    """Parse a path. An empty one would mean the current folder. Typer parses defaults, which are paths, as well."""
    return Path(named(str(text)))


Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else there.")]
Device = Annotated[str, typer.Option("--device", help="auto, cpu or cuda.")]
RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")]


def _column(help: str, metavar: str = "TEXT") -> Any:
    """An option that names one or more columns."""
    return typer.Option(parser=named, metavar=metavar, help=help)


@dataclass(frozen=True)
class GraphSource(OptionGroup):
    """The graph that a command reads, and the columns of its tables."""

    graph: Annotated[
        str,
        typer.Argument(
            metavar="GRAPH",
            help="Name of a data set, 'synthetic', an .npz archive, or an edge list (csv, tsv, txt, parquet).",
        ),
    ]
    nodes: Annotated[
        Path | None,
        typer.Option(parser=path, metavar="PATH", help="Node table of an edge list: ids, features, labels."),
    ] = None
    endpoints: Annotated[str | None, _column("Columns of the edge list with its endpoints.", "SOURCE,TARGET")] = None
    id_column: Annotated[str | None, _column("Column of the node table with the ids.")] = None
    label_column: Annotated[str | None, _column("Column with the labels.")] = None
    feature_columns: Annotated[str | None, _column("Columns to use as features.", "A,B,...")] = None
    categorical_columns: Annotated[
        str | None, _column("Columns to read as categories, even if they contain numbers.", "A,B,...")
    ] = None
    split_column: Annotated[str | None, _column("Column with train, val or test, which the split 'public' reads.")] = (
        None
    )

    @property
    def dataset(self) -> str | None:
        """The data set by which presets choose settings, or None for a graph in the user's own files."""
        from ..data.public import DATASETS

        return self.graph if self.graph in DATASETS else None

    def load(self, trained_on: Sequence[str] = ()) -> Graph:
        """Load the graph, and show notes about repairs on stderr.

        ``trained_on`` are the feature names of a trained model: its columns are read as they were in training.
        """
        from ..data.load import load_graph
        from ..errors import SignnapError
        from .output import show_notes

        show_notes()
        ends = [None, None] if self.endpoints is None else _names(self.endpoints)
        if len(ends) != 2 or "" in ends:
            expected = "expected two column names with a comma between them"
            raise SignnapError(f"--endpoints is {self.endpoints!r}: {expected}")
        options: dict[str, Any] = {
            "nodes": self.nodes, "source_column": ends[0], "target_column": ends[1], "id_column": self.id_column,
            "label_column": self.label_column, "split_column": self.split_column,
            "feature_columns": self.feature_columns and _names(self.feature_columns),
            "categorical_columns": self.categorical_columns and _names(self.categorical_columns),
            "trained_on": (self.nodes and trained_on) or None,
        }  # fmt: skip
        return load_graph(self.graph, **{name: value for name, value in options.items() if value is not None})


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def open_run(folder: Path) -> Method:
    """Load the model of a run folder; a note says so if its training was not finished."""
    from ..methods import load_method
    from ..train.progress import tell
    from .output import show_notes

    show_notes()
    model = load_method(folder)
    if not model.info_.finished:
        tell(f"note: the training of {folder} is not finished: the model is the one that was saved last")
    return model
