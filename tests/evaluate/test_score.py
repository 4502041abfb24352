"""Scores: their spread, and one sentence for input that cannot be scored."""

import json
from dataclasses import asdict

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from signnap.errors import SignnapError
from signnap.evaluate import (
    PROBES,
    ProbeSettings,
    linear_probe,
    plus_minus,
    probe_settings,
    score,
    score_classes,
    score_most_frequent,
    summarize,
)
from signnap.evaluate.inputs import balanced_accuracy
from signnap.graph import SparseFeatures


def test_paper_protocol_spreads_over_probes(clouds):
    z, y, *split = clouds()
    judged = score([z], y, *split, probe="linear-plain", seeds=range(3), weight_decay=3.0)
    settings = ProbeSettings(logit_dropout=0.0, weight_decay=3.0)
    alone = [100 * r.test_accuracy for r in linear_probe(z, y, *split, settings=settings, seeds=range(3))]
    assert judged.protocol == "over probe seeds (1 encoder × 3 probes)"
    assert (judged.encoder_seeds, judged.probe_seeds) == (1, 3)
    assert judged.runs == [alone] and judged.accuracy.values == alone
    assert judged.accuracy.mean == pytest.approx(np.mean(alone))
    assert judged.accuracy.std == pytest.approx(np.std(alone, ddof=1))


def test_the_spread_of_several_encoders_is_over_encoders(clouds):
    z, y, *split = clouds()
    others = [z, z + torch.randn(z.shape, generator=torch.Generator().manual_seed(1)), z[:, :2]]
    judged = score(others, y, *split, probe="linear", seeds=range(2), resample=[lambda z=z: z for z in others])
    means = np.mean(judged.runs, axis=1)
    assert judged.protocol == "over encoder seeds (3 encoders × 2 probes)"
    assert judged.accuracy.values == pytest.approx(means)
    assert judged.accuracy.std == pytest.approx(np.std(means, ddof=1)) and judged.accuracy.std > 0
    found = asdict(judged)
    assert json.loads(json.dumps(found)) == found
    assert set(found["accuracy"]) == {"mean", "std", "values"}


def test_one_encoder_that_counts_as_two_is_told(clouds, caplog):
    z, *nodes = clouds()
    with caplog.at_level("INFO", "signnap"):
        score([z, z + 1], *nodes, probe="logistic")
        score([z, z + 1, z.clone()], *nodes, probe="logistic")
    assert caplog.messages == ["embeddings 1 and 3 are the same, but count as those of two encoder seeds"]


def test_how_a_probe_of_that_name_learns():
    assert probe_settings("linear") == ProbeSettings()
    assert probe_settings("linear-plain", 3.0) == ProbeSettings(logit_dropout=0.0, weight_decay=3.0)
    assert probe_settings("linear", 0.0).weight_decay == 0.0
    assert probe_settings("linear-dgi", 3.0).weight_decay == 0.0  # these probes have a weight decay of their own
    assert probe_settings("linear-2000", 3.0) == ProbeSettings(0.01, 1e-4, 2000, 2000, 0.0, "accuracy")
    for steps in (100, 300):
        assert probe_settings(f"linear-{steps}", 3.0) == ProbeSettings(0.01, 0.0, steps, steps, 0.0, "last")
    assert probe_settings("logistic") is probe_settings("logistic", 3.0) is None
    assert probe_settings("linear-quick").epochs < probe_settings("linear").epochs
    with pytest.raises(SignnapError, match="unknown probe 'linaer', did you mean 'linear'"):
        probe_settings("linaer")


def test_a_weight_decay_that_nobody_gave_is_the_authors_own(clouds):
    given = [linear_probe(*clouds(), settings=ProbeSettings(epochs=60, weight_decay=d)) for d in (None, 5e-4, 0.0)]
    assert given[0] == given[1] != given[2]


