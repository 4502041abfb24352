"""Models that are kept: saved and loaded, resumed and extended."""

import json
import os
import re
from contextlib import nullcontext, suppress
from dataclasses import replace

import numpy as np
import pytest
import torch

from full_disk import full_disk
from signnap import SIGNNAP
from signnap.errors import SignnapError
from signnap.registry import ENCODERS
from signnap.train import run_folder
from signnap.train.run_folder import RunFolder

SMALL = {"dim": 8, "negatives": 16, "temperature": 0.5}


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("backbone", ENCODERS)
def test_save_and_load(backbone, small_graph, tmp_path):
    model = SIGNNAP(backbone, **SMALL, iterations=3).fit(small_graph)
    model.save(tmp_path / "model")
    assert set(files(tmp_path / "model")) == {"config.toml", "run.json", "model.safetensors"}
    again = SIGNNAP.load(tmp_path / "model")
    assert np.array_equal(again.transform(small_graph), model.transform(small_graph))
    assert again.settings_ == model.settings_
    assert again.info_ == model.info_
    assert again.get_params()["dim"] == 8
    assert np.array_equal(again.fit_transform(small_graph), model.transform(small_graph))  # the settings are complete


def test_a_run_folder_is_a_saved_model(small_graph, tmp_path):
    model = SIGNNAP(**SMALL, iterations=3).fit(small_graph, out=tmp_path / "run")
    assert np.array_equal(SIGNNAP.load(tmp_path / "run").transform(small_graph), model.transform(small_graph))
    with pytest.raises(SignnapError, match="the model was trained on 12 features, but small has 3"):
        SIGNNAP.load(tmp_path / "run").transform(replace(small_graph, x=torch.ones(40, 3)))


def test_keeping_a_run_does_not_change_it(small_graph, tmp_path):
    kept = SIGNNAP(**SMALL, iterations=5).fit(small_graph, out=tmp_path / "run", save_every=0)
    alone = SIGNNAP(**SMALL, iterations=5).fit(small_graph)
    assert np.array_equal(kept.transform(small_graph), alone.transform(small_graph))


class Killed(BaseException):
    """Not an Exception: nothing may catch it."""


def kill_at(monkeypatch, number):
    """Die just before a file takes its name, or is removed; return how many of these there were so far."""
    moments = []

    def mortal(real):
        def act(*arguments, **options):
            if len(moments) == number:
                raise Killed
            moments.append(arguments)
            return real(*arguments, **options)

        return act

    monkeypatch.setattr("signnap.storage.os.replace", mortal(os.replace))
    monkeypatch.setattr("signnap.train.run_folder._remove", mortal(run_folder._remove))
    return moments


def save_over(small_graph, folder, monkeypatch, number=None):
    """Save another model over the folder of a run, maybe killed in between."""
    SIGNNAP(**SMALL, iterations=3).fit(small_graph, out=folder)
    (folder / "trace.json").write_text("{}")
    (folder / "notes.txt").write_text("mine")
    other = SIGNNAP(**SMALL, iterations=5, seed=1).fit(small_graph)
    with monkeypatch.context() as patch, nullcontext() if number is None else suppress(Killed):
        moments = kill_at(patch, number)
        other.save(folder)
    return other, len(moments)


def test_a_model_saved_over_a_run_is_no_run(small_graph, tmp_path, monkeypatch):
    other, _ = save_over(small_graph, tmp_path, monkeypatch)
    assert set(files(tmp_path)) == {"config.toml", "run.json", "model.safetensors", "notes.txt"}
    assert np.array_equal(SIGNNAP.load(tmp_path).transform(small_graph), other.transform(small_graph))
    with pytest.raises(SignnapError, match="holds a model without its training state: cannot resume"):
        SIGNNAP(**SMALL, iterations=9, seed=1).fit(small_graph, out=tmp_path, resume=True)


def test_a_save_over_a_run_may_be_killed_at_any_moment(small_graph, tmp_path, monkeypatch):
    """Whoever resumes what is left gets the run of the settings that were asked for, or a sentence."""
    _, moments = save_over(small_graph, tmp_path / "whole", monkeypatch)
    whole = {seed: SIGNNAP(**SMALL, iterations=7, seed=seed).fit_transform(small_graph) for seed in (0, 1)}
    resumed = 0
    for number in range(moments):
        for seed in (0, 1):
            out = tmp_path / f"{number}-{seed}"
            save_over(small_graph, out, monkeypatch, number)
            with suppress(SignnapError):
                model = SIGNNAP(**SMALL, iterations=7, seed=seed).fit(small_graph, out=out, resume=True)
                assert np.array_equal(model.transform(small_graph), whole[seed])
                resumed += 1
    assert moments == 7 and resumed == 3  # the old run, until its weights were replaced and its state was removed


