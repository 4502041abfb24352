"""What a model and its folder are after a fit that failed, or was interrupted."""

import os
import signal

import numpy as np
import pytest

from signnap import SIGNNAP, DropEdge
from signnap.errors import SignnapError
from signnap.methods.arwmf import ARWMF
from signnap.train.health import Collapsed
from signnap.train.run_folder import RunFolder
from signnap.train.session import Interrupted

SMALL = {"dim": 8, "negatives": 16, "iterations": 6}


@pytest.fixture(autouse=True)
def python_s_own_handler():
    """A process that was started in the background ignores Ctrl-C; these tests are about one that does not."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def fails_at(iteration):
    """A perturbation for which there is no room in this iteration; each makes two views."""
    calls = iter(range(10**6))

    def perturb(view, generator):
        if next(calls) // 2 + 1 == iteration:
            out_of_memory()
        return DropEdge(0.3)(view, generator)

    return perturb


def out_of_memory(*arguments, **options):
    raise MemoryError("too large")


def interrupted(*arguments, **options):
    raise KeyboardInterrupt


# -- the model -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "error"),
    [({"lr": 1e30, "iterations": 50}, Collapsed), ({"perturbation": fails_at(3)}, MemoryError)],
)
def test_a_fit_that_fails_fits_nothing(settings, error, small_graph):
    model = SIGNNAP(**SMALL | settings)
    with pytest.raises(error):
        model.fit(small_graph)
    with pytest.raises(SignnapError, match="not fitted yet"):
        model.transform(small_graph)
    assert not hasattr(model, "settings_") and not hasattr(model, "info_")


def test_a_refit_that_fails_leaves_the_model(small_graph):
    model = SIGNNAP(**SMALL).fit(small_graph)
    z, before = model.transform(small_graph), dict(vars(model))
    with pytest.raises(Collapsed):
        model.set_params(lr=1e30, iterations=50).fit(small_graph)
    assert np.array_equal(model.transform(small_graph), z)
    assert all(getattr(model, name) is before[name] for name in ("settings_", "encoder_", "info_", "outcome_"))


def test_a_closed_form_that_fails_fits_nothing(small_graph, monkeypatch):
    model = ARWMF(dim=8)
    with monkeypatch.context() as patch:
        patch.setattr("signnap.methods.arwmf.embed", out_of_memory)
        with pytest.raises(MemoryError):
            model.fit(small_graph)
    with pytest.raises(SignnapError, match="not fitted yet"):
        model.transform(small_graph)
    model.fit(small_graph).transform(small_graph)


@pytest.mark.parametrize(("kept", "error"), [(True, Interrupted), (False, KeyboardInterrupt)])
def test_an_interrupted_fit_is_a_shorter_one(kept, error, small_graph, tmp_path):
    model = SIGNNAP(**SMALL).fit(small_graph)

    def strike(iteration, words=""):
        if iteration == 4:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(error):
        model.set_params(iterations=50).fit(small_graph, out=tmp_path / "run" if kept else None, report=strike)
    shorter = SIGNNAP(**SMALL | {"iterations": 4}).fit(small_graph)
    assert np.array_equal(model.transform(small_graph), shorter.transform(small_graph))
    assert not hasattr(model, "outcome_")  # that of the fit before
    assert model.settings_.iterations == 50 and not model.info_.finished


def test_interrupted_before_anything_was_learned(small_graph):
    model = SIGNNAP(**SMALL)

    with pytest.raises(KeyboardInterrupt):
        model.set_params(perturbation=interrupted).fit(small_graph)
    assert not hasattr(model, "encoder_")


# -- its folder ------------------------------------------------------------------------------------------------------


def test_a_run_that_never_began_leaves_its_folder_to_others(small_graph, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "notes.txt").write_text("mine")
    with pytest.raises(MemoryError):
        SIGNNAP(**SMALL, perturbation=fails_at(1)).fit(small_graph, out=tmp_path / "run")
    assert os.listdir(tmp_path / "run") == ["notes.txt"]
    with pytest.raises(MemoryError):
        SIGNNAP(**SMALL, perturbation=fails_at(1)).fit_seeds(small_graph, [1, 2], out=tmp_path / "runs")
    assert os.listdir(tmp_path) == ["run"]  # folders that it made are gone
    SIGNNAP(**SMALL | {"dim": 4}).fit(small_graph, out=tmp_path / "run")
    SIGNNAP(**SMALL | {"dim": 4}).fit_seeds(small_graph, [1, 2], out=tmp_path / "runs")


@pytest.mark.parametrize("iteration", [1, 2])
def test_a_run_that_is_interrupted_before_anything_is_saved_leaves_its_folder_to_others(
    iteration, small_graph, tmp_path, monkeypatch
):
    monkeypatch.setattr("test_fitting.out_of_memory", interrupted)
    with pytest.raises(KeyboardInterrupt):
        SIGNNAP(**SMALL, perturbation=fails_at(iteration)).fit(small_graph, out=tmp_path)
    assert os.listdir(tmp_path) == []
    with pytest.raises(KeyboardInterrupt):
        SIGNNAP(**SMALL, perturbation=fails_at(3)).fit(small_graph, out=tmp_path, save_every=0)
    assert RunFolder(tmp_path).can_continue()


def test_one_folder_that_cannot_be_written_takes_back_the_others(small_graph, tmp_path):
    (tmp_path / "seed-2").write_text("in the way")
    with pytest.raises(SignnapError, match=r"seed-2 is a file: expected a folder$"):
        SIGNNAP(**SMALL).fit_seeds(small_graph, [1, 2], out=tmp_path)
    assert os.listdir(tmp_path) == ["seed-2"] and (tmp_path / "seed-2").read_text() == "in the way"


def test_what_a_run_has_done_stays(small_graph, tmp_path):
    with pytest.raises(MemoryError):
        SIGNNAP(**SMALL, perturbation=fails_at(2)).fit(small_graph, out=tmp_path / "later")
    assert set(os.listdir(tmp_path / "later")) == {"config.toml", "run.json", "metrics.jsonl"}
    with pytest.raises(Collapsed):
        SIGNNAP(**SMALL | {"lr": 1e30, "iterations": 50}).fit(small_graph, out=tmp_path / "collapsed")
    assert set(os.listdir(tmp_path / "collapsed")) == {"config.toml", "run.json", "metrics.jsonl"}


def test_a_resumed_run_that_fails_at_once_stays(small_graph, tmp_path, monkeypatch):
    with pytest.raises(Collapsed):
        SIGNNAP(**SMALL | {"lr": 1e30, "iterations": 50}).fit(small_graph, out=tmp_path)
    monkeypatch.setattr("signnap.methods.fit.train", out_of_memory)
    with pytest.raises(MemoryError):
        SIGNNAP(**SMALL | {"lr": 1e30, "iterations": 50}).fit(small_graph, out=tmp_path, resume=True)
    assert RunFolder(tmp_path).exists()
