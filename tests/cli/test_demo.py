"""The demo is the front door: it must keep its promises."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from signnap import SIGNNAP, SignnapError, make_split, read_embeddings
from signnap.cli import demo
from signnap.train.run_folder import RunFolder
from signnap.train.session import Interrupted


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    out = tmp_path_factory.mktemp("demo")
    return out, demo.run_demo(out)


def test_signnap_is_clearly_ahead(story):
    raw, untrained, ours = story[1]["rows"]
    assert [row["method"] for row in (raw, untrained, ours)] == ["raw features", "untrained encoder", "SIGNNAP"]
    for measure in ("accuracy", "accuracy_perturbed"):
        assert ours[measure] > raw[measure] + 10
        assert ours[measure] > untrained[measure] + 10
    assert ours["stability"] > untrained["stability"] + 0.02


@pytest.mark.gpu
def test_on_a_gpu(tmp_path):
    test_signnap_is_clearly_ahead((tmp_path, demo.run_demo(tmp_path)))
    facts = json.loads((tmp_path / "run" / "run.json").read_text())
    assert facts["device"] != "cpu"


def test_raw_features_do_not_see_edges(story):
    raw = story[1]["rows"][0]
    assert raw["accuracy"] == raw["accuracy_perturbed"]
    assert raw["stability"] == 1.0


def test_files_are_where_it_says(story):
    out, result = story
    RunFolder(result["files"]["run"]).expect()
    embeddings, _ = read_embeddings(result["files"]["embeddings"])
    assert embeddings.shape == (3000, 128)
    assert np.isfinite(embeddings).all()
    assert json.loads((out / "demo.json").read_text())["rows"] == result["rows"]


@pytest.fixture
def hasty(monkeypatch):
    """A demo of two iterations that asks no judge."""
    monkeypatch.setattr(demo, "ITERATIONS", 2)
    monkeypatch.setattr(demo, "_model_row", lambda *_: {})
    monkeypatch.setattr(demo, "_row", lambda *_: {})


def test_it_can_be_told_again(tmp_path, hasty):
    demo.run_demo(tmp_path)
    first = (tmp_path / "run" / "model.safetensors").read_bytes()
    (tmp_path / "run" / "notes.txt").write_text("mine")
    demo.run_demo(tmp_path, seed=1)
    assert (tmp_path / "run" / "model.safetensors").read_bytes() != first
    assert len((tmp_path / "run" / "metrics.jsonl").read_text().splitlines()) == 2  # of one run only
    assert (tmp_path / "run" / "notes.txt").read_text() == "mine"


def contents(folder):
    return {path: path.is_file() and path.read_bytes() for path in folder.rglob("*")}


@pytest.mark.parametrize("graph", ["synthetic", "small"])
def test_it_removes_no_run_but_its_own(graph, tmp_path, small_graph, hasty):
    SIGNNAP(dim=4, negatives=4, iterations=1).fit(replace(small_graph, name=graph), out=tmp_path / "run")
    before = contents(tmp_path)
    with pytest.raises(SignnapError, match=r"run.config\.toml is there already, without the demo.txt of"):
        demo.run_demo(tmp_path)
    assert contents(tmp_path) == before


def test_it_overwrites_no_file_but_its_own(tmp_path, hasty):
    (tmp_path / "embeddings.csv").write_text("mine")
    with pytest.raises(SignnapError, match=r"embeddings\.csv is there already, without the demo.txt of"):
        demo.run_demo(tmp_path)
    assert [path.name for path in tmp_path.rglob("*")] == ["embeddings.csv"]


def test_it_can_be_stopped_and_told_again(tmp_path, hasty):
    def stop(iteration, words=""):
        raise Interrupted("continue with --resume")

    with pytest.raises(Interrupted, match="the demo was stopped during training: run it again"):
        demo.run_demo(tmp_path, report=stop)
    demo.run_demo(tmp_path)
    RunFolder(tmp_path / "run").expect()


def test_it_tells_how_far_it_is_to_whoever_asks(tmp_path, hasty, capsys):
    told = []
    demo.run_demo(tmp_path, report=lambda iteration, words="": told.append(iteration))
    assert told[-1] == demo.ITERATIONS and capsys.readouterr().err == ""


def test_a_file_is_no_place_for_it(tmp_path, hasty):
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(SignnapError, match="taken is a file: expected a folder"):
        demo.run_demo(tmp_path / "taken")


def test_only_test_nodes_are_asked_about_the_perturbed_graph(small_graph, monkeypatch):
    asked, mark = [], SimpleNamespace(accuracy=SimpleNamespace(mean=50.0))
    monkeypatch.setattr(demo, "score", lambda embeddings, *_: asked.extend(embeddings) or mark)
    split = make_split(small_graph, "random:0.3:0.3")
    clean, perturbed = torch.zeros(40, 2), torch.ones(40, 2)
    demo._row("any", small_graph, split, clean, perturbed, 0.5)
    assert asked[0] is clean
    assert asked[1].sum(dim=1).nonzero().ravel().tolist() == sorted(split.test.tolist())
