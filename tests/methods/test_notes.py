"""What is said of a graph before training begins."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from signnap import SIGNNAP, Graph, load_graph, method_class
from signnap.data.public import DATASETS
from signnap.graph import SparseFeatures
from signnap.methods.input_checks import note_features, note_time

RNG = np.random.default_rng(0)
BASE = RNG.random((200, 1))
LARGE = RNG.uniform(5e4, 15e4, (200, 2))
FLAGS = (RNG.random((200, 3)) < 0.5).astype(float)


def graph_of(x, names=()):
    sparse = sp.issparse(x)
    graph = Graph.from_edges([0], [x.shape[0] - 1], x)
    return replace(graph, x=SparseFeatures.from_scipy(x) if sparse else graph.x, feature_names=tuple(names))


@pytest.mark.parametrize(
    ("time", "nodes", "told"), [("quadratic", 50_001, 1), ("quadratic", 50_000, 0), ("linear", 10**6, 0)]
)
def test_a_large_graph_for_a_method_of_quadratic_time_is_told(time, nodes, told, caplog):
    with caplog.at_level("INFO", "signnap"):
        note_time("grace", time, nodes)
    assert caplog.messages == ["grace compares all pairs of 50,001 nodes: its time grows with their square"] * told


# -- columns that vanish ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("scale", "normalize", "told"), [(1, True, 0), (1000, True, 1), (1000, False, 0)])
def test_a_column_that_vanishes_beside_another_is_told(scale, normalize, told, sparse, caplog):
    x = np.array([[1, 1], [2, 0.5], [1.5, 1], [0.5, 2]]) * [1, scale]
    graph = graph_of(sp.csr_matrix(x) if sparse else x, ("age", "income"))
    SIGNNAP(dim=4, negatives=2, iterations=1, normalize_features=normalize).fit(graph, stop_on_collapse=False)
    words = "rows are normalised, and beside larger columns next to nothing is left of 1 of 2: age; scale the columns"
    assert caplog.messages == [f"{words} first, or train with normalize_features=false"] * told


def test_several_large_columns_hide_the_others_as_well(caplog):
    note_features(graph_of(np.hstack([LARGE, FLAGS])), True)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "next to nothing is left of 3 of 5: 2, 3, 4; scale" in caplog.text


def test_rows_that_normalising_makes_the_same_are_told(caplog):
    for x in (RNG.normal(100, 5, (200, 1)), BASE * [[1.0, 2.0, 4.0]]):
        caplog.clear()
        note_features(graph_of(x), True)
        assert caplog.messages == [
            "rows are normalised, which makes them all the same: train with normalize_features=false"
        ]
    caplog.clear()
    note_features(graph_of(FLAGS[:, :1]), True)  # a zero stays one
    assert caplog.messages == []


# -- level -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "x",
    [
        np.hstack([BASE] * 3) + 0.02 * RNG.random((200, 3)),
        5 * (np.hstack([BASE] * 3) - 0.5),
        RNG.normal(size=(200, 1)),
        RNG.random((200, 2)),
    ],
    ids=["alike", "signed", "one", "two"],
)
def test_a_level_that_normalising_removes_is_told(x, caplog):
    note_features(graph_of(x), True)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert caplog.messages[0].startswith("dividing rows by their sum removes their level, which is ")
    assert caplog.messages[0].endswith("normalize_features=false (--set on the command line) keeps it")
    caplog.clear()
    note_features(graph_of(x), False)
    assert caplog.messages == []


@pytest.mark.parametrize(
    "x",
    [
        FLAGS,
        FLAGS[:, :1],
        RNG.random((200, 4)),
        RNG.random((200, 3)) * 0.1 + 5,
        RNG.poisson(0.1, (200, 100)) * RNG.integers(1, 9, (200, 1)),
        sp.random(200, 300, 0.05, random_state=0),
    ],
    ids=["flags", "one flag", "numbers", "hardly different", "counts", "weights of words"],
)
def test_other_features_need_no_note(x, caplog):
    note_features(graph_of(x), True)
    assert caplog.messages == []


@pytest.mark.data
@pytest.mark.parametrize("name", [*DATASETS, "synthetic"])
def test_known_graphs_need_no_note(name, raw_data, monkeypatch, caplog):
    monkeypatch.setenv("SIGNNAP_DATA", str(raw_data))
    note_features(load_graph(name), True)
    assert caplog.messages == []


def test_features_made_from_edges_need_no_note(caplog):
    star = sp.csr_matrix((np.ones(30), (np.zeros(30, int), np.arange(1, 31))), (31, 31))
    note_features(load_graph((star, None)), True)
    assert caplog.messages == []


# -- no features worth the name --------------------------------------------------------------------------------------


@pytest.mark.parametrize("x", [np.zeros((5, 3)), np.full((5, 2), 0.5), sp.csr_matrix((5, 30))])
@pytest.mark.parametrize("normalized", [False, True])
def test_features_that_are_the_same_everywhere_are_told(x, normalized, caplog):
    note_features(graph_of(x), normalized)
    assert caplog.messages == ["all nodes have the same features, so that nothing but edges tells one from another"]


def test_a_single_node_is_like_itself(caplog):
    note_features(graph_of(np.ones((1, 2))), True)
    assert caplog.messages == []


@pytest.mark.parametrize(("name", "told"), [("raw", 1), ("deepwalk", 0)])
def test_features_matter_to_who_reads_them(name, told, small_graph, caplog):
    graph = replace(small_graph, x=torch.ones(40, 1))
    method_class(name)().set_params(iterations=None if name == "raw" else 1).fit(graph)
    assert len(caplog.messages) == told