def test_score_says_what_it_wants(clouds):
    z, y, *split = clouds()
    with pytest.raises(SignnapError, match="unknown probe 'linaer', did you mean 'linear'"):
        score([z], y, *split, probe="linaer")
    with pytest.raises(SignnapError, match="expected a list"):
        score(z, y, *split)
    with pytest.raises(SignnapError, match="expected a list"):
        score([], y, *split)
    with pytest.raises(SignnapError, match="1 resamplers were given for 2 encoder seeds"):
        score([z, z], y, *split, resample=[lambda: z])


@pytest.mark.parametrize("probe", ["linear", "logistic"])
def test_arrays_of_numpy_are_judged_as_tensors_are(probe, clouds):
    z, *nodes = clouds()
    expected = score([z], *nodes, probe=probe, seeds=[0])
    arrays = [part.numpy() for part in nodes]
    fixed, backwards = z.numpy().copy(), z.numpy()[:, ::-1].copy()[:, ::-1]
    fixed.flags.writeable = False
    for given in (z.numpy(), z.numpy().astype(np.float64), z.numpy().astype(">f4"), fixed, backwards):
        assert score([given], *arrays, probe=probe, seeds=[0]) == expected
    with pytest.raises(SignnapError, match="expected a list"):
        score(z.numpy(), *arrays)
    with pytest.raises(SignnapError, match=r"the training part holds torch\.bool values"):
        score([z.numpy()], arrays[0], arrays[0] > 0, *arrays[2:])


@pytest.mark.parametrize("probe", ["linear-quick", "logistic"])
def test_lists_are_judged_as_tensors_are(probe, clouds):
    z, *nodes = clouds()
    lists = [part.tolist() for part in nodes]
    assert score([z.tolist()], *lists, probe=probe, seeds=[0]) == score([z], *nodes, probe=probe, seeds=[0])


def test_fresh_embeddings_and_classes_may_be_lists(clouds):
    z, *nodes = clouds()
    lists, options = [part.tolist() for part in nodes], {"settings": ProbeSettings(epochs=3), "seeds": [0]}
    found = linear_probe(z.tolist(), *lists, resample=z.tolist, **options)
    assert found == linear_probe(z, *nodes, resample=lambda: z, **options)
    assert score_classes([z.tolist()], lists[0], *lists[2:]) == score_classes([z], nodes[0], *nodes[2:])


def test_fresh_embeddings_and_classes_may_be_numpy_s(clouds):
    z, *nodes = clouds()
    arrays = [part.numpy() for part in nodes]
    found = [score([z], *nodes, seeds=[0], resample=[draw]) for draw in (lambda: z, lambda: z.numpy())]
    assert found[0] == found[1] == score([z.numpy()], *arrays, seeds=[0], resample=[lambda: z.numpy()])
    assert score_classes([z.numpy()], arrays[0], *arrays[2:]) == score_classes([z], nodes[0], *nodes[2:])


def test_a_probe_without_steps_cannot_drop_edges_between_them(clouds):
    z, *nodes = clouds()
    with pytest.raises(
        SignnapError, match="the probe logistic has no epochs and cannot train on dropped graphs: expected"
    ):
        score([z], *nodes, probe="logistic", resample=[lambda: z])


def test_summary():
    assert summarize([80.0]).std == 0.0
    summary = summarize([1, 2, 4])
    assert (summary.mean, summary.std) == (pytest.approx(7 / 3), pytest.approx(np.std([1, 2, 4], ddof=1)))
    assert str(summary) == plus_minus(summary.mean, summary.std) == "2.33 ± 1.53"
    assert plus_minus(summary.mean, summary.std, 1) == "2.3 ± 1.5"
    with pytest.raises(SignnapError, match="nothing to summarise"):
        summarize([])


def test_a_class_that_training_lacks_is_fine(clouds):
    z, y, train, val, test = clouds()
    for probe in PROBES:
        result = score([z], y, train[y[train] != 2], val, test, probe=probe, seeds=[0])
        assert 0 < result.accuracy.mean < 100


@pytest.fixture
def data(clouds):
    return dict(zip(("embeddings", "y", "train", "val", "test"), clouds(), strict=True))


