"""Evaluation of models and embeddings on a split, with three baselines."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from signnap import SIGNNAP, DropEdge, Graph, make_split, method_class, rng
from signnap.errors import SignnapError
from signnap.evaluate import PROBES, score
from signnap.evaluate.models import embedded, judge
from signnap.graph import row_normalized


@pytest.fixture(autouse=True)
def _short_probes(monkeypatch):
    """Train probes for a fiftieth of the epochs, which suffices here."""
    for name, settings in PROBES.items():
        if settings is not None:
            monkeypatch.setitem(PROBES, name, replace(settings, epochs=20))


KEYS = {
    "accuracy", "balanced_accuracy", "val_accuracy", "protocol", "probe", "encoder_seeds", "probe_seeds", "runs",
}  # fmt: skip


@pytest.fixture(scope="module")
def models(labelled):
    return [SIGNNAP(dim=8, negatives=16, iterations=20, seed=seed).fit(labelled) for seed in range(2)]


RULES = {"split": "per-class:8:8", "probe": "logistic"}


def by_hand(z, graph, split, **options):
    parts = make_split(graph, split)
    return score(z, graph.y, parts.train, parts.val, parts.test, **options)


@pytest.fixture
def scored(monkeypatch):
    """Record the arguments of each call of ``score``: the subjects, raw features, the untrained encoder."""
    seen = []

    def spy(embeddings, *nodes, **options):
        seen.append({"embeddings": embeddings, **options})
        return score(embeddings, *nodes, **options)

    monkeypatch.setattr("signnap.evaluate.models.score", spy)
    return seen


def test_one_model_by_the_paper_s_protocol(labelled, models):
    result = judge(models[:1], labelled, split="per-class:8:8", seeds=2)
    assert {"graph", "split", "features", "baselines"} | KEYS == set(result)
    assert (result["graph"], result["split"], result["probe"]) == ("labelled", "per-class:8:8", "linear")
    assert result["protocol"] == "over probe seeds (1 encoder × 2 probes)"
    assert (result["encoder_seeds"], result["probe_seeds"]) == (1, 2)
    assert json.loads(json.dumps(result)) == result
    assert set(result["baselines"]) == {"raw features", "untrained encoder", "most frequent class"}
    assert all(set(baseline) == KEYS for baseline in result["baselines"].values())

    z = torch.from_numpy(models[0].transform(labelled))
    expected = by_hand([z], labelled, "per-class:8:8", seeds=range(2), weight_decay=0.0005)
    assert result["runs"] == expected.runs
    assert result["accuracy"] == {"mean": expected.accuracy.mean, "std": expected.accuracy.std}
    balanced = expected.balanced_accuracy
    assert result["balanced_accuracy"] == {"mean": balanced.mean, "std": balanced.std}


def test_baselines_are_what_they_say(labelled, models, scored):
    judge(models, labelled, **RULES)
    _, raw, untrained = (call["embeddings"] for call in scored)
    assert len(raw) == 1 and torch.equal(raw[0], row_normalized(labelled.x))
    for model, z in zip(models, untrained, strict=True):  # each with its own seed
        assert np.array_equal(z, model.untrained(labelled).transform(labelled))
    assert not torch.equal(*untrained)


def test_a_rare_class_is_no_reason_for_praise(labelled):
    """Constant embeddings are as accurate as the baseline of one answer for all nodes."""
    y = (torch.arange(90) % 15 == 0).long()
    result = judge([torch.ones(90, 4)], replace(labelled, y=y), split="random:0.4:0.2", seeds=1)
    frequent = result["baselines"]["most frequent class"]
    assert result["accuracy"] == frequent["accuracy"] and frequent["accuracy"]["mean"] > 90
    assert result["balanced_accuracy"] == frequent["balanced_accuracy"] == {"mean": 50, "std": 0}


@pytest.mark.parametrize("probe", ["linear", "logistic"])
def test_one_class_is_not_judged(probe, labelled, models):
    alike = replace(labelled, y=torch.zeros(90, dtype=torch.long))
    with pytest.raises(SignnapError, match="the training part holds class 0 only: expected at least two classes"):
        judge(models[:1], alike, split="per-class:8:8", probe=probe)


@pytest.mark.parametrize(("trained", "split"), [("inductive", "inductive"), ("inductive", "inductive:paper")])
def test_a_network_with_labels_is_judged_on_its_split_however_that_is_written(trained, split, labelled):
    ring = np.arange(300)
    graph = Graph.from_edges(ring, np.roll(ring, 1), np.eye(3)[ring % 3], y=torch.from_numpy(ring % 3), name="ring")
    model = method_class("supervised")(dim=4, iterations=1, split=trained).fit(graph)
    assert judge([model], graph, split=split, seeds=1)["probe"] == "none"
    with pytest.raises(SignnapError, match="was trained on labels of the split inductive: expected that one"):
        judge([model], graph, split="per-class:8:8", seeds=1)


def test_the_spread_of_several_models_is_over_models(labelled, models):
    result = judge(models, labelled, **RULES)
    assert result["protocol"] == "over encoder seeds (2 encoders × 1 probe)"
    alone = [judge([model], labelled, **RULES)["runs"][0] for model in models]
    assert result["runs"] == alone
    assert result["accuracy"]["std"] == pytest.approx(np.std([run[0] for run in alone], ddof=1))
    assert result["baselines"]["untrained encoder"]["encoder_seeds"] == 2


def test_anybody_s_embeddings(labelled, models):
    z = torch.from_numpy(models[0].transform(labelled))
    bare, model = judge([z], labelled, **RULES), judge(models[:1], labelled, **RULES)
    assert bare["runs"] == model["runs"]
    assert bare["baselines"]["raw features"] == model["baselines"]["raw features"]
    blank = torch.from_numpy(SIGNNAP(dim=8).untrained(labelled).transform(labelled))
    expected = by_hand([blank], labelled, "per-class:8:8", probe="logistic")
    assert bare["baselines"]["untrained encoder"]["runs"] == expected.runs  # a GCN of the same width
    perfect = torch.nn.functional.one_hot(labelled.y).float()
    assert judge([perfect], labelled, **RULES)["accuracy"]["mean"] == 100


def test_inductive_training_rows_come_from_the_training_graph(labelled, models, scored):
    split = "inductive:random:0.5:0.2"
    parts = make_split(labelled, split)
    z = torch.from_numpy(models[0].transform(labelled))
    seen = torch.from_numpy(models[0].transform(labelled.subgraph(parts.train)))
    assert not torch.equal(z[parts.train], seen)
    z[parts.train] = seen
    assert judge(models[:1], labelled, split=split, seeds=1)["split"] == split
    assert torch.equal(scored[0]["embeddings"][0], z)


@pytest.mark.parametrize("split", ["per-class:8:8", "inductive:per-class:8:8"])
def test_a_probe_trained_on_dropped_graphs(split, labelled, models, scored):
    results = [judge(models, labelled, split=split, seeds=1, dropped=True) for _ in range(2)]
    assert results[0] == results[1]  # dropping has its own seed
    assert results[0]["baselines"] == judge(models, labelled, split=split, seeds=1)["baselines"]
    assert [options.get("resample") is not None for options in scored] == [True, False, False] * 2 + [False] * 3


@pytest.mark.parametrize("split", ["per-class:8:8", "inductive:per-class:8:8"])
def test_dropped_graphs_are_what_training_may_see(split, labelled, models, monkeypatch):
    draws = []

    def stop(*_, resample, **__):
        draws.extend(resample)
        raise KeyboardInterrupt

    monkeypatch.setattr("signnap.evaluate.models.score", stop)
    with pytest.raises(KeyboardInterrupt):
        judge(models, labelled, split=split, dropped=True)
    parts = make_split(labelled, split)
    for model, draw in zip(models, draws, strict=True):
        source = rng.generator(model.settings_.seed, "probe views")
        view = model.view(parts.training_graph(labelled))
        for _ in range(2):
            drawn, expected = draw(), model.embed_view(DropEdge(0.3)(view, source))
            if parts.inductive:
                assert not drawn[parts.test].any()
                drawn = drawn[parts.train]
            assert torch.equal(drawn, expected)


def test_weight_decay_follows_the_data_set(labelled, models, scored):
    judge(models[:1], replace(labelled, name="amazon_photo"), split="per-class:8:8", seeds=1)
    judge(models[:1], labelled, split="per-class:8:8", seeds=1)
    assert [options["weight_decay"] for options in scored] == [0.0] * 3 + [0.0005] * 3


def test_what_cannot_be_judged(labelled, models):
    with pytest.raises(SignnapError, match="graph labelled has no labels"):
        judge(models[:1], labelled.without_labels())
    with pytest.raises(SignnapError, match="unknown probe 'linar', did you mean 'linear'"):
        judge(models[:1], labelled, split="per-class:8:8", probe="linar")
    with pytest.raises(SignnapError, match="10 embeddings for 90 labels"):
        judge([torch.ones(10, 4)], labelled, split="per-class:8:8")
    with pytest.raises(SignnapError, match="expected a list with the embeddings"):
        judge([], labelled, split="per-class:8:8")


@pytest.mark.parametrize(("name", "value"), [("dim", 4), ("iterations", 3), ("drop_law", "bernoulli")])
def test_the_spread_is_over_seeds_of_one_model(name, value, labelled, models):
    rules = {"dim": 8, "negatives": 16, "iterations": 20, "seed": 2} | {name: value}
    other = SIGNNAP(**rules).fit(labelled)
    with pytest.raises(SignnapError, match=rf"differ in more than their seed, {name} is .* and {value!r}: judge"):
        judge([*models, other], labelled, **RULES)


def test_runs_with_other_parts_of_one_s_own_are_no_seeds_of_one_model(labelled):
    rules = {"dim": 8, "negatives": 16, "iterations": 2}
    runs = [SIGNNAP(perturbation=DropEdge(0.1 * n), seed=n, **rules).fit(labelled) for n in (1, 2)]
    with pytest.raises(SignnapError, match=r"perturbation is .*0\.1.* and .*0\.2.*: judge them one kind at a time"):
        judge(runs, labelled, **RULES)


def test_one_run_is_not_two(labelled, models):
    with pytest.raises(SignnapError, match="2 of the runs are of encoder seed 1: expected each seed once"):
        judge([*models, models[1]], labelled, **RULES)
    rules = {"dim": 8, "negatives": 16, "iterations": 20, "seed": 3}
    renamed = SIGNNAP(**rules).fit(replace(labelled, name="elsewhere"))
    assert judge([*models, renamed], labelled, **RULES)["encoder_seeds"] == len(models) + 1
    elsewhere = SIGNNAP(**rules).fit(replace(labelled, x=labelled.x.roll(1, dims=0)))
    with pytest.raises(SignnapError, match="the runs were not trained on one and the same graph: judge"):
        judge([*models, elsewhere], labelled, **RULES)
    z = torch.from_numpy(models[0].transform(labelled))
    assert judge([z, z], labelled, **RULES)["encoder_seeds"] == 2  # embeddings do not name their seed


@pytest.mark.parametrize("normalize", [True, False])
def test_raw_features_are_those_that_the_subject_saw(normalize, labelled, scored):
    model = SIGNNAP(dim=8, negatives=16, iterations=3, normalize_features=normalize).fit(labelled)
    told = judge([model], labelled, **RULES)["features"]
    wanted = row_normalized(labelled.x) if normalize else labelled.x
    assert torch.equal(scored[1]["embeddings"][0], wanted)
    assert told == ("rows divided by their sum" if normalize else "as given")


@pytest.mark.parametrize(
    ("hidden", "split", "told"),
    [
        ("inductive:per-class:8:8", "per-class:8:8", 0),
        ("inductive:per-class:8:8", "inductive:per-class:8:8", 0),
        ("none", "per-class:8:8", 0),
        ("inductive:per-class:8:8", "per-class:7:7", 1),
    ],
)
def test_another_split_than_that_of_training_is_noted(hidden, split, told, labelled, caplog):
    model = SIGNNAP(dim=8, negatives=16, iterations=3, split=hidden).fit(labelled)
    with caplog.at_level("INFO", "signnap.evaluate"):
        judge([model], labelled, split=split, probe="logistic")
    sentence = "training hid the nodes that inductive:per-class:8:8 judges, but the split is per-class:7:7"
    assert caplog.messages == [sentence] * told


def test_embedded_rows_are_the_subjects_own(labelled, models):
    z = torch.ones(90, 4)
    rows = embedded([*models, z], labelled, make_split(labelled, "per-class:8:8"))
    for model, found in zip(models, rows, strict=False):
        assert np.array_equal(found, model.transform(labelled))
    assert torch.equal(rows[-1], z)


@pytest.mark.gpu
@pytest.mark.parametrize("dropped", [False, True])
@pytest.mark.parametrize("split", ["per-class:8:8", "inductive:per-class:8:8"])
def test_models_on_a_gpu_are_judged_like_any(split, dropped, labelled):
    model = SIGNNAP(dim=8, negatives=16, iterations=20).fit(labelled, device="cuda")
    assert all(z.device.type == "cpu" for z in embedded([model], labelled, make_split(labelled, split)))
    result = judge([model], labelled, split=split, seeds=1, dropped=dropped)
    assert 0 <= result["accuracy"]["mean"] <= 100
