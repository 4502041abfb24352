"""Commands that other packages add by entry points, and what is said where such a package is not installed."""

import sys
from importlib import metadata
from importlib.metadata import EntryPoint

import pytest
import typer

from signnap.cli import app


def hello(name: str) -> None:
    """Greet somebody."""
    print(f"hello {name}")


several = typer.Typer(help="Two commands.")
several.command("hello")(hello)
several.command("again")(hello)


@pytest.fixture
def added(monkeypatch):
    """Install entry points: a name and what it refers to, for each."""

    def install(**values):
        points = [EntryPoint(name, value, "signnap.commands") for name, value in values.items()]
        monkeypatch.setattr(metadata, "entry_points", lambda group: points if group == "signnap.commands" else [])
        fresh = typer.Typer(cls=app.Commands, add_completion=False, pretty_exceptions_enable=False)
        fresh.callback()(app.options)
        fresh.command()(app.datasets)
        monkeypatch.setattr(app, "app", fresh)

    return install


def test_a_function_and_a_group_become_commands(added, command):
    added(hello=f"{__name__}:hello", several=f"{__name__}:several")
    assert command("hello", "you").out == "hello you\n"
    assert command("several", "again", "you").out == "hello you\n"
    listed = command("--help").out
    assert all(words in listed for words in ("datasets", "Greet somebody", "Two commands"))


def test_a_misspelt_one_is_recognised(added, command):
    added(hello=f"{__name__}:hello")
    result = command("helo")
    assert (result.code, result.out) == (2, "")
    assert "Did you mean 'hello'?" in result.err


@pytest.mark.parametrize("name", ["reproduce", "report", "bench"])
@pytest.mark.parametrize("points", [{}, {"reproduce": "no_such:a", "report": "no_such:b", "bench": "no_such:c"}])
def test_without_the_reproduction_one_sentence_says_how_to_get_it(name, points, added, command):
    added(**points)
    result = command(name, "results", "--out", "x", "-h")
    why = " (No module named 'no_such')" if points else ""
    sentence = f"signnap {name} is part of the extra paper, which is not installed{why}: in a clone, pip install"
    assert (result.code, result.out) == (1, "")
    assert result.err == f"error: {sentence} '.[paper]'\n"
    assert "Not installed: part of the extra paper" in command("--help").out


def test_a_broken_command_of_others_costs_only_itself(added, command):
    added(hello=f"{__name__}:hello", broken="no_such:command")
    assert command("hello", "you").code == 0
    assert "broken is part of another package, which is not installed (No module" in command("broken").err


def test_a_command_of_the_core_looks_for_no_others(monkeypatch, command):
    def refuse():
        raise AssertionError("the core has this command")

    monkeypatch.setattr(app, "installed_commands", refuse)
    assert command("datasets", "--json").json["datasets"]


@pytest.mark.parametrize("name", ["reproduce", "report", "bench"])
def test_the_commands_of_the_reproduction_are_found(name, command):
    assert command(name, "--help").code == 0
    assert "signnap_paper.cli" in sys.modules
