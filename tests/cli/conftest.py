"""The program run in this process, and a graph in files as users have them."""

import json
import logging
import os
import shutil
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from signnap.cli import main


@dataclass(frozen=True)
class Result:
    """How one command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        """The one JSON object on stdout, strictly read."""
        assert self.code == 0, self.err
        assert self.out.count("\n") == 1 and self.out.endswith("\n")

        def refuse(constant):
            raise AssertionError(f"{constant} is not JSON")

        return json.loads(self.out, parse_constant=refuse)


def _shown(warning):
    """Whether a user would see this warning: Python hides those for developers, we hide one of torch's."""
    hidden = issubclass(warning.category, (DeprecationWarning, PendingDeprecationWarning, ImportWarning))
    return not hidden and "Sparse" not in str(warning.message)


@pytest.fixture
def command(monkeypatch, capsys, tmp_path):
    """Run ``signnap …`` in an empty working folder."""
    monkeypatch.chdir(tmp_path)
    logger = logging.getLogger("signnap")

    def command(*arguments):
        monkeypatch.setattr(sys, "argv", ["signnap", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end, warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            main()
        assert not [str(warning.message) for warning in warned if _shown(warning)]
        for handler in [*logger.handlers]:  # it writes to the stderr of this call
            logger.removeHandler(handler)
        return Result(int(end.value.code or 0), *capsys.readouterr())

    level = logger.level
    yield command
    logger.setLevel(level)


@pytest.fixture
def files(command):
    """Sixty nodes named by text, shuffled, one without edges: edges.csv, and nodes.csv with features and teams."""
    rng = np.random.default_rng(0)
    ids = [f"node {i:02d}" for i in rng.permutation(60)]
    team = np.arange(60) % 3
    color = ("red", "green", "blue")
    lines = [
        f"{name},{team[i] + rng.random():.3f},{rng.random():.3f},{i % 5},{color[team[i]]}" for i, name in enumerate(ids)
    ]
    Path("nodes.csv").write_text("id,size,age,rank,label\n" + "\n".join(lines))
    ends = rng.integers(0, 59, (400, 2))
    Path("edges.csv").write_text(
        "source,target\n" + "\n".join(f"{ids[a]},{ids[b]}" for a, b in ends if team[a] == team[b] or a % 5 == 0)
    )
    return ids


@pytest.fixture
def trained(files, command):
    """A small run on that graph in the folder ``run``."""
    assert command("train", "edges.csv", "--nodes", "nodes.csv", "--out", "run", *SMALL).code == 0
    return files


SMALL = ("--dim", 8, "--negatives", 16, "--iterations", 5)


# -- what goes wrong -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def prepared(tmp_path_factory):
    return tmp_path_factory.mktemp("prepared")


@pytest.fixture
def folder(request, prepared, command, tmp_path, monkeypatch):
    """The graph's files and a finished run on them, made once and copied."""
    if os.listdir(prepared):
        shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    else:
        request.getfixturevalue("trained")
        shutil.copytree(tmp_path, prepared, dirs_exist_ok=True)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    return tmp_path


@pytest.fixture
def fails(command, folder):
    """Expect a command to end with code 1 and one sentence, and every file to be as it was; return the sentence."""

    def contents():
        return {path.relative_to(folder): path.is_file() and path.read_bytes() for path in folder.rglob("*")}

    def fails(*arguments, but=()):
        before = contents()
        result = command(*arguments)
        assert (result.code, result.out) == (1, ""), result
        assert "Traceback" not in result.err
        told = [line for line in result.err.splitlines() if not line.startswith(("note: ", "iteration "))]
        assert len(told) == 1 and told[0].startswith("error: "), result.err
        after = contents()
        assert after.keys() == before.keys()
        assert [str(path) for path in after if after[path] != before[path] and str(path) not in but] == []
        return told[0].removeprefix("error: ")

    return fails
