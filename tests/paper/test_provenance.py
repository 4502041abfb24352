"""Facts stored with every result: date, machine, versions, command and revision."""

import json
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
import torch

from signnap import __version__
from signnap_paper.provenance import failure, provenance

CPU = torch.device("cpu")


def test_provenance_names_date_device_and_versions():
    facts = provenance(CPU)
    assert json.loads(json.dumps(facts)) == facts
    assert (facts["torch"], facts["signnap"], facts["cuda"]) == (str(torch.__version__), __version__, None)
    assert facts["python"] == ".".join(map(str, sys.version_info[:3]))
    assert facts["threads"] == torch.get_num_threads()
    assert facts["device"]
    when = datetime.fromisoformat(facts["date"])
    assert when.utcoffset() == timedelta(0)
    assert abs(datetime.now(timezone.utc) - when) < timedelta(minutes=1)


def test_the_device_is_the_one_that_worked(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "Fast One")
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    found = [provenance(device) for device in (None, torch.device("cuda"), CPU)]
    assert [facts["device"] == "Fast One" for facts in found] == [True, True, False]
    assert [facts["cuda"] for facts in found] == ["13.0", "13.0", None]


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (["/usr/bin/signnap", "train", "my graph.csv"], "signnap train 'my graph.csv'"),
        (["/lib/signnap/__main__.py", "demo"], "signnap demo"),
        (["/lib/pytest/__main__.py", "-q"], "python /lib/pytest/__main__.py -q"),
        (["/lib/signnap_paper/benchmarks/steps.py", "--all"], "python -m signnap_paper.benchmarks.steps --all"),
        (["steps.py"], "python steps.py"),
        (["-c"], "-c"),
    ],
)
def test_the_command_can_be_typed_again(arguments, command, monkeypatch):
    monkeypatch.setattr(sys, "argv", arguments)
    assert provenance(CPU)["command"] == command


def test_the_revision(monkeypatch):
    monkeypatch.delenv("REVISION", raising=False)
    calls = []

    def git(command, *, cwd, **options):
        calls.append((command[1], Path(cwd).name))
        return subprocess.CompletedProcess(command, 0, stdout="0123456789ab\n")

    monkeypatch.setattr(subprocess, "run", git)
    assert provenance(CPU)["revision"] == "0123456789ab-dirty"
    asked = ["ls-files", "describe", "status"]  # of these files, not of the folder that one works in
    assert calls == [(word, "signnap_paper") for word in asked]
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 128, stdout=""))
    assert provenance(CPU)["revision"] is None  # not a repository
    monkeypatch.setenv("REVISION", "copied")
    assert provenance(CPU)["revision"] == "copied"

    def absent(*_, **__):
        raise FileNotFoundError("git")

    monkeypatch.setattr(subprocess, "run", absent)
    assert provenance(CPU)["revision"] == "copied"
    monkeypatch.delenv("REVISION")
    assert provenance(CPU)["revision"] is None


def test_a_failure_is_one_line():
    assert failure(ValueError("dim is 3:\nexpected 4")) == {"error": "ValueError: dim is 3:"}
    assert failure(MemoryError()) == {"error": "MemoryError: "}


def test_the_revision_tells_of_changes_that_are_not_committed(monkeypatch, tmp_path):
    git = lambda *words: subprocess.run(["git", "-C", tmp_path, *words], check=True, capture_output=True)
    me = ("-c", "user.name=me", "-c", "user.email=me@here")
    monkeypatch.delenv("REVISION", raising=False)
    here, core = tmp_path / "signnap_paper" / "provenance.py", tmp_path / "signnap" / "train.py"
    here.parent.mkdir(parents=True)
    monkeypatch.setattr("signnap_paper.provenance.__file__", str(here))
    here.write_text("old")
    core.parent.mkdir()
    core.write_text("old")
    (tmp_path / "rows.jsonl").write_text("")
    for words in (["init"], ["add", "."], [*me, "commit", "-m", "first"], [*me, "tag", "-a", "v1", "-m", "a tag"]):
        git(*words)
    clean = provenance(CPU)["revision"]
    assert len(clean) == 12 and int(clean, 16)
    (tmp_path / "rows.jsonl").write_text("{}")  # what is written beside the program does not change it
    (tmp_path / "table.md").write_text("new")
    assert provenance(CPU)["revision"] == clean
    here.with_name("a_new_part.py").write_text("new")
    assert provenance(CPU)["revision"] == f"{clean}-dirty"
    here.with_name("a_new_part.py").unlink()
    core.write_text("new")
    assert provenance(CPU)["revision"] == f"{clean}-dirty"
    core.write_text("old")
    here.write_text("new")
    assert provenance(CPU)["revision"] == f"{clean}-dirty"
    inside = tmp_path / ".venv" / "provenance.py"  # installed in somebody's repository
    inside.parent.mkdir()
    inside.write_text("old")
    monkeypatch.setattr("signnap_paper.provenance.__file__", str(inside))
    assert provenance(CPU)["revision"] is None
