"""A run that is killed at any moment and resumed ends exactly where one that was never killed ends."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import nullcontext

import pytest

from signnap import SIGNNAP
from signnap.train.run_folder import RunFolder

FILES = {"config.toml", "metrics.jsonl", "model.safetensors", "state.pt", "run.json"}


def records(folder):
    return [{k: v for k, v in record.items() if k != "seconds"} for record in RunFolder(folder).read_metrics()]


@pytest.fixture(scope="module")
def expect_equal(same):
    """Compare two run folders in everything but the time they took."""

    def expect_equal(found, expected):
        assert same(RunFolder(found).load_state(), RunFolder(expected).load_state())
        assert records(found) == records(expected)
        one, other = SIGNNAP.load(found), SIGNNAP.load(expected)
        assert same(one.encoder_.state_dict(), other.encoder_.state_dict())
        assert (found / "config.toml").read_bytes() == (expected / "config.toml").read_bytes()
        ignored = ("seconds", "peak_memory_mb")
        assert one.info_.finished
        assert one.info_.facts | dict.fromkeys(ignored) == other.info_.facts | dict.fromkeys(ignored)

    return expect_equal


# -- at every write, one after the other -----------------------------------------------------------------------------


class Killed(BaseException):
    """Not an Exception: nothing may catch it."""


def train(graph, out):
    resume = RunFolder(out).exists()
    SIGNNAP(dim=8, negatives=16, iterations=52).fit(graph, out=out, resume=resume, save_every=0)


def kill_at(monkeypatch, number, after):
    """Die at one of the moments at which a file takes its name: just before or just after."""
    real, calls = os.replace, iter(range(10**9))

    def replace(*paths):
        now = next(calls) == number
        if now and not after:
            raise Killed
        real(*paths)
        if now:
            raise Killed

    monkeypatch.setattr("signnap.storage.os.replace", replace)


@pytest.mark.parametrize("after", [False, True])
def test_killed_at_any_write(after, small_graph, tmp_path, monkeypatch, expect_equal):
    train(small_graph, tmp_path / "whole")
    for number in (0, 1, 2, 3, 4, 21, 104, 105, 106):
        out = tmp_path / str(number)
        with monkeypatch.context() as patch:
            kill_at(patch, number, after)
            with pytest.raises(Killed):
                train(small_graph, out)
            kill_at(patch, 3, after)  # and once more while it resumes
            if number < 106:
                with pytest.raises(Killed):
                    train(small_graph, out)
        train(small_graph, out)
        expect_equal(out, tmp_path / "whole")
        assert set(os.listdir(out)) == FILES


def test_killed_while_writing_a_line_of_metrics(small_graph, tmp_path, monkeypatch, expect_equal):
    train(small_graph, tmp_path / "whole")
    out, real = tmp_path / "run", RunFolder.append_metrics

    def half_a_line_at(stop):
        def append(folder, record):
            if record["iteration"] != stop:
                return real(folder, record)
            with open(folder.metrics, "a") as log:
                log.write(json.dumps(record)[:40])
            raise Killed

        return append

    for stop in (1, 50, 52):
        with monkeypatch.context() as patch:
            patch.setattr(RunFolder, "append_metrics", half_a_line_at(stop))
            with pytest.raises(Killed):
                train(small_graph, out)
        for name in (
            ".state-0123456789abcdef.pt",
            ".model-0123456789abcdef.safetensors",
            ".trace-0123456789abcdef.json",
        ):
            (out / name).write_bytes(b"what a kill may leave behind")
    train(small_graph, out)
    expect_equal(out, tmp_path / "whole")
    assert set(os.listdir(out)) == FILES


@pytest.mark.parametrize("at", [1, 10, 50, 51])
def test_killed_when_patience_has_ended_and_nobody_has_looked(at, small_graph, tmp_path, expect_equal):
    """Patience is looked at when numbers are logged, here at iteration 50, and has ended long before."""

    def fit(out, **options):
        model = SIGNNAP(dim=8, negatives=16, iterations=120, patience=2)
        return model.fit(small_graph, out=tmp_path / out, save_every=0, **options)

    def kill(iteration, words=""):
        if iteration == at:
            raise Killed

    assert fit("whole").outcome_.iteration == 50
    with pytest.raises(Killed) if at <= 50 else nullcontext():
        fit("run", report=kill)
    state = RunFolder(tmp_path / "run").load_state() if at > 1 else {"iteration": 0}
    assert state["iteration"] == min(at, 50) - (at < 50)
    fit("run", resume=True)
    expect_equal(tmp_path / "run", tmp_path / "whole")


# -- real processes, real signals ------------------------------------------------------------------------------------

SETTINGS = ["--dim", "16", "--negatives", "32", "--iterations", "200"]
#: The command line saves every half minute; this saves all the time, so that a kill finds it writing.
BUSY = """
import sys
from signnap import SIGNNAP
SIGNNAP(dim=16, negatives=32, iterations=200).fit("synthetic", out=sys.argv[1], resume=len(sys.argv) > 2, save_every=0)
"""


def process(*arguments):
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, *map(str, arguments)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(running, happened):
    limit = time.monotonic() + 60
    while not happened():
        assert running.poll() is None and time.monotonic() < limit, running.communicate()
        time.sleep(0.002)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run from the command line that nobody disturbed."""
    out = tmp_path_factory.mktemp("whole") / "run"
    running = process("-m", "signnap", "train", "synthetic", "--out", out, *SETTINGS)
    _, err = running.communicate(timeout=120)
    assert running.returncode == 0, err
    return out


def test_sigkill_at_random_moments(tmp_path, whole, expect_equal):
    out, rng = tmp_path / "run", random.Random(0)
    writing = lambda: out.exists() and any(name.startswith((".state-", ".model-")) for name in os.listdir(out))
    for kill in range(4):
        running = process("-c", BUSY, out, *(["resume"] if RunFolder(out).exists() else []))
        wait_for(running, writing)  # the first kill interrupts the first checkpoint
        time.sleep(rng.uniform(0, 0.1) if kill else 0)
        running.send_signal(signal.SIGKILL)
        running.communicate()
        assert running.returncode == -signal.SIGKILL
    for file in out.glob(".*"):
        assert file.name.startswith((".state-", ".model-", ".run-", ".config-", ".metrics-"))
    assert not RunFolder(out).state.exists() or RunFolder(out).load_state()["iteration"] < 200
    running = process("-c", BUSY, out, "resume")
    _, err = running.communicate(timeout=120)
    assert running.returncode == 0, err
    expect_equal(out, whole)
    assert set(os.listdir(out)) == FILES


def test_sigint_from_the_keyboard(tmp_path, whole, expect_equal):
    out = tmp_path / "run"
    command = ["-m", "signnap", "train", "synthetic", "--out", out, *SETTINGS, "--json"]
    running = process(*command)
    wait_for(running, lambda: len(records(out)) > 1)
    running.send_signal(signal.SIGINT)
    stdout, stderr = running.communicate(timeout=60)
    assert running.returncode == 1
    assert stdout == ""
    (sentence,) = [line for line in stderr.splitlines() if not line.startswith(("note: ", "iteration "))]
    assert "note: stopping after this iteration; a second Ctrl-C stops at once and loses what is not saved" in stderr
    assert sentence.startswith("error: stopped at iteration ") and sentence.endswith(
        ": continue with --resume (resume=True)"
    )
    assert str(out) in sentence
    running = process(*command, "--resume")
    stdout, stderr = running.communicate(timeout=120)
    assert running.returncode == 0, stderr
    assert json.loads(stdout)["iterations"] == 200
    expect_equal(out, whole)
