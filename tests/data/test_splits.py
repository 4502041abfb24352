"""Splits: the index sets of the authors, the notation, and inductive training graphs."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from signnap import load_graph
from signnap.data.public import DATASETS
from signnap.data.splits import make_split, parse_split
from signnap.data.synthetic import synthetic_graph
from signnap.errors import SignnapError
from signnap.graph import Graph


def labelled(labels, **fields):
    """A ring with these labels."""
    labels = torch.as_tensor(labels)
    nodes = np.arange(len(labels))
    return Graph.from_edges(nodes, np.roll(nodes, 1), np.ones((len(nodes), 2)), y=labels, **{"name": "ring", **fields})


def parts(split):
    return [split.train.tolist(), split.val.tolist(), split.test.tolist()]


def slow_shuffle(nodes, seed=42):
    order = list(range(len(nodes)))
    np.random.RandomState(seed).shuffle(order)
    return [nodes[i] for i in order]


def slow_per_class(labels, train, val, seed=42):
    found = [], [], []
    for label in sorted(set(labels) - {-1}):
        members = slow_shuffle([node for node, other in enumerate(labels) if other == label], seed)
        found[0].extend(members[:train])
        found[1].extend(members[train : train + val])
        found[2].extend(members[train + val :])
    return [slow_shuffle(part, seed) for part in found]


@pytest.mark.data
@pytest.mark.parametrize("name", DATASETS)
def test_paper_split_against_a_slow_twin(name, raw_data, monkeypatch):
    monkeypatch.setenv("SIGNNAP_DATA", str(raw_data))
    graph = load_graph(name)
    split = make_split(graph, "paper", seed=7)  # the seed does not matter
    classes = graph.num_classes
    if name in ("pubmed", "cora", "citeseer"):
        sizes = (20 * classes, 500, 1000)
        expected = [graph.given_split[part].tolist() for part in ("train", "val", "test")]
        assert torch.bincount(graph.y[split.train]).tolist() == [20] * classes
    elif name == "coauthor_physics":
        sizes = (20_000, 5_000, 9_493)
        order = slow_shuffle(range(graph.num_nodes))
        expected = [order[:20_000], order[20_000:25_000], order[25_000:]]
    else:
        sizes = (20 * classes, 30 * classes, graph.num_nodes - 50 * classes)
        expected = slow_per_class(graph.y.tolist(), 20, 30)
    assert tuple(map(len, parts(split))) == sizes
    assert len(set().union(*parts(split))) == sum(sizes)
    assert parts(split) == expected
    assert split.inductive == (name == "coauthor_physics")
    assert all(part.dtype == torch.int64 for part in (split.train, split.val, split.test))
    assert (graph.y[torch.cat([split.train, split.val, split.test])] >= 0).all()


@pytest.mark.data
def test_physics_trains_on_its_training_nodes_alone(raw_data, monkeypatch):
    monkeypatch.setenv("SIGNNAP_DATA", str(raw_data))
    graph = load_graph("coauthor_physics")
    seen = make_split(graph, "paper").training_graph(graph)
    assert seen.num_nodes == 20_000
    assert int((seen.pattern.degree == 0).sum()) == 512, "as in the authors' training graph"


labels_of_classes = st.lists(st.integers(-1, 3), min_size=1, max_size=120)


def complete_and_disjoint(split, labels):
    everyone = sorted(node for part in parts(split) for node in part)
    assert everyone == [node for node, label in enumerate(labels) if label >= 0]
    assert min(map(len, parts(split))) > 0


@settings(deadline=None)  # the first example imports scikit-learn
@given(labels_of_classes, st.integers(1, 5), st.integers(1, 5), st.integers(-(2**40), 2**40))
def test_per_class_split(labels, train, val, seed):
    graph, spec = labelled(labels), f"per-class:{train}:{val}"
    sizes = {label: labels.count(label) for label in set(labels) - {-1}}
    if not sizes or min(sizes.values()) <= train + val:
        with pytest.raises(SignnapError, match=r"has no labels|too few"):
            make_split(graph, spec, seed)
        return
    split = make_split(graph, spec, seed)
    complete_and_disjoint(split, labels)
    assert parts(split) == slow_per_class(labels, train, val, seed % 2**32)
    assert parts(split) == parts(make_split(graph, spec, seed))


@settings(deadline=None)  # the first example imports scikit-learn
@given(labels_of_classes, st.integers(1, 60), st.integers(1, 39), st.integers(0, 2**32 - 1))
def test_random_split(labels, train, val, seed):
    graph, spec = labelled(labels), f"random:{train / 100:.2f}:{val / 100:.2f}"
    known = sum(label >= 0 for label in labels)
    try:
        split = make_split(graph, spec, seed)
    except SignnapError as error:
        assert known == 0 or "expected at least one of each" in str(error)
        assert known * min(train, val, 100 - train - val) <= 100
        return
    complete_and_disjoint(split, labels)
    assert [len(split.train), len(split.val)] == [round(train / 100 * known), round(val / 100 * known)]
    assert parts(split) == parts(make_split(graph, spec, seed))


@pytest.mark.parametrize("spec", ["per-class:5:5", "random:0.3:0.2"])
def test_seed_decides(spec):
    graph = labelled([0, 1, 2] * 30)
    assert parts(make_split(graph, spec, 1)) != parts(make_split(graph, spec, 2))


def test_paper_split_of_any_other_graph_is_20_and_30_of_each_class():
    labels = [0, 1] * 60 + [-1] * 10
    split = make_split(labelled(labels), "paper", seed=3)
    assert parts(split) == slow_per_class(labels, 20, 30)
    assert (split.name, split.inductive) == ("paper", False)


def test_public_split_leaves_out_unlabelled_nodes():
    given = {"train": torch.tensor([0, 1]), "val": torch.tensor([2, 3]), "test": torch.tensor([5, 4])}
    graph = labelled([0, 1, 0, -1, 1, 0], given_split=given)
    assert parts(make_split(graph, "public")) == [[0, 1], [2], [5, 4]]
    overlapping = replace(graph, given_split=given | {"val": torch.tensor([1, 2])})
    with pytest.raises(SignnapError, match="has node 1 twice"):
        make_split(overlapping, "public")
    unlabelled = replace(graph, y=torch.tensor([0, 1, -1, -1, 1, 0]))
    with pytest.raises(SignnapError, match="0 validation"):
        make_split(unlabelled, "public")
    with pytest.raises(SignnapError, match="comes without a split of its own: it has no val nodes"):
        make_split(replace(graph, given_split={"train": given["train"]}), "public")


@pytest.mark.parametrize("name", ["pubmed", "coauthor_physics"])
def test_a_small_graph_with_a_benchmarks_name_is_not_split_in_silence(name):
    with pytest.raises(SignnapError, match=name):
        make_split(labelled([0, 1] * 60, name=name), "paper")


@pytest.mark.parametrize(
    ("spec", "same_as"),
    [
        ("inductive", "paper"),
        ("inductive:paper", "paper"),
        ("inductive:per-class:3:4", "per-class:3:4"),
        ("inductive:random:.2:.2", "random:0.2:0.2"),
    ],
)
def test_inductive_hides_all_other_nodes(spec, same_as):
    graph = labelled([0, 1] * 60)
    split, plain = make_split(graph, spec, 5), make_split(graph, same_as, 5)
    assert parts(split) == parts(plain)
    assert (split.inductive, plain.inductive) == (True, False)
    assert split.name == ("inductive:paper" if spec == "inductive" else spec)
    assert plain.training_graph(graph) is graph

    seen = split.training_graph(graph)
    rows = split.train.tolist()
    dense, full = seen.pattern.to_scipy().toarray(), graph.pattern.to_scipy().toarray()
    assert dense.tolist() == full[np.ix_(rows, rows)].tolist()
    assert seen.y.tolist() == graph.y[split.train].tolist()


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ("paper", ("paper", False)),
        ("inductive", ("paper", True)),
        ("inductive:paper", ("paper", True)),
        ("inductive:per-class:3:4", ("per-class:3:4", True)),
        ("per-class:3:4", ("per-class:3:4", False)),
        ("inductive:", ("", True)),
        ("inductivepaper", ("inductivepaper", False)),
    ],
)
def test_how_a_split_is_written(spec, found):
    assert parse_split(spec) == found


def test_whatever_load_graph_takes_can_be_split():
    expected = make_split(synthetic_graph(), "inductive:random:0.1:0.1")
    split = make_split("synthetic", "inductive:random:0.1:0.1")
    assert parts(split) == parts(expected)
    assert split.training_graph("synthetic").num_nodes == len(split.train)


def test_graph_without_labels():
    for y in (None, torch.full((60,), -1)):
        with pytest.raises(SignnapError, match="graph ring has no labels"):
            make_split(replace(labelled([0] * 60), y=y), "random:0.1:0.1")


def test_small_class_is_named():
    graph = labelled([0] * 60 + [1] * 50, classes=("cats", "dogs"))
    with pytest.raises(SignnapError, match="class 'dogs' of graph ring has 50 nodes, too few for 20 for training"):
        make_split(graph, "paper")
    with pytest.raises(SignnapError, match="class 1 of graph ring has 50 nodes"):
        make_split(replace(graph, classes=()), "paper")


@pytest.mark.parametrize(
    "spec",
    [
        "", "papers", "inductive:", "inductive:inductive", "inductivepaper", "per-class", "per-class:20",
        "per-class:0:5", "per-class:5:0", "per-class:-1:5", "per-class:2.5:5", "per-class:2:5:3", "random",
        "random:0.1", "random:0:0.1", "random:0.1:0.0", "random:0.5:0.5", "random:0.9:0.2", "random:nan:0.1",
        "random:1:0.1", "random:0.1:0.1:0.8", "per-class:٢:٣", " paper", "per-class:20:30\n",
    ],
)  # fmt: skip
def test_malformed_split_is_answered_with_the_grammar(spec):
    with pytest.raises(SignnapError) as caught:
        make_split(labelled([0, 1] * 60), spec)
    assert f"cannot read the split {spec!r}: expected paper, public, per-class:TRAIN:VAL" in str(caught.value)


def test_no_part_of_a_public_split_has_unlabelled_nodes():
    given = {"train": torch.tensor([0, 1]), "val": torch.tensor([2, 3]), "test": torch.tensor([5, 4])}
    graph = labelled([0, -1, 0, -1, -1, 0], given_split=given)
    assert parts(make_split(graph, "public")) == [[0], [2], [5]]
