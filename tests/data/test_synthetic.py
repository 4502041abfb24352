"""The generated graph has the properties that its docstring states."""

import inspect

import numpy as np
import pytest
import torch

from signnap.data.synthetic import synthetic_graph
from signnap.graph import SparseFeatures


@pytest.fixture(scope="module")
def graph():
    return synthetic_graph(0)


def wrong_edges(graph):
    source, target = graph.pattern.edge_index()
    return int((graph.y[source] != graph.y[target]).sum()) // 2


@pytest.mark.parametrize("share", [0.0, 0.25, 0.3337, 1.0])
def test_the_stated_share_of_edges_is_wrong(share):
    graph = synthetic_graph(3, nodes=400, mean_degree=5, wrong_edges=share)
    assert graph.num_edges == 1000
    assert wrong_edges(graph) == int(share * 1000)
    assert graph.report.duplicates == graph.report.self_loops == 0


def test_its_facts(graph):
    assert (graph.num_nodes, graph.num_edges, graph.num_features, graph.num_classes) == (3000, 9000, 1000, 6)
    stated = inspect.signature(synthetic_graph).parameters["wrong_edges"].default
    assert wrong_edges(graph) == int(stated * 9000) > 0
    assert graph.name == "synthetic" and graph.ids is None
    assert graph.y.bincount().tolist() == [500] * 6


def test_labels_are_shuffled_over_the_nodes(graph):
    assert not torch.equal(graph.y, torch.arange(3000) % 6)
    assert graph.y[:1500].bincount().min() > 200


def test_degrees_are_uneven(graph):
    degree = graph.pattern.degree.double()
    assert degree.mean() == 6
    assert degree.var() > 3 * degree.mean(), "a plain block model would give about the mean"


def test_features_are_sparse_bags_of_words(graph):
    assert isinstance(graph.x, SparseFeatures)
    assert torch.all(graph.x.values == 1)
    per_node = graph.x.indptr.diff()
    assert per_node.max() <= 15 and per_node.min() >= 1


def test_words_tell_communities_apart_and_only_by_the_topic_share():
    def agreement(share):
        """The ratio of words shared within communities to words shared between communities."""
        graph = synthetic_graph(1, nodes=600, topic_share=share)
        x = graph.x.to_scipy()
        common = (x @ x.T).toarray()
        same = graph.y[:, None].numpy() == graph.y[None].numpy()
        np.fill_diagonal(same, False)
        return common[same].mean() / common[~same & ~np.eye(600, dtype=bool)].mean()

    assert agreement(0.0) == pytest.approx(1, abs=0.05)
    assert agreement(0.35) > 1.05
    assert agreement(1.0) > agreement(0.35)


def test_the_same_arguments_give_the_same_graph(graph):
    state = np.random.get_state()[1].copy(), torch.get_rng_state()
    again = synthetic_graph(0)
    assert again.fingerprint() == graph.fingerprint() and torch.equal(again.y, graph.y)
    assert synthetic_graph(1).fingerprint() != graph.fingerprint()
    assert np.array_equal(np.random.get_state()[1], state[0]) and torch.equal(torch.get_rng_state(), state[1])