BROKEN = {
    "no labels": (lambda d: {"y": None}, "there are no labels"),
    "ids for labels": (
        lambda d: {"y": 1000 * d["y"]},
        "there are 2,001 classes for 45 training nodes: are these labels",
    ),
    "one class": (
        lambda d: {"train": d["train"][d["y"][d["train"]] == 1]},
        "^the training part holds class 1 only: expected at least two classes$",
    ),
    "missing label": (
        lambda d: {"y": d["y"].index_fill(0, d["val"][2:3], -1)},
        r"node \d+ of the validation part has no",
    ),
    "seen": (
        lambda d: {"test": torch.cat([d["test"], d["train"][3:4]])},
        r"node \d+ is in the training part and in the test part: expected it in one",
    ),
    "chosen by": (
        lambda d: {"val": d["test"]},
        r"node \d+ is in the validation part and in the test part: expected it in one",
    ),
    "an empty list": (lambda d: {"val": []}, "the validation part of the split is empty"),
    "empty": (lambda d: {"test": d["test"][:0]}, "the test part of the split is empty"),
    "NaN": (
        lambda d: {"embeddings": d["embeddings"].index_fill(0, d["train"][1:2], torch.nan)},
        "holds NaN or infinity",
    ),
    "rows": (lambda d: {"embeddings": d["embeddings"][:-1]}, "149 embeddings for 150 labels"),
    "one vector": (lambda d: {"embeddings": d["embeddings"][:, 0]}, r"shape \(150,\): expected one row per node"),
    "outside": (
        lambda d: {"train": d["train"].index_fill(0, torch.tensor([0]), 150)},
        "names node 150: expected 0 to 149",
    ),
    "a column of labels": (
        lambda d: {"y": d["y"][:, None]},
        r"labels have shape \(150, 1\): expected one class number",
    ),
    "names for labels": (lambda d: {"y": ["a"] * 150}, "the labels came as <U1: expected numbers"),
    "names for rows": (lambda d: {"val": ["a"]}, "the validation part came as <U1: expected numbers"),
    "one row": (lambda d: {"train": 3}, r"the training part has shape \(\): expected \(nodes,\)"),
    "mask": (lambda d: {"train": torch.ones(150, dtype=torch.bool)}, "the training part holds torch.bool values"),
}


@pytest.mark.parametrize("case", BROKEN)
@pytest.mark.parametrize("probe", ["linear", "logistic"])
def test_bad_input_is_one_sentence(case, probe, data):
    change, message = BROKEN[case]
    data |= change(data)
    with pytest.raises(SignnapError, match=message):
        score([data.pop("embeddings")], **data, probe=probe)


def test_the_named_node_is_the_broken_one(data):
    node = int(data["test"][7])
    data["embeddings"][node, 2] = torch.inf
    with pytest.raises(SignnapError, match=f"the embedding of node {node} holds"):
        linear_probe(**data)
    matrix = sp.csr_matrix(data["embeddings"].nan_to_num(posinf=0).numpy())
    matrix[node, 3] = np.nan
    with pytest.raises(SignnapError, match=f"the embedding of node {node} holds"):
        linear_probe(**data | {"embeddings": SparseFeatures.from_scipy(matrix)})


def test_a_network_s_classes_are_judged_on_the_test_nodes():
    y, scores = torch.tensor([0, 1, 0, 1]), torch.eye(2)[[0, 1, 1, 0]]  # the first two predictions are right
    found = score_classes([scores], y, torch.tensor([0, 1]), torch.tensor([2, 3]))
    assert (found.accuracy.mean, found.val_accuracy.mean) == (0.0, 100.0)
    assert (found.runs, found.val_runs) == ([[0.0]], [[100.0]])
    assert (found.probe, found.protocol) == ("none", "over encoder seeds (1 encoder, no probe)")
    some = score_classes([scores], y, torch.tensor([0]), torch.tensor([0, 2, 3]))
    assert (some.accuracy.mean, some.balanced_accuracy.mean) == (pytest.approx(100 / 3), 25)


def slow_balanced(right, y):
    shares = [[bool(hit) for hit, label in zip(right, y, strict=True) if label == each] for each in set(y.tolist())]
    return sum(sum(hits) / len(hits) for hits in shares) / len(shares)