def test_no_room_for_a_model_leaves_the_run(small_graph, tmp_path):
    SIGNNAP(**SMALL, iterations=3).fit(small_graph, out=tmp_path)
    before = files(tmp_path)
    with full_disk(100), pytest.raises(SignnapError, match=r"^cannot write .*model\.safetensors"):
        SIGNNAP(**SMALL, iterations=3, seed=1).untrained(small_graph).save(tmp_path)
    assert files(tmp_path) == before


def test_saved_settings_that_make_no_sense(small_graph, tmp_path):
    SIGNNAP(**SMALL, iterations=1).fit(small_graph, out=tmp_path)
    config = tmp_path / "config.toml"
    text = config.read_text()
    for change, sentence in (
        (text + "depth = 3\n", f"{config}: unknown setting 'depth'"),
        (text.replace("dim = 8", 'dim = "8"'), f"{config}: dim is '8': expected a whole number"),
        ("dim = ", f"{config} is not a TOML file"),
        (text.replace("dim = 8", "dim = 16"), f"{tmp_path / 'model.safetensors'} holds the weights of another encoder"),
    ):
        config.write_text(change)
        with pytest.raises(SignnapError) as caught:
            SIGNNAP.load(tmp_path)
        assert str(caught.value).startswith(sentence)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("counts", "line"),
    [
        ({"num_features": 10**9}, "dim = 8"),
        ({"num_features": 10**30}, "dim = 8"),
        ({}, "dim = 1000000000"),
        ({}, "dim = 9000000000000000000"),
        ({}, "dim = 8\nlayers = 1000000000"),
    ],
)
def test_sizes_that_the_weights_do_not_have_are_never_allocated(counts, line, small_graph, tmp_path, monkeypatch):
    SIGNNAP(**SMALL, iterations=1).fit(small_graph, out=tmp_path)
    folder = RunFolder(tmp_path)
    folder.write_facts(folder.read_info().facts | counts)
    settings = folder.config.read_text().replace("layers = 2\n", "" if "layers" in line else "layers = 2\n")
    folder.config.write_text(settings.replace("dim = 8", line))
    monkeypatch.setattr(RunFolder, "load_into", out_of_memory)
    with pytest.raises(SignnapError, match=r"model\.safetensors holds the weights of another encoder") as caught:
        SIGNNAP.load(tmp_path)
    assert "\n" not in str(caught.value)


def out_of_memory(*arguments):
    raise MemoryError


# -- resuming --------------------------------------------------------------------------------------------------------


def test_resuming_a_finished_run_changes_nothing(small_graph, tmp_path):
    first = SIGNNAP(**SMALL, iterations=5).fit(small_graph, out=tmp_path)
    before = files(tmp_path)
    again = SIGNNAP(**SMALL, iterations=5).fit(small_graph, out=tmp_path, resume=True)
    after = files(tmp_path)
    assert np.array_equal(again.transform(small_graph), first.transform(small_graph))
    assert again.outcome_.iteration == 5
    assert {k: v for k, v in after.items() if k != "run.json"} == {k: v for k, v in before.items() if k != "run.json"}
    old, new = json.loads(before["run.json"]), json.loads(after["run.json"])
    assert new["loss"] == old["loss"] and new["finished"] and new["seconds"] > 0
    assert new.keys() == old.keys()


@pytest.mark.parametrize("backbone", ENCODERS)
def test_more_iterations_extend_a_run(backbone, small_graph, tmp_path):
    SIGNNAP(backbone, **SMALL, iterations=50).fit(small_graph, out=tmp_path / "run")
    longer = SIGNNAP(backbone, **SMALL, iterations=57).fit(small_graph, out=tmp_path / "run", resume=True)
    whole = SIGNNAP(backbone, **SMALL, iterations=57).fit(small_graph, out=tmp_path / "whole")
    assert np.array_equal(longer.transform(small_graph), whole.transform(small_graph))
    assert "iterations = 57\n" in (tmp_path / "run" / "config.toml").read_text()
    run, whole = (
        [{**record, "seconds": 0} for record in RunFolder(tmp_path / name).read_metrics()] for name in ("run", "whole")
    )
    assert run == whole


