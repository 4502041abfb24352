"""Building graphs, their facts and views, subgraphs and fingerprints."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given

from dense import edge_lists, matrix
from signnap.errors import SignnapError
from signnap.graph import EdgeReport, Graph, SparseFeatures, as_dense


def square(x=None, **fields):
    """A cycle of the nodes 0 to 3, and an isolated node 4."""
    return Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0], np.arange(1.0, 11).reshape(5, 2) if x is None else x, **fields)


def test_the_report_counts_duplicates_loops_and_directions():
    pairs = [(0, 1), (1, 0), (0, 1), (2, 2), (2, 3), (3, 0), (3, 0), (2, 2)]
    report = Graph.from_edges(*zip(*pairs, strict=True), np.ones((6, 1))).report
    assert report == EdgeReport(given=8, duplicates=2, self_loops=2, one_directional=2, isolated=2)
    assert "2 duplicates and 2 self-loops removed, 2 one-directional made mutual, 2 isolated nodes kept" in str(report)


@given(edge_lists())
def test_the_report_adds_up(drawn):
    nodes, pairs = drawn
    graph = Graph.from_edges(pairs[:, 0], pairs[:, 1], np.ones((nodes, 1)))
    report = graph.report
    distinct = {(a, b) for a, b in pairs.tolist() if a != b}
    assert report.given == len(pairs) == report.duplicates + report.self_loops + len(distinct)
    assert report.one_directional == sum((b, a) not in distinct for a, b in distinct)
    assert graph.num_edges == len({frozenset(pair) for pair in distinct})
    assert report.isolated == nodes - len({node for pair in distinct for node in pair})


def test_counts_and_repr():
    graph = square(y=torch.tensor([0, 2, -1, 0, 1]), name="square")
    assert (graph.num_nodes, graph.num_edges, graph.num_features, graph.num_classes) == (5, 4, 2, 3)
    assert repr(graph) == "Graph(square: 5 nodes, 4 edges, 2 features, 3 classes)"
    assert square().num_classes == square(y=torch.full((5,), -1)).num_classes == 0


@pytest.mark.parametrize(("edge_value", "loop_value"), [(1, 0), (1, 1), (2, 3)])
def test_the_clean_view_stores_the_given_values(edge_value, loop_value):
    graph = square()
    view = graph.view(edge_value=edge_value, loop_value=loop_value)
    adjacency = torch.tensor(graph.pattern.to_scipy().toarray())
    assert torch.equal(matrix(view.pattern, view.stored), edge_value * adjacency + loop_value * torch.eye(5))
    assert torch.allclose(as_dense(view.x).sum(dim=1), torch.ones(5))
    assert torch.equal(graph.view(normalize=False).x, graph.x)


def test_without_labels():
    split = {"train": torch.tensor([0])}
    graph = square(y=torch.zeros(5, dtype=torch.long), classes=("a",), given_split=split, ids=np.arange(5))
    bare = graph.without_labels()
    assert bare.y is None and bare.classes == () and bare.given_split is None
    assert bare.x is graph.x and bare.ids is graph.ids and graph.y is not None


@pytest.mark.parametrize("density", [0.2, 0.9])
def test_subgraph_has_the_given_order(density):
    rng = np.random.default_rng(0)
    x = sp.csr_matrix(rng.random((5, 8)) * (rng.random((5, 8)) < density))
    ids = np.array(list("abcde"))
    graph = square(x, y=torch.arange(5), ids=ids, given_split={"train": torch.tensor([0])})
    assert isinstance(graph.x, SparseFeatures) == (density < 0.5)
    part = graph.subgraph(torch.tensor([3, 0, 4, 2]))
    assert part.pattern.to_scipy().toarray().tolist() == [[0, 1, 0, 1], [1, 0, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0]]
    assert torch.equal(as_dense(part.x), as_dense(graph.x)[[3, 0, 4, 2]])
    assert part.y.tolist() == [3, 0, 4, 2] and part.ids.tolist() == ["d", "a", "e", "c"] and part.given_split is None


def test_the_fingerprint_depends_on_structure_and_features_only():
    x = np.arange(1.0, 11).reshape(5, 2)
    names = {"given_split": {"train": torch.tensor([0])}, "ids": np.arange(5)}
    assert square().fingerprint() == square(name="other", y=torch.arange(5), **names).fingerprint()
    moved = Graph.from_edges([0, 1, 2], [1, 2, 3], x)
    assert len({square().fingerprint(), moved.fingerprint(), square(x + 1).fingerprint()}) == 3
    sparse, other = (square(sp.csr_matrix(np.diag(values))) for values in ([1.0, 2, 3, 4, 5], [1.0, 2, 3, 4, 6]))
    assert isinstance(sparse.x, SparseFeatures) and sparse.fingerprint() != other.fingerprint()


def test_moving_to_a_device_changes_nothing_else():
    graph = square(y=torch.arange(5), ids=np.arange(5))
    assert graph.to("cpu").fingerprint() == graph.fingerprint() and graph.to("cpu").y is graph.y


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (([], [], np.ones((0, 2))), "is empty: expected at least one node"),
        (([0], [3], np.ones((3, 1))), r"edge number 0 is \(0, 3\), but nodes are numbered 0 to 2"),
        (([0, -1], [1, 2], np.ones((3, 1))), r"edge number 1 is \(-1, 2\)"),
        (([0], [1], np.array([[1.0, 2], [3, np.nan]])), "node 1, column 1 is nan: expected a finite number"),
        (([0], [1], sp.csr_matrix([[0, 0, 0, 0, 1], [0, 0, 0, np.inf, 0]])), "node 1, column 3 is inf"),
    ],
)
def test_bad_input(arguments, sentence):
    with pytest.raises(SignnapError, match=sentence):
        Graph.from_edges(*arguments)


def test_features_with_another_number_of_rows():
    with pytest.raises(SignnapError, match="features have 3 rows for 4 nodes"):
        Graph.from_edges([0], [1], np.ones((3, 1)), num_nodes=4)


def test_features_are_copied():
    x = np.ones((3, 2), dtype=np.float32)
    graph = Graph.from_edges([0], [1], x)
    before = graph.fingerprint()
    x[0] = 5
    assert graph.fingerprint() == before
