"""The demo is the front door: it must keep its promises."""

import json

import numpy as np
import pytest

from signnap import SIGNNAP, SignnapError, read_embeddings
from signnap.experiments import demo
from signnap.train.checkpoint import RunFolder


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


def test_it_can_be_told_again(story, monkeypatch):
    monkeypatch.setattr(demo, "ITERATIONS", 2)
    again = demo.run_demo(story[0])
    assert len(again["rows"]) == 3


def test_it_removes_no_run_but_its_own(tmp_path, small_graph):
    SIGNNAP(dim=4, negatives=4, iterations=1).fit(small_graph, out=tmp_path / "run")
    with pytest.raises(SignnapError, match="holds a run on small, not an earlier demo"):
        demo.run_demo(tmp_path)
    RunFolder(tmp_path / "run").expect()
