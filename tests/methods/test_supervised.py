"""Networks trained on labels: which labels they see, which nodes, what dropping does, and how they are judged."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from signnap import SIGNNAP, load_graph, make_split, method_class
from signnap.errors import SignnapError
from signnap.evaluate.models import judge
from signnap.methods.settings import resolve
from signnap.methods.supervised import DropEdgeSupervised, Supervised
from signnap.registry import ENCODERS
from sizes import Sizes

SMALL = {"dim": 16, "iterations": 6, "split": "per-class:5:5"}


def small(kind=Supervised, **settings):
    return kind(**SMALL | settings)


def seen_by(model, graph):
    return model.training_view(graph, model.settings_for(graph.name).split)


@pytest.mark.parametrize("backbone", ENCODERS)
def test_scores_of_classes(backbone, small_graph, same_weights):
    model = small(backbone=backbone).fit(small_graph)
    assert model.transform(small_graph).shape == (40, 3)
    still = small(DropEdgeSupervised, backbone=backbone, drop_edge=0.0).fit(small_graph)
    assert same_weights(still, model)  # keeping everything is the backbone itself, bit for bit (spec §3.6)
    dropped = small(DropEdgeSupervised, backbone=backbone).fit(small_graph)
    assert not same_weights(dropped, model)


@pytest.mark.parametrize("split", ["per-class:5:5", "inductive:per-class:5:5"])
def test_labels_of_test_nodes_are_gone(split, small_graph):
    parts = make_split(small_graph, split)
    seen = seen_by(small(split=split), small_graph)
    labelled = torch.cat([parts.train, parts.val])
    assert torch.equal(seen.y[labelled], small_graph.y[labelled])
    assert (seen.y[parts.test] == -1).all() and "test" not in seen.given_split
    wrong = small_graph.y.clone()
    wrong[parts.test] = (wrong[parts.test] + 1) % 3
    fixed = {"train": parts.train, "val": parts.val, "test": parts.test}  # a split drawn from labels would change, too
    model = small(split=split.replace("per-class:5:5", "public"))
    graphs = [replace(small_graph, y=y, given_split=fixed) for y in (small_graph.y, wrong)]
    one, other = (model.fit(graph).transform(small_graph) for graph in graphs)
    assert np.array_equal(one, other)


def test_the_loss_is_that_of_the_training_nodes_and_the_watched_one_that_of_validation(small_graph):
    model = small(dropout=0.0)
    task = model.task(seen_by(model, small_graph))
    parts = make_split(small_graph, "per-class:5:5")
    step, scores = task.step(), task.modules["encoder"].eval()(task.view)
    y = small_graph.y
    torch.testing.assert_close(step.total, cross_entropy(scores[parts.train], y[parts.train]))
    torch.testing.assert_close(step.watched, cross_entropy(scores[parts.val], y[parts.val]))
    assert step.numbers["accuracy"] == (scores[parts.train].argmax(1) == y[parts.train]).float().mean()
    assert step.numbers["val_accuracy"] == (scores[parts.val].argmax(1) == y[parts.val]).float().mean()


def test_validation_sees_no_dropped_edges_and_no_dropout(small_graph):
    model = small(DropEdgeSupervised, drop_edge=0.9)
    task = model.task(seen_by(model, small_graph))
    assert task.step().watched == task.step().watched
    assert task.step().total != task.step().total


def test_inductive_training_knows_the_training_nodes_only(small_graph):
    split = "inductive:per-class:5:5"
    model = small(split=split, dropout=0.0)
    task, parts = model.task(seen_by(model, small_graph)), make_split(small_graph, split)
    alone = task.modules["encoder"].eval()(model_view(parts.training_graph(small_graph), model))
    torch.testing.assert_close(task.step().total, cross_entropy(alone, small_graph.y[parts.train]))
    assert task.view.pattern.num_nodes == 40 and task.seen.pattern.num_nodes == 15


def model_view(graph, model):
    settings = model.settings_for(graph.name)
    return graph.view(edge_value=settings.edge_value, loop_value=settings.loop_value)


def test_over_attention_heads_the_scores_are_averaged(small_graph):
    encoder = small(backbone="gat", dim=16).fit(small_graph).encoder_.eval()
    view = small_graph.view(loop_value=1.0)
    heads = encoder.backbone(view).unflatten(1, (8, 3))
    torch.testing.assert_close(encoder(view), sum(heads.unbind(1)) / 8)


def test_widths_of_the_spec():
    sizes = Sizes(50, 30, 7)
    build = lambda backbone: Supervised().build_encoder(
        resolve({"method": "supervised", "backbone": backbone}), sizes
    ).backbone  # fmt: skip
    assert [tuple(c.weight.shape) for c in build("gcn").convolutions] == [(30, 256), (128, 14)]
    assert [tuple(c.weight.shape) for c in build("jknet").convolutions] == [(30, 256), (128, 256), (256, 14)]
    assert [tuple(c.weight.shape) for c in build("resgcn").convolutions] == [(30, 256), (128, 256), (128, 14)]
    assert [tuple(w.shape) for w in build("sage").weights] == [(30, 128), (128, 7)]
    assert [tuple(layer.weight.shape) for layer in build("gat").layers] == [(30, 64), (64, 56)]


def test_the_paper_s_settings():
    rates = {"gat": 0.005, "gcn": 0.003, "jknet": 0.003, "resgcn": 0.003, "sage": 0.01}
    assert rates == {b: resolve({"method": "supervised", "backbone": b}, dataset="pubmed").lr for b in rates}
    dropped = resolve({"method": "dropedge", "backbone": "sage"}, dataset="amazon_photo")
    assert (dropped.drop_edge, dropped.weight_decay, dropped.lr, dropped.patience) == (0.3, 0.0, 0.01, 400)
    assert resolve({"method": "dropedge"}, dataset="coauthor_physics").split == "inductive:paper"


def test_a_network_is_its_own_classifier():
    graph = load_graph("synthetic")
    parts = make_split(graph, "paper")
    models = Supervised(dim=32, iterations=80, lr=0.01).fit_seeds(graph, [0, 1])
    found = judge(models, graph)
    scores = [model.transform(graph).argmax(1) for model in models]
    wanted = [100 * np.mean(s[parts.test.numpy()] == graph.y[parts.test].numpy()) for s in scores]
    assert [run[0] for run in found["runs"]] == pytest.approx(wanted) and found["probe"] == "none"
    assert found["accuracy"]["mean"] > found["baselines"]["untrained encoder"]["accuracy"]["mean"] + 5
    with pytest.raises(SignnapError, match="trained on labels of the split paper: expected that one"):
        judge(models, graph, split="per-class:5:5")
    with pytest.raises(SignnapError, match="one kind at a time"):
        judge([models[0], SIGNNAP(dim=8).untrained(graph)], graph)


def test_labels_are_needed(small_graph):
    with pytest.raises(SignnapError, match="has no labels"):
        small().fit(small_graph.without_labels())
    with pytest.raises(SignnapError, match="expected the split whose labels are for training"):
        small(split="none").fit(small_graph)
    assert [method_class(name).uses_labels for name in ("supervised", "dropedge", "dgi")] == [True, True, False]
