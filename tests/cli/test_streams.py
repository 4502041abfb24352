"""A stderr that is closed, full or gone: the result is the same, and nothing else is where it should be."""

import errno
import io
import subprocess
import sys
from pathlib import Path

import pytest

GRAPH = ("edges.csv", "--nodes", "nodes.csv")


class Full(io.StringIO):
    """A file on a full disk."""

    def write(self, text):
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.fixture(params=["closed", "full"])
def deaf(request, folder, command, monkeypatch):
    """Run ``signnap …`` in a folder with a run, with nobody who listens to stderr."""

    def deaf(*arguments):
        with monkeypatch.context() as patch:  # not before the test begins, when pytest puts back a stderr of its own
            patch.setattr(sys, "stderr", None if request.param == "closed" else Full())
            result = command(*arguments)
            sys.stderr.close()  # the program opens one where there is none
        return result

    return deaf


COMMANDS = {
    "train": ("train", *GRAPH, "--out", "new", "--dim", 8, "--negatives", 16, "--iterations", 2),
    "evaluate": ("evaluate", "run", *GRAPH, "--split", "per-class:5:5", "--probe", "linear-quick", "--seeds", 1),
    "analyze": ("analyze", "run", *GRAPH, "--copies", 2),
    "embed": ("embed", "run", *GRAPH, "--out", "z.npy"),  # it tells what it wrote
}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_result_is_all_there_is(name, deaf):
    assert deaf(*COMMANDS[name], "--json").json
    assert Path({"train": "new/model.safetensors", "embed": "z.npy"}.get(name, "run")).exists()


def test_notes_are_lost(deaf):
    Path("edges.csv").write_text(Path("edges.csv").read_text() + "\nnode 01,node 01")  # a loop, which is noted
    assert deaf(*COMMANDS["embed"], "--json").json


def test_a_failure_is_an_exit_code(deaf):
    result = deaf("embed", "nowhere", *GRAPH, "--out", "z.npy", "--json")
    assert (result.code, result.out) == (1, "")


def test_nothing_else_is_opened_in_place_of_stderr():
    """Libraries write to file number 2 whatever it is: were it free, that would be the next file of a run."""
    code = """
import os, sys
from signnap.cli import program
program._run = lambda: print(os.path.samestat(os.fstat(2), os.stat(os.devnull)))
os.close(2)
sys.stderr = None
program.main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "True\n")
