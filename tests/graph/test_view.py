"""Normalisations and message directions of a view against dense matrices, loops and PyG."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dense import agree, asymmetric_view, edge_lists, entries, matrix, pattern_of, source_of
from signnap.graph import Graph, Operator, View


@st.composite
def views(draw):
    """A view with any entries dropped, any loops stored, and values of 1 or 2."""
    pattern = pattern_of(*draw(edge_lists()))
    values = draw(
        st.lists(st.sampled_from([0.0, 1.0, 2.0]), min_size=pattern.num_entries, max_size=pattern.num_entries)
    )
    return View(pattern, torch.tensor(values), torch.zeros(pattern.num_nodes, 1))


@given(views())
def test_random_walk(view):
    looped = matrix(view.pattern, view.stored).double() + torch.eye(view.pattern.num_nodes)
    found = matrix(view.pattern, view.random_walk.values)
    assert torch.allclose(found.double(), looped / looped.sum(dim=1, keepdim=True), atol=1e-6)
    assert torch.allclose(found.sum(dim=1), torch.ones(len(found)))


@pytest.mark.parametrize(("edge_value", "loop_value", "own", "other"), [(1, 0, 1, 1), (1, 1, 2, 1), (2, 3, 4, 2)])
def test_numerators_of_the_undropped_graph(edge_value, loop_value, own, other):
    graph = Graph.from_edges([0, 0, 0], [1, 2, 3], np.ones((5, 1)))
    view = graph.view(edge_value=edge_value, loop_value=loop_value)
    found = matrix(view.pattern, view.random_walk.values)
    assert found[0].tolist() == pytest.approx([own / (own + 3 * other)] + [other / (own + 3 * other)] * 3 + [0])
    assert found[1].tolist() == pytest.approx([other / (own + other), own / (own + other), 0, 0, 0])
    assert found[4].tolist() == [0, 0, 0, 0, 1]


def test_numerator_of_a_dropped_loop_is_one():
    view = Graph.from_edges([0], [1], np.ones((2, 1))).view(edge_value=2, loop_value=3)
    dropped = view.with_entries(view.stored * (view.stored != 3))
    assert torch.allclose(matrix(view.pattern, dropped.random_walk.values), torch.tensor([[1, 2], [2, 1]]) / 3)


@given(views(), st.integers(0, 99))
def test_symmetric_is_the_graph_convolution_of_pyg(view, seed):
    nodes = view.pattern.num_nodes
    twin, view = identity_convolution(nodes), view.with_entries(view.stored.double())
    found = matrix(view.pattern, view.symmetric.values)
    torch.testing.assert_close(found, twin(torch.eye(nodes).double(), view.edge_index()))
    dense = torch.randn(nodes, nodes, generator=source_of(seed), dtype=torch.float64).requires_grad_()
    agree(view.symmetric(dense), twin(dense, view.edge_index()), [dense])


def test_an_operator_uses_the_given_mirrored_values():
    pattern = pattern_of(4, np.array([[0, 1], [1, 2]]))
    values = torch.arange(pattern.num_entries).float()
    own, other = Operator(pattern, values), Operator(pattern, values, values + 1)
    assert torch.equal(matrix(pattern, own.transposed), matrix(pattern, values).t())
    assert other.transposed is other.mirrored_values


def identity_convolution(width):
    """PyG's layer with the identity as weight, so that it only propagates."""
    GCNConv = pytest.importorskip("torch_geometric.nn").GCNConv
    layer = GCNConv(width, width, bias=False).double().requires_grad_(False)
    torch.nn.init.eye_(layer.lin.weight)
    return layer


