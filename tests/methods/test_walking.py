"""DeepWalk and Node2Vec: how many walks they take, what they learn from them, and whom they can embed."""

import numpy as np
import pytest
import torch

from signnap.errors import SignnapError
from signnap.graph import Graph
from signnap.methods.random_walks import DeepWalk, Node2Vec
from signnap.methods.settings import resolve
from signnap.walks import BiasedWalks

QUICK = {"dim": 8, "length": 10, "window": 3}
BOTH = pytest.mark.parametrize("kind", [DeepWalk, Node2Vec])


def cliques(size=6):
    """Two cliques without an edge between them, and a node alone."""
    pairs = [(a + at, b + at) for at in (0, size) for a in range(size) for b in range(a)]
    return Graph.from_edges(*zip(*pairs, strict=True), np.ones((2 * size + 1, 1)), name="cliques")


@BOTH
def test_the_settings_of_the_paper_s_comparison(kind):
    for dataset in (None, "cora", "coauthor_physics"):
        found = resolve({"method": kind.name}, dataset=dataset)
        assert (found.dim, found.walks, found.length, found.window, found.negatives) == (128, 10, 80, 10, 5)
        assert found.split == "none"
    assert [getattr(found, name, None) for name in "pq"] == ([1.0, 0.5] if kind is Node2Vec else [None, None])


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ({"length": 1}, "length is 1: expected a whole number of at least 2"),
        ({"walks": 0}, "walks is 0: expected a whole number of at least 1"),
        ({"window": 0}, "window is 0: expected a whole number of at least 1"),
        ({"p": 0.0}, "p is 0.0: expected a positive number"),
        ({"q": float("inf")}, "q is inf: expected a positive number"),
    ],
)
def test_settings_out_of_range(setting, sentence):
    with pytest.raises(SignnapError, match=sentence):
        resolve({"method": "node2vec", **setting})


@pytest.mark.parametrize(("iterations", "count"), [(100, 4), (7, 58), (1, 400)])
def test_every_node_starts_so_many_walks_in_all_iterations(small_graph, iterations, count):
    model = DeepWalk(**QUICK, walks=10, iterations=iterations)
    run, begun = model.run(small_graph), []
    walker = run.task.walker
    run.task.walker = lambda starts, *rest: begun.append(starts) or walker(starts, *rest)
    for _ in range(iterations):
        run.advance()
    counts = torch.bincount(torch.cat(begun), minlength=40)
    assert run.task.count == count and counts.sum() >= 400
    assert counts.min() >= 10 and counts.max() <= counts.min() + 1


def test_few_iterations_on_a_large_graph_stay_small():
    nodes = np.arange(300)
    graph = Graph.from_edges(nodes, (nodes + 1) % 300, np.ones((300, 1)))
    assert DeepWalk(**QUICK, walks=10, iterations=1).task(graph).count == 2048


@BOTH
def test_cliques_fall_apart(kind):
    model = kind(**QUICK, walks=100, iterations=150, lr=0.05)
    z = model.fit(cliques()).transform(cliques())
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    cosine, same = z[:12] @ z[:12].T, np.kron(np.eye(2), np.ones((6, 6))) > 0
    assert cosine[same].min() > cosine[~same].max() + 0.5
    assert model.outcome_.numbers["loss"] < 0.9 * 6 * np.log(2)


@BOTH
def test_a_node_alone_keeps_its_first_vector(kind):
    model = kind(**QUICK, iterations=1)
    run = model.run(cliques())
    before = run.task.encoder.weight.detach().clone()
    for _ in range(3):
        step = run.advance()
    assert torch.equal(run.task.encoder.weight[12], before[12])
    assert not torch.isclose(run.task.encoder.weight[:12], before[:12]).all(dim=1).any()
    assert set(run.task.describe(step, run.encoder)) == {"uniformity", "effective_rank", "norm"}


def test_a_graph_without_edges_teaches_nothing():
    graph = Graph.from_edges([], [], np.ones((5, 1)))
    model = DeepWalk(**QUICK, iterations=3).fit(graph)
    assert np.array_equal(model.transform(graph), DeepWalk(**QUICK).untrained(graph).transform(graph))
    assert model.outcome_.numbers["loss"] == 0


def test_node2vec_walks_by_its_own_weights(small_graph):
    walker = Node2Vec(p=4.0, q=0.25, **QUICK).task(small_graph).walker
    assert isinstance(walker, BiasedWalks)
    assert (walker.back / walker.near, walker.away / walker.near) == (0.25, 4.0)


@pytest.mark.parametrize(
    ("q", "told"),
    [
        (0.5, []),
        (200.0, []),
        (1000.0, ["q = 1000.0: up to 36 % of the steps refuse all of 1,024 proposals"]),
    ],
)
def test_steps_that_may_not_be_as_asked_for_are_told(q, told, small_graph, caplog):
    caplog.set_level("INFO", "signnap")
    Node2Vec(q=q, iterations=1, walks=1, dim=8, length=3).fit(small_graph)
    assert caplog.messages == [f"node2vec with {words} and take one of them" for words in told]


@BOTH
def test_only_nodes_that_were_seen_can_be_embedded(kind, small_graph):
    model = kind(**QUICK, iterations=2).fit(small_graph)
    with pytest.raises(SignnapError, match="embeds only the graph that it was trained on"):
        model.transform(cliques())
    with pytest.raises(SignnapError, match="expected split none"):
        kind(**QUICK, iterations=2, split="inductive:per-class:5:5").fit(small_graph)


def test_what_is_handed_out_is_a_copy(small_graph):
    model = DeepWalk(**QUICK, iterations=2).fit(small_graph)
    z = model.transform(small_graph)
    z[:] = 0
    assert model.transform(small_graph).any()
