"""Steady: what its pool holds, which rows a step compares, and graphs of every kind."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from signnap import Graph, SignnapError, load_graph, make_split, rng, score
from signnap.perturb.edges import DropEdge
from signnap.perturb.feature_noise import MaskFeatures
from signnap.registry import METHODS

Steady, DiffusedSVD = (METHODS[name].load() for name in ("steady", "diffused-svd"))
SMALL = {"dim": 16, "hidden": 16, "rank": 8, "projector": 8, "batch": 16, "copies": 3, "hops": 3}


def graph_of(nodes=40, pairs=120, columns=30, seed=0):
    rng = np.random.default_rng(seed)
    x = (rng.random((nodes, columns)) < 0.3).astype(np.float32)
    return Graph.from_edges(*rng.integers(0, nodes, (2, pairs)), x, num_nodes=nodes)


def task_of(graph, **settings):
    return Steady(**SMALL | settings).task(graph)


def test_pool_holds_propagated_perturbed_copies():
    task, drawn = task_of(graph_of()), rng.generator(0, "views")
    for copy in task.pool.split(40):
        view = MaskFeatures(0.5)(DropEdge(0.5, "undirected")(task.view, drawn), drawn)
        torch.testing.assert_close(copy, task.encoder.spread(view))


def test_batches_are_different_nodes_and_every_node_has_its_turn():
    task = task_of(graph_of())
    batches = [task._nodes() for _ in range(300)]
    assert all(len(batch.unique()) == len(batch) == 16 for batch in batches)
    share = torch.bincount(torch.cat(batches), minlength=40) / (300 * 16 / 40)
    assert share.min() > 0.7 and share.max() < 1.3
    assert len({tuple(batch.tolist()) for batch in batches}) == 300


def test_a_batch_is_no_larger_than_the_graph():
    task = task_of(graph_of(nodes=9, pairs=12), batch=4096)
    assert sorted(task._nodes().tolist()) == list(range(9))


def test_steps_compare_two_copies_of_the_same_nodes():
    task = task_of(graph_of(), neighbours=0.0)
    pairs = set()
    for _ in range(100):
        first, second = task._places().chunk(2)
        assert torch.equal(first % 40, second % 40)
        assert len({*(first // 40).tolist()}) == len({*(second // 40).tolist()}) == 1
        pairs.add((int(first[0] // 40), int(second[0] // 40)))
    assert pairs == {(a, b) for a in range(3) for b in range(3) if a != b}


def test_partners_are_neighbours_at_the_given_share():
    graph = graph_of()
    task, same = task_of(graph, neighbours=0.4), []
    neighbours = {(int(r), int(c)) for r, c in zip(graph.pattern.rows, graph.pattern.indices, strict=True)}
    for _ in range(300):
        first, second = (places % 40 for places in task._places().chunk(2))
        assert {*zip(first.tolist(), second.tolist(), strict=True)} <= neighbours  # with themselves, on the diagonal
        same.append((first == second).float().mean())
    own = np.mean([1 / (d + 1) for d in graph.pattern.degree.tolist()])
    assert float(np.mean(same)) == pytest.approx(0.6 + 0.4 * own, abs=0.03)


def test_training_separates_the_classes_of_a_noisy_graph():
    graph = load_graph("synthetic")
    split = make_split(graph, "per-class:20:30")
    accuracy = {}
    for name, model in {
        "steady": Steady(**SMALL | {"dim": 64, "hidden": 64, "rank": 32, "batch": 256}, iterations=60),
        "diffused": DiffusedSVD(dim=64),
    }.items():
        z = model.fit(graph).transform(graph)
        accuracy[name] = score([z], graph.y, split.train, split.val, split.test, probe="logistic").accuracy.mean
    assert accuracy["steady"] > 85
    assert accuracy["diffused"] > 75


def kinds():
    rng = np.random.default_rng(3)
    words = sp.csr_matrix((rng.random((40, 200)) < 0.05).astype(np.float32))
    random = rng.integers(0, 40, (2, 90))
    hub = np.stack([np.zeros(39, int), np.arange(1, 40)])
    halves = np.stack([rng.integers(0, 20, 60), rng.integers(20, 40, 60)])
    return {
        "sparse features": (random, words),
        "two columns": (random, rng.normal(size=(40, 2)).astype(np.float32)),
        "one column": (random, rng.random((40, 1)).astype(np.float32)),
        "constant features": (random, np.ones((40, 20), np.float32)),
        "no words": (random, np.zeros((40, 20), np.float32)),
        "no edges": (np.empty((2, 0), int), words),
        "hub": (hub, words),
        "disconnected": (random % 10 + 10 * (random[:1] % 4), words),
        "bipartite": (halves, words),
    }


@pytest.mark.parametrize("kind", kinds())
def test_graphs_of_every_kind_have_finite_unit_embeddings(kind):
    pairs, x = kinds()[kind]
    graph = Graph.from_edges(*pairs, x, num_nodes=40)
    z = Steady(**SMALL, iterations=3).fit(graph, stop_on_collapse=False).transform(graph)
    assert z.shape[0] == 40 and np.isfinite(z).all()
    lengths = np.linalg.norm(z, axis=1)
    assert np.all((np.abs(lengths - 1) < 1e-4) | (lengths == 0))


def test_too_few_copies_are_refused():
    with pytest.raises(SignnapError, match="copies is 1: expected at least 2"):
        Steady(copies=1).fit(graph_of())
