"""Several runs, in folders that only one process writes to at a time."""

import os

import numpy as np
import pytest

from signnap import SIGNNAP
from signnap.errors import SignnapError
from signnap.methods import fit
from signnap.storage import alone
from signnap.train import run_folder
from signnap.train.run_folder import RunFolder

SMALL = {"dim": 8, "negatives": 16, "iterations": 6}
IN_USE = r" is being written by another process: expected to be alone there"


@pytest.fixture(autouse=True)
def locks():
    pytest.importorskip("fcntl")


class Killed(BaseException):
    """Not an Exception: nothing may catch it."""


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def in_use(folder):
    try:
        with alone(folder, wait=False):
            return False
    except SignnapError:
        return True


# -- one process at a time -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("resume", [False, True])
def test_a_second_process_is_refused_and_disturbs_nothing(resume, small_graph, tmp_path):
    whole = SIGNNAP(**SMALL).fit(small_graph, out=tmp_path / "whole")
    run, refused = tmp_path / "run", []

    def intrude(iteration, words=""):
        before = files(run)
        with pytest.raises(SignnapError, match=f"^{run}{IN_USE}"):
            SIGNNAP(**SMALL).fit(small_graph, out=run, resume=resume)
        with pytest.raises(SignnapError, match=f"^{run}{IN_USE}"):
            whole.save(run)
        assert files(run) == before
        refused.append(iteration)

    model = SIGNNAP(**SMALL).fit(small_graph, out=run, report=intrude, save_every=0)
    assert len(refused) == 6 and not in_use(run)
    assert np.array_equal(model.transform(small_graph), whole.transform(small_graph))
    assert files(run).keys() == files(tmp_path / "whole").keys()


def test_a_run_is_read_while_it_is_written(small_graph, tmp_path):
    read = []
    load = lambda iteration, words="": iteration > 1 and read.append(SIGNNAP.load(tmp_path).transform(small_graph))
    SIGNNAP(**SMALL).fit(small_graph, out=tmp_path, report=load, save_every=0)
    assert len(read) == 5


def test_folders_are_held_from_the_first_look_to_the_last_write(small_graph, tmp_path, monkeypatch):
    folders, held = [tmp_path / "seed-0", tmp_path / "seed-1"], []

    def watched(real):
        def act(*arguments, **options):
            held.append(all(map(in_use, folders)))
            return real(*arguments, **options)

        return act

    monkeypatch.setattr("signnap.methods.fit.check_resumable", watched(fit.check_resumable))
    monkeypatch.setattr("signnap.train.run_folder.remove_leftovers", watched(run_folder.remove_leftovers))
    monkeypatch.setattr(RunFolder, "_write_info", watched(RunFolder._write_info))
    SIGNNAP(**SMALL).fit_seeds(small_graph, [0, 1], out=tmp_path)
    assert len(held) == 2 * (1 + 6 + 3) and all(held)
    assert not any(map(in_use, folders))


def test_of_several_seeds_each_folder_is_held(small_graph, tmp_path):
    (tmp_path / "seed-1").mkdir()
    with alone(tmp_path / "seed-1"), pytest.raises(SignnapError, match=f"seed-1{IN_USE}"):
        SIGNNAP(**SMALL).fit_seeds(small_graph, [0, 1], out=tmp_path)
    assert os.listdir(tmp_path) == ["seed-1"] and os.listdir(tmp_path / "seed-1") == []


def test_a_failure_leaves_nobody_held_off(small_graph, tmp_path):
    with pytest.raises(SignnapError, match="holds no run to resume"):
        SIGNNAP(**SMALL).fit_seeds(small_graph, [0, 1], out=tmp_path / "new", resume=True)
    assert os.listdir(tmp_path) == []

    def kill(iteration, words=""):
        raise Killed

    with pytest.raises(Killed):
        SIGNNAP(**SMALL).fit(small_graph, out=tmp_path / "run", report=kill)
    assert not in_use(tmp_path / "run")


# -- several seeds, killed before all had begun ----------------------------------------------------------------------


@pytest.mark.parametrize("writes", [1, 2, 3, 4])
def test_seeds_that_had_not_begun_begin_with_the_others(writes, small_graph, tmp_path, monkeypatch):
    """A folder begins with two writes, its facts and its settings."""
    done, real = [], os.replace

    def replace(*paths):
        if len(done) == writes:
            raise Killed
        done.append(real(*paths))

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr("signnap.storage.os.replace", replace)
        SIGNNAP(**SMALL).fit_seeds(small_graph, [0, 1], out=tmp_path)
    began = RunFolder(tmp_path / "seed-0").exists()
    assert began == (writes >= 2) and RunFolder(tmp_path / "seed-1").exists() == (writes >= 4)
    models = SIGNNAP(**SMALL).fit_seeds(small_graph, [0, 1], out=tmp_path, resume=began)
    for seed, model in enumerate(models):
        single = SIGNNAP(**SMALL, seed=seed).fit(small_graph)
        assert np.array_equal(model.transform(small_graph), single.transform(small_graph))
        assert [record["iteration"] for record in RunFolder(tmp_path / f"seed-{seed}").read_metrics()] == [1, 6]


def test_a_seed_whose_folder_is_gone_begins_anew(small_graph, tmp_path):
    SIGNNAP(**SMALL).fit_seeds(small_graph, [0, 1], out=tmp_path)
    before = files(tmp_path / "seed-0")["state.pt"]
    for name in files(tmp_path / "seed-1"):
        (tmp_path / "seed-1" / name).unlink()
    (tmp_path / "seed-1").rmdir()
    with pytest.raises(SignnapError, match="seed-0 already holds a run"):
        SIGNNAP(**SMALL).fit_seeds(small_graph, [1, 0], out=tmp_path)
    SIGNNAP(**SMALL).fit_seeds(small_graph, [1, 0], out=tmp_path, resume=True)
    assert files(tmp_path / "seed-0")["state.pt"] == before
    assert RunFolder(tmp_path / "seed-1").read_info().facts["finished"]
