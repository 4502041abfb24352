"""``score_models`` gives the numbers of ``signnap evaluate``, and one sentence for bad input."""

import json
import logging
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from signnap import SIGNNAP, Split, make_split, method_class, score, score_models
from signnap.cli import main
from signnap.errors import SignnapError
from signnap.evaluate import models as judge

SPLIT, QUICK = "inductive:random:0.5:0.2", {"probe": "linear-quick", "probe_seeds": 2}
BY_HAND = Split([0, 1, 2], [3, 4, 5], [6, 7, 8], "mine", inductive=True)


@pytest.fixture(scope="module")
def models(labelled):
    return SIGNNAP(dim=8, negatives=16, iterations=20).fit_seeds(labelled, [0, 1])


@pytest.fixture
def evaluate(monkeypatch, capsys, tmp_path):
    """The JSON object that ``signnap evaluate`` prints about the models."""
    logger = logging.getLogger("signnap")
    monkeypatch.setattr(logger, "handlers", [*logger.handlers])
    monkeypatch.setattr(logger, "level", logger.level)

    def evaluate(models, graph, *options):
        monkeypatch.setattr("signnap.cli.options.GraphSource.load", lambda *_, **__: graph)
        folders = [str(tmp_path / str(number)) for number in range(len(models))]
        for model, folder in zip(models, folders, strict=True):
            model.save(folder)
        monkeypatch.setattr(sys, "argv", ["signnap", "evaluate", *folders, "graph", *options, "--json"])
        with pytest.raises(SystemExit):
            main()
        return json.loads(capsys.readouterr().out)

    return evaluate


@pytest.mark.parametrize("name", ["labelled", "amazon_photo"])
def test_the_numbers_are_those_of_the_command_line(name, labelled, models, evaluate):
    graph = replace(labelled, name=name)
    found = score_models(models, graph, SPLIT, **QUICK)
    told = evaluate(models, graph, "--split", SPLIT, "--probe", "linear-quick", "--seeds", "2")
    assert (found.runs, found.protocol) == (told["runs"], told["protocol"])
    assert {"mean": found.accuracy.mean, "std": found.accuracy.std} == told["accuracy"]
    parts = make_split(graph, SPLIT)
    assert score_models(models, graph, parts, **QUICK) == found

    rows = [torch.from_numpy(model.transform(graph)) for model in models]
    for model, z in zip(models, rows, strict=True):
        z[parts.train] = torch.from_numpy(model.transform(parts.training_graph(graph)))
    decay = 0.0 if name == "amazon_photo" else 0.0005
    nodes = graph.y, parts.train, parts.val, parts.test
    assert score(rows, *nodes, probe="linear-quick", seeds=range(2), weight_decay=decay) == found
    assert score_models([z.numpy() for z in rows], graph, parts, **QUICK) == found


@pytest.mark.parametrize(("name", "decay"), [("amazon_photo", 0.0), ("amazon_computers", 0.0), ("labelled", 0.0005)])
def test_weight_decay_is_the_paper_s(name, decay, labelled, models, monkeypatch):
    told = []
    monkeypatch.setattr(judge, "score", lambda *_, **options: told.append(options["weight_decay"]))
    score_models(models, replace(labelled, name=name), "per-class:8:8")
    assert told == [decay]


@pytest.mark.parametrize(
    ("given", "options", "words"),
    [
        (lambda models: models[0], {}, "expected a list with the models, or the embeddings, of one or more encoder"),
        (lambda _: np.ones((90, 4)), {}, "expected a list with the models, or the embeddings, of one or more encoder"),
        (lambda _: None, {}, "expected a list with the models, or the embeddings, of one or more encoder seeds"),
        (lambda _: [], {}, "expected a list with the embeddings of one or more encoder seeds"),
        (lambda _: [SIGNNAP()], {}, "a SIGNNAP among the models is not fitted yet: call fit first"),
        (lambda _: ["run"], {}, "the embeddings came as .*: expected numbers"),
        (lambda _: [None], {}, "the embeddings came as object: expected numbers"),
        (lambda models: models, {"probe_seeds": 0}, "probe_seeds is 0: expected a whole number from 1 on"),
        (lambda models: models, {"probe_seeds": "5"}, "probe_seeds is '5': expected a whole number from 1 on"),
        (
            lambda models: models,
            {"split": replace(BY_HAND, train=[0, 95])},
            "the training part names node 95: expected",
        ),
        (
            lambda models: models,
            {"split": replace(BY_HAND, val=torch.ones(90) > 0)},
            "validation part holds torch.bool",
        ),
        (lambda models: models, {"split": 5}, "split is 5: expected the name of a split, or what make_split returns"),
    ],
)
def test_what_cannot_be_judged(given, options, words, labelled, models):
    with pytest.raises(SignnapError, match=words):
        score_models(given(models), labelled, **{"split": "per-class:8:8"} | options)


def test_a_split_made_by_hand(labelled, models):
    as_made = replace(BY_HAND, **{name: torch.tensor(getattr(BY_HAND, name)) for name in ("train", "val", "test")})
    assert score_models(models, labelled, BY_HAND, **QUICK) == score_models(models, labelled, as_made, **QUICK)


def test_nobody_is_tested_on_labels_that_it_has_seen(labelled):
    model = method_class("supervised")(dim=4, iterations=1, split="per-class:8:8").fit(labelled)
    assert score_models([model], labelled, "per-class:8:8").probe == "none"
    with pytest.raises(SignnapError, match="saw labels of another per-class:8:8: expected the split as seed 0 draws"):
        score_models([model], labelled, make_split(labelled, "per-class:8:8", seed=1))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (lambda models: models, None),
        (lambda _: [torch.rand(90, 4), torch.rand(90, 4)], None),
        (lambda _: [torch.rand(90, 8), torch.rand(90, 4)], "embeddings of 4 and 8 columns"),
        (lambda models: [models[0], torch.rand(90, 8)], "models and bare embeddings"),
    ],
)
def test_subjects_that_are_no_seeds_of_one_model_are_noted(given, told, labelled, models, caplog):
    with caplog.at_level("INFO", "signnap.evaluate"):
        score_models(given(models), labelled, "per-class:8:8", **QUICK)
    sentence = f"{told} are judged together, but count as encoder seeds of one model"
    assert caplog.messages == ([sentence] if told else [])