def test_a_new_run_has_no_past(small_graph, tmp_path, monkeypatch):
    """Files of a run whose settings are gone are not those of the next one, even if that is killed at once."""
    new = {**SMALL, "iterations": 9, "seed": 1}
    whole = SIGNNAP(**new).fit(small_graph, out=tmp_path / "whole")
    old = tmp_path / "run"
    SIGNNAP(**SMALL, iterations=3).fit(small_graph, out=old)
    (old / "config.toml").unlink()
    (old / "trace.json").write_text("{}")
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr("signnap.methods.fit.train", raise_killed)
        SIGNNAP(**new).fit(small_graph, out=old)
    assert set(files(old)) == {"config.toml", "run.json"}
    resumed = SIGNNAP(**new).fit(small_graph, out=old, resume=True)
    assert np.array_equal(resumed.transform(small_graph), whole.transform(small_graph))
    assert [record["iteration"] for record in RunFolder(old).read_metrics()] == [1, 9]


def raise_killed(*arguments, **options):
    raise Killed


def test_metrics_of_somebody_else_are_neither_lost_nor_mixed_with_ours(small_graph, tmp_path):
    (tmp_path / "metrics.jsonl").write_text('{"accuracy": 0.5}\n')
    (tmp_path / "state.pt").write_text("mine")
    before = files(tmp_path)
    with pytest.raises(SignnapError, match=r"metrics\.jsonl, line 1 is no record of a run: expected"):
        SIGNNAP(**SMALL, iterations=3).fit(small_graph, out=tmp_path)
    assert files(tmp_path) == before


def test_a_saved_model_has_no_past(small_graph, tmp_path):
    model = SIGNNAP(**SMALL, iterations=3).fit(small_graph, out=tmp_path)
    (tmp_path / "config.toml").unlink()
    (tmp_path / "metrics.jsonl").write_text("not ours\nat all")
    model.save(tmp_path)
    assert set(files(tmp_path)) == {"config.toml", "run.json", "model.safetensors", "metrics.jsonl"}
    with pytest.raises(SignnapError, match="holds a model without its training state: cannot resume"):
        SIGNNAP(**SMALL, iterations=5).fit(small_graph, out=tmp_path, resume=True)


def test_fewer_iterations_are_refused(small_graph, tmp_path):
    SIGNNAP(**SMALL, iterations=5).fit(small_graph, out=tmp_path)
    before = files(tmp_path)
    with pytest.raises(SignnapError, match=r"is at iteration 5 already, past the 4 asked for$"):
        SIGNNAP(**SMALL, iterations=4).fit(small_graph, out=tmp_path, resume=True)
    assert files(tmp_path) == before


def test_a_folder_is_never_taken_over(small_graph, tmp_path):
    SIGNNAP(**SMALL, iterations=2).fit(small_graph, out=tmp_path)
    before = files(tmp_path)
    for options, sentence in (
        ({}, "already holds a run: resume it (--resume, resume=True), or choose another folder"),
        ({"resume": True}, "was trained with seed = 0, not 3: cannot resume"),
    ):
        with pytest.raises(SignnapError, match=re.escape(sentence)):
            SIGNNAP(**SMALL, iterations=2, seed=3).fit(small_graph, out=tmp_path, **options)
        assert files(tmp_path) == before


def test_a_file_is_no_folder(small_graph, tmp_path):
    (tmp_path / "run").write_text("mine")
    with pytest.raises(SignnapError, match=r"run is a file: expected a folder$"):
        SIGNNAP(**SMALL, iterations=1).fit(small_graph, out=tmp_path / "run")
    assert (tmp_path / "run").read_text() == "mine"


# -- untrained -------------------------------------------------------------------------------------------------------


def test_the_untrained_twin(small_graph):
    model = SIGNNAP(**SMALL, iterations=5).fit(small_graph)
    blank = model.untrained(small_graph)
    z = blank.transform(small_graph)
    assert z.shape == (40, 8) and not np.array_equal(z, model.transform(small_graph))
    assert np.array_equal(SIGNNAP(**SMALL).untrained(small_graph).transform(small_graph), z)
    assert not np.array_equal(SIGNNAP(**SMALL | {"seed": 1}).untrained(small_graph).transform(small_graph), z)
    initial = model.task(small_graph).encoder.state_dict()
    assert all(torch.equal(value, initial[name]) for name, value in blank.encoder_.state_dict().items())


class Measured(SIGNNAP):
    """One whose encoder is built from numbers, not from shapes alone."""

    def build_encoder(self, settings, sizes):
        encoder = super().build_encoder(settings, sizes)
        for parameter in encoder.parameters():
            parameter.data = parameter.data / max(float(parameter.detach().std()), 1.0)
        return encoder


def test_a_subclass_may_build_its_encoder_from_numbers(small_graph, tmp_path):
    model = Measured(dim=4, negatives=8, iterations=2).fit(small_graph, out=tmp_path)
    assert (Measured.load(tmp_path).transform(small_graph) == model.transform(small_graph)).all()
