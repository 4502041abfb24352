"""The commands: thin shells that parse, call the library, and print."""

from __future__ import annotations

from typing import Annotated

import typer

from .. import __version__
from .bench import bench
from .judge import analyze, evaluate
from .look import datasets, demo, methods
from .report import report
from .reproduce import reproduce
from .work import embed, train

app = typer.Typer(
    name="signnap",
    help="Node embeddings that hold still when the graph is perturbed.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"signnap {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Node embeddings that hold still when the graph is perturbed."""


for command in (demo, datasets, methods, train, embed, evaluate, analyze, reproduce, report):
    app.command()(command)
app.add_typer(bench, name="bench")
