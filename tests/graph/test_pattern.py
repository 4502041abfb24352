"""The CSR pattern against the dense adjacency it stands for."""

import numpy as np
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dense import edge_lists, entries, pattern_of
from signnap.graph import Pattern


def adjacency(nodes, pairs, *, loops):
    dense = np.zeros((nodes, nodes))
    for a, b in pairs:
        dense[a, b] = dense[b, a] = 1
    np.fill_diagonal(dense, 1 if loops else 0)
    return dense


@given(edge_lists())
def test_entries_are_those_of_the_dense_matrix_in_row_order(drawn):
    pattern = pattern_of(*drawn)
    wanted = [(r, c) for r, c in np.argwhere(adjacency(*drawn, loops=True)).tolist()]
    assert [(r, c) for _, r, c in entries(pattern)] == wanted
    assert pattern.rows.tolist() == [r for r, _ in wanted]
    assert pattern.offsets.tolist() == pattern.indptr.tolist()
    assert all(t.dtype == torch.int32 for t in (pattern.indptr, pattern.indices, pattern.mirror, pattern.diagonal))


@given(edge_lists())
def test_mirror_and_diagonal_point_at_the_right_entries(drawn):
    pattern = pattern_of(*drawn)
    position = {(r, c): k for k, r, c in entries(pattern)}
    assert pattern.mirror.tolist() == [position[c, r] for _, r, c in entries(pattern)]
    assert pattern.diagonal.tolist() == [position[i, i] for i in range(pattern.num_nodes)]


@given(edge_lists())
def test_counts(drawn):
    pattern, dense = pattern_of(*drawn), adjacency(*drawn, loops=False)
    assert pattern.degree.tolist() == dense.sum(axis=1).tolist()
    assert pattern.num_edges == dense.sum() / 2
    assert pattern.num_entries == dense.sum() + len(dense)
    assert pattern.num_nodes == len(dense)


@given(edge_lists(), st.booleans())
def test_scipy_and_edge_index_forms(drawn, loops):
    pattern, dense = pattern_of(*drawn), adjacency(*drawn, loops=loops)
    assert np.array_equal(pattern.to_scipy(loops=loops).toarray(), dense)
    assert pattern.to_scipy(loops=loops).nnz == dense.sum()
    edges = pattern.edge_index(loops=loops)
    assert edges.dtype == torch.int64
    assert sorted(map(tuple, edges.t().tolist())) == [tuple(e) for e in np.argwhere(dense).tolist()]


def test_edge_index_lists_the_receivers_in_order():
    edges = pattern_of(3, np.array([[0, 1], [1, 2]])).edge_index()
    assert edges.tolist() == [[1, 0, 2, 1], [0, 1, 1, 2]]


@settings(max_examples=50)
@given(edge_lists(), st.data())
def test_subset_is_the_induced_graph_in_the_given_order(drawn, data):
    chosen = data.draw(st.permutations(range(drawn[0])))[: data.draw(st.integers(1, drawn[0]))]
    part = pattern_of(*drawn).subset(torch.tensor(chosen))
    wanted = adjacency(*drawn, loops=True)[np.ix_(chosen, chosen)]
    assert np.array_equal(part.to_scipy(loops=True).toarray(), wanted)
    assert part.mirror.sort().values.tolist() == list(range(part.num_entries))


def test_values_of_a_given_matrix_do_not_matter():
    matrix = sp.csr_matrix(np.array([[5.0, -1, 0], [2, 7, 0], [0, 0, 1]]))
    assert Pattern.from_csr(matrix).to_scipy(loops=True).toarray().tolist() == [[1, 1, 0], [1, 1, 0], [0, 0, 1]]


def test_moving_to_the_same_device_copies_nothing():
    pattern = pattern_of(2, np.array([[0, 1]]))
    assert pattern.to("cpu") is pattern
