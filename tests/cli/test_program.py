"""The program as a whole: usage, exit codes, and streams that are closed, full or gone."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from rich.text import Text

from signnap import __version__
from signnap.cli.app import app

PROGRAM = f"{sys.executable} -m signnap"
GRAPH = ("edges.csv", "--nodes", "nodes.csv")


def test_usage(command):
    version = command("--version")
    assert (version.code, version.out) == (0, f"signnap {__version__}\n")
    usage = command("--help")
    assert usage.code == 0
    for name in ("demo", "datasets", "train", "embed", "evaluate", "analyze", "bench"):
        assert name in usage.out
        assert command(name, "--help").code == 0
    assert "--drop-edge" in command("train", "-h").out


def commands(parent):
    """A command and all those below it."""
    yield parent
    for child in getattr(parent, "commands", {}).values():
        yield from commands(child)


def test_help_is_shown_as_it_is_written():
    for each in commands(typer.main.get_command(app)):
        for words in [each.help or "", *(getattr(option, "help", None) or "" for option in each.params)]:
            assert Text.from_markup(words).plain == words


@pytest.mark.parametrize(
    "arguments",
    [
        ["trian"],
        ["train", "synthetic"],
        ["train", "--out", "run"],
        ["train", "synthetic", "--out", "run", "--dim", "wide"],
        ["train", "synthetic", "--out", "run", "--dims", "3"],
        ["evaluate", "run"],
        ["evaluate", "run", "synthetic", "--seeds", "0"],
        ["analyze", "run", "synthetic", "--copies", "1"],
        ["embed", "run", "synthetic"],
        ["bench", "sped"],
        ["demo", "--seed", "-1"],
        ["demo", "--out", ""],
        ["train", "nowhere.csv", "--out", ""],
        ["embed", "run", "synthetic", "--out", ""],
        ["reproduce", "nothing", "--results", ""],
        ["train", "edges.csv", "--out", "run", "--nodes", ""],
        ["train", "edges.csv", "--out", "run", "--endpoints", ","],
        ["train", "edges.csv", "--out", "run", "--id-column", ""],
        ["train", "edges.csv", "--out", "run", "--label-column", ""],
        ["train", "edges.csv", "--out", "run", "--feature-columns", ""],
    ],
)
def test_bad_usage_exits_with_2(arguments, command, tmp_path):
    result = command(*arguments)
    assert (result.code, result.out) == (2, "")
    assert "Usage: " in result.err and "Traceback" not in result.err
    assert os.listdir(tmp_path) == []


def test_not_enough_memory(files, command):
    result = command("train", *GRAPH, "--out", "run", "--dim", 10**12)
    assert result.code == 1
    assert result.err.splitlines()[-1] == "error: there is not enough memory for this graph and these settings"
    assert not Path("run").exists()


def test_a_bug_is_not_hidden(command, monkeypatch):
    monkeypatch.setattr("signnap.cli.info.emit", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        command("datasets")


def run_program(*arguments, **options):
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.run(arguments, env=environment, capture_output=True, text=True, timeout=60, **options)


def in_shell(script, folder):
    return run_program("bash", "-c", script, cwd=folder)


def test_the_module_and_the_script_are_the_same_program(tmp_path):
    module = run_program(sys.executable, "-m", "signnap", "datasets", "--json", cwd=tmp_path)
    script = run_program(Path(sys.executable).parent / "signnap", "datasets", "--json", cwd=tmp_path)
    assert (module.returncode, module.stderr) == (0, "")
    assert json.loads(module.stdout) == json.loads(script.stdout)
    failed = run_program(sys.executable, "-m", "signnap", "train", "pubmedd", "--out", "run", cwd=tmp_path)
    assert (failed.returncode, failed.stdout) == (1, "")
    assert failed.stderr.startswith("error: unknown dataset 'pubmedd', did you mean 'pubmed'?")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("buffering", ["", "1"])
@pytest.mark.parametrize("what", ["datasets --json", "datasets", "methods --json", "--help"])
def test_a_reader_that_leaves_early(what, buffering, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONUNBUFFERED", buffering)
    result = in_shell(f"{{ sleep 0.1; {PROGRAM} {what}; }} | true; exit ${{PIPESTATUS[0]}}", tmp_path)
    assert result.returncode in (0, 1)
    assert result.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no disk that is always full")
@pytest.mark.parametrize("buffering", ["", "1"])
def test_a_full_disk_for_the_result(buffering, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONUNBUFFERED", buffering)
    result = in_shell(f"{PROGRAM} datasets > /dev/full", tmp_path)
    assert result.returncode == 1
    assert result.stderr == "error: cannot write the result: No space left on device\n"


@pytest.mark.parametrize("what", ["datasets", "datasets --json"])
def test_nowhere_to_write_to(what, tmp_path):
    result = in_shell(f"{PROGRAM} {what} >&-", tmp_path)
    assert (result.returncode, result.stderr) == (0, "")


def test_a_terminal_that_knows_few_signs(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    result = in_shell(f"{PROGRAM} train n\u00f6where.csv --out run", tmp_path)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == "error: there is no file n?where.csv\n"


def test_ctrl_c_is_no_traceback(command, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("signnap.cli.info.emit", interrupt)
    result = command("datasets")
    assert (result.code, result.out, result.err) == (130, "", "")
    monkeypatch.setattr("signnap.cli.app.app", interrupt)  # before the first command is known
    assert command("datasets") == result


def test_sigterm_leaves_nothing_half_written(tmp_path):
    """What is written is written under another name first, and that goes when the program is told to."""
    code = """
import os, signal
from signnap.cli import program
from signnap.storage import replacing

def halfway():
    with replacing("whole") as part:
        part.write_text("half")
        os.kill(os.getpid(), signal.SIGTERM)

program._run = halfway
program.main()
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr, os.listdir(tmp_path)) == (143, "", [])