@pytest.mark.parametrize(("edge_value", "loop_value"), [(1, 0), (1, 1), (2, 3)])
def test_symmetric_ignores_stored_values_and_counts_degrees_along_rows(edge_value, loop_value):
    view = Graph.from_edges([0, 0, 0], [1, 2, 3], np.ones((5, 1))).view(edge_value=edge_value, loop_value=loop_value)
    found = matrix(view.pattern, view.symmetric.values)
    assert found[0].tolist() == pytest.approx([1 / 4] + [1 / 8**0.5] * 3 + [0])
    assert found[1].tolist() == pytest.approx([1 / 8**0.5, 1 / 2, 0, 0, 0])
    assert found[4].tolist() == [0, 0, 0, 0, 1]
    # Nodes 1 to 3 no longer receive from node 0, which still receives from them.
    kept = torch.tensor([r in (0, c) for _, r, c in entries(view.pattern)])
    found = matrix(view.pattern, view.with_entries(view.stored * kept).symmetric.values)
    assert found[0].tolist() == pytest.approx([1 / 4, 1 / 2, 1 / 2, 1 / 2, 0])
    assert torch.equal(found[1:], torch.eye(5)[1:])


def senders(view, node):
    """All j with an entry (j, i), and the node i itself."""
    stored = matrix(view.pattern, view.stored)
    return {j for j in range(len(stored)) if stored[j, node] != 0} | {node}


@given(views())
def test_incoming_entries_are_messages_from_their_column(view):
    wanted = [c in senders(view, r) for _, r, c in entries(view.pattern)]
    assert view.incoming.tolist() == wanted


@given(views())
def test_neighbour_mean_counts_the_node_twice(view):
    n = view.pattern.num_nodes
    wanted = torch.zeros(n, n)
    for i in range(n):
        for j in senders(view, i):
            wanted[i, j] += 1
        wanted[i, i] += 1
        wanted[i] /= len(senders(view, i)) + 1
    assert torch.allclose(matrix(view.pattern, view.neighbour_mean.values), wanted)


@given(views())
def test_edge_index_present_and_ranks_list_the_kept_entries(view):
    stored = matrix(view.pattern, view.stored)
    kept = [(c, r) for _, r, c in entries(view.pattern) if r != c and stored[r, c] != 0]
    assert list(map(tuple, view.edge_index().t().tolist())) == kept
    assert view.present.tolist() == [k for k, value in enumerate(view.stored.tolist()) if value]
    ranks = {k: rank for rank, k in enumerate(view.present.tolist())}
    assert view.ranks.tolist() == [ranks.get(k, -1) for k in range(view.pattern.num_entries)]


@pytest.mark.parametrize("name", ["random_walk", "neighbour_mean", "symmetric"])
@settings(max_examples=15)
@given(seed=st.integers(0, 99))
def test_operators_multiply_both_ways(name, seed):
    view = asymmetric_view(seed=seed)
    operator = getattr(view, name)
    dense = torch.randn(9, 3, generator=source_of(seed), dtype=torch.float64).requires_grad_()
    wanted = matrix(view.pattern, operator.values) @ dense
    agree(operator(dense), wanted, [dense])


def test_changed_views_do_not_reuse_cached_values():
    view = asymmetric_view()
    names = ("random_walk", "neighbour_mean", "symmetric", "incoming", "present")
    before = {name: getattr(view, name) for name in names}
    bare = view.with_entries(torch.zeros_like(view.stored))
    assert torch.equal(matrix(bare.pattern, bare.random_walk.values), torch.eye(9, dtype=torch.float64))
    assert torch.equal(matrix(bare.pattern, bare.neighbour_mean.values), torch.eye(9, dtype=torch.float64))
    assert torch.equal(matrix(bare.pattern, bare.symmetric.values), torch.eye(9, dtype=torch.float64))
    assert bare.incoming.sum() == 9 and len(bare.present) == 0 and bare.edge_index().shape == (2, 0)
    assert all(getattr(view, name) is value for name, value in before.items())
    x = torch.ones(9, 2)
    assert view.with_features(x).x is x and view.with_features(x).stored is view.stored


def test_views_are_frozen():
    with pytest.raises(FrozenInstanceError):
        asymmetric_view().stored = torch.zeros(1)