def test_balanced_accuracy_counts_every_class_alike():
    source = torch.Generator().manual_seed(0)
    y = torch.tensor([0] * 40 + [2] * 5 + [3])  # no node has class 1
    right = torch.rand(3, len(y), generator=source) < 0.6
    expected = [slow_balanced(row, y) for row in right]
    assert balanced_accuracy(right, y).tolist() == pytest.approx(expected)
    assert balanced_accuracy(right[1], y).tolist() == pytest.approx(expected[1])
    assert balanced_accuracy(torch.ones_like(y, dtype=torch.bool), y).item() == 1


def rare_class(n=400, share=0.05):
    """Labels with one rare class, and a split in which it is rare, too."""
    y = (torch.arange(n) % round(1 / share) == 0).long()
    order = torch.randperm(n, generator=torch.Generator().manual_seed(0))
    return y, order[:150], order[150:250], order[250:]


@pytest.mark.parametrize("probe", ["linear", "logistic"])
def test_embeddings_that_say_nothing_are_no_better_than_the_most_frequent_class(probe):
    y, train, val, test = rare_class()
    blank, knowing = torch.ones(len(y), 2), torch.eye(2)[y]
    nothing = score([blank], y, train, val, test, probe=probe, seeds=range(2))
    frequent = score_most_frequent(y, train, val, test)
    assert nothing.accuracy.mean == frequent.accuracy.mean == pytest.approx(100 * float((y[test] == 0).double().mean()))
    assert nothing.accuracy.mean > 90
    assert nothing.balanced_accuracy.mean == frequent.balanced_accuracy.mean == 50
    assert nothing.val_accuracy.mean == frequent.val_accuracy.mean == 100 * float((y[val] == 0).double().mean())
    assert score([knowing], y, train, val, test, probe=probe, seeds=[0]).balanced_accuracy.mean == 100


def test_balanced_accuracy_spreads_as_accuracy_does(clouds):
    z, y, train, val, test = clouds()
    others = [z, z[:, :2]]
    settings = probe_settings("linear-quick")
    expected = [
        [100 * r.balanced_accuracy for r in linear_probe(e, y, train, val, test, settings=settings, seeds=range(2))]
        for e in others
    ]
    judge = lambda embeddings: score(embeddings, y, train, val, test, probe="linear-quick", seeds=range(2))
    assert judge([z]).balanced_accuracy.values == expected[0]
    assert judge(others).balanced_accuracy.values == pytest.approx(np.mean(expected, axis=1))


def test_the_most_frequent_class_is_that_of_training():
    y = torch.tensor([0, 1, 1, 2, 2, 2, 2, 0, 1, 2])
    found = score_most_frequent(y, [0, 1, 2, 3], [4, 8], [5, 6, 7, 9])  # class 1, which no test node has
    assert (found.accuracy.mean, found.accuracy.std, found.val_accuracy.mean) == (0, 0, 50)
    assert (found.probe, found.protocol) == ("none", "one answer for all nodes")


def test_of_classes_equally_frequent_in_training_one_is_guessed():
    y = torch.tensor([0, 1, 2, 2, 0, 1, 1, 1, 2, 2])
    found = score_most_frequent(y, [0, 1, 2], [4], [5, 6, 7, 8, 9])
    assert found.accuracy.mean == found.balanced_accuracy.mean == pytest.approx(100 / 3)  # for any test nodes
    assert score_most_frequent(y.double(), [0, 1, 2], [4], [5, 6, 7, 8, 9]).accuracy == found.accuracy
    two = score_most_frequent(y, [0, 4, 2, 3, 1], [4], [5, 6, 7, 8, 9])  # 1 is rarer in training
    assert two.accuracy.mean == pytest.approx(20) and two.val_accuracy.mean == pytest.approx(50)


def test_another_default_dtype_is_refused(clouds):
    z, y, *split = clouds()
    torch.set_default_dtype(torch.float64)
    try:
        with pytest.raises(SignnapError, match=r"torch's default dtype is torch.float64: expected torch.float32"):
            score([z], y, *split)
    finally:
        torch.set_default_dtype(torch.float32)
