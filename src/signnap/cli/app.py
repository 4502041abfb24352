"""The commands. Each command parses its options, calls the library and prints the result.

Other packages add commands through the entry point group ``signnap.commands``. Each entry point names a function with
Typer annotations or a ``typer.Typer``. They are looked up only if this package does not have the command that the user
asks for, so that ``signnap train`` does not search the installed distributions.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_group

from .. import __version__
from ..errors import SignnapError
from .evaluate import analyze, embed, evaluate
from .info import datasets, demo, methods
from .train import train

#: The group of entry points that add commands.
ENTRY_POINTS = "signnap.commands"
#: The commands that ``signnap_paper`` adds. An installation without it tells how to install them.
_OF_PAPER = ("reproduce", "report", "bench")


class Commands(TyperGroup):
    """The commands of this package, and those of other packages as soon as one of them is needed."""

    def list_commands(self, ctx: Any) -> list[str]:
        self._add_those_of_other_packages()
        return super().list_commands(ctx)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.commands:
            self._add_those_of_other_packages()
        return super().get_command(ctx, cmd_name)

    def _add_those_of_other_packages(self) -> None:
        found = installed_commands()
        for name in dict.fromkeys([*_OF_PAPER, *sorted(found)]):
            if name in self.commands:
                continue
            try:
                added = _as_command(name, found[name].load())
            except (KeyError, ImportError) as error:
                reason = f" ({error})" if isinstance(error, ImportError) else ""
                added = _missing(name, reason)
            self.add_command(added, name)


def installed_commands() -> dict[str, Any]:
    """Find the entry points of all installed distributions, by the name of the command."""
    from importlib.metadata import entry_points  # a fifth of the time of ``signnap --version``

    return {entry.name: entry for entry in entry_points(group=ENTRY_POINTS)}


def _as_command(name: str, loaded: Any) -> Any:
    """Make a command from the object that an entry point names."""
    host = typer.Typer()
    if isinstance(loaded, typer.Typer):
        host.add_typer(loaded, name=name)
    else:
        host.command(name)(loaded)
    return get_group(host).commands[name]


def _missing(name: str, reason: str) -> Any:
    """Make a command that accepts any arguments and tells how to install the real one."""
    extra = "the extra paper" if name in _OF_PAPER else "another package"

    def missing() -> None:
        how = ": in a clone, pip install '.[paper]'" if name in _OF_PAPER else ""
        raise SignnapError(f"signnap {name} is part of {extra}, which is not installed{reason}{how}")

    host = typer.Typer()
    anything = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}
    host.command(name, help=f"Not installed: part of {extra}.", context_settings=anything)(missing)
    return get_group(host).commands[name]


app = typer.Typer(
    name="signnap",
    cls=Commands,
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


for command in (demo, datasets, methods, train, embed, evaluate, analyze):
    app.command()(command)
