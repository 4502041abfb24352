"""Scores: what the spread is over, and one sentence for whatever cannot be judged."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from signnap.errors import SignnapError
from signnap.evaluate import PROBES, ProbeSettings, linear_probe, probe_settings, score, score_classes, summarize
from signnap.graph import SparseFeatures


def test_paper_protocol_spreads_over_probes(clouds):
    z, y, *split = clouds()
    judged = score([z], y, *split, probe="linear-plain", seeds=range(3), weight_decay=3.0)
    settings = ProbeSettings(logit_dropout=0.0, weight_decay=3.0)
    alone = [100 * r.test_accuracy for r in linear_probe(z, y, *split, settings=settings, seeds=range(3))]
    assert judged.protocol == "paper: 1 encoder seed × 3 probe seeds"
    assert (judged.encoder_seeds, judged.probe_seeds) == (1, 3)
    assert judged.runs == [alone] and judged.accuracy.values == alone
    assert judged.accuracy.mean == pytest.approx(np.mean(alone))
    assert judged.accuracy.std == pytest.approx(np.std(alone, ddof=1))


def test_honest_protocol_spreads_over_encoders(clouds):
    z, y, *split = clouds()
    others = [z, z + torch.randn(z.shape, generator=torch.Generator().manual_seed(1)), z[:, :2]]
    judged = score(others, y, *split, probe="linear", seeds=range(2), resample=[lambda z=z: z for z in others])
    means = np.mean(judged.runs, axis=1)
    assert judged.protocol == "honest: 3 encoder seeds × 2 probe seeds"
    assert judged.accuracy.values == pytest.approx(means)
    assert judged.accuracy.std == pytest.approx(np.std(means, ddof=1)) and judged.accuracy.std > 0
    as_dict = judged.as_dict()
    assert json.loads(json.dumps(as_dict)) == as_dict
    assert set(as_dict["accuracy"]) == {"mean", "std", "values"}


def test_one_encoder_that_counts_as_two_is_told(clouds, caplog):
    z, *nodes = clouds()
    with caplog.at_level("INFO", "signnap"):
        score([z, z + 1], *nodes, probe="logistic")
        score([z, z + 1, z.clone()], *nodes, probe="logistic")
    assert caplog.messages == ["embeddings 1 and 3 are the same, but count as those of two encoder seeds"]


def test_how_a_probe_of_that_name_learns():
    assert probe_settings("linear") == probe_settings("linear", 5e-4) == ProbeSettings()
    assert probe_settings("linear-plain", 3.0) == ProbeSettings(logit_dropout=0.0, weight_decay=3.0)
    assert probe_settings("linear", 0.0).weight_decay == 0.0
    assert probe_settings("linear-dgi", 3.0).weight_decay == 0.0  # it has none to change
    assert probe_settings("logistic") is probe_settings("logistic", 3.0) is None
    assert probe_settings("linear-quick").epochs < probe_settings("linear").epochs
    with pytest.raises(SignnapError, match="unknown probe 'linaer', did you mean 'linear'"):
        probe_settings("linaer")


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
    with pytest.raises(SignnapError, match="the probe logistic takes no steps to drop edges between: expected"):
        score([z], *nodes, probe="logistic", resample=[lambda: z])


def test_summary():
    assert summarize([80.0]).std == 0.0
    summary = summarize([1, 2, 4])
    assert (summary.mean, summary.std) == (pytest.approx(7 / 3), pytest.approx(np.std([1, 2, 4], ddof=1)))
    assert str(summary) == "2.33 ± 1.53"
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
    y, scores = torch.tensor([0, 1, 0, 1]), torch.eye(2)[[0, 1, 1, 0]]  # right about the first two
    found = score_classes([scores], y, torch.tensor([0, 1]), torch.tensor([2, 3]))
    assert (found.accuracy.mean, found.val_accuracy.mean) == (0.0, 100.0)
    assert (found.runs, found.val_runs) == ([[0.0]], [[100.0]])


def test_another_default_dtype_is_refused(clouds):
    z, y, *split = clouds()
    torch.set_default_dtype(torch.float64)
    try:
        with pytest.raises(SignnapError, match=r"torch's default dtype is torch.float64: expected torch.float32"):
            score([z], y, *split)
    finally:
        torch.set_default_dtype(torch.float32)
