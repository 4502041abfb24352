"""Centralities against networkx and against dense linear algebra."""

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given

from dense import edge_lists, pattern_of
from signnap.perturb import importance
from signnap.perturb.importance import CENTRALITIES, DAMPING, degree, eigenvector, pagerank

NETWORKX = {
    "degree": lambda graph: dict(graph.degree),
    "eigenvector": lambda graph: {k: abs(v) + 1e-8 for k, v in nx.eigenvector_centrality_numpy(graph).items()},
    "pagerank": lambda graph: nx.pagerank(graph, alpha=0.85, tol=1e-13, max_iter=1000),
}
names = pytest.mark.parametrize("name", CENTRALITIES)


def pattern_from(graph):
    return pattern_of(len(graph), np.array(graph.edges, dtype=np.int64).reshape(-1, 2))


def connected(seed):
    """A random connected graph with hubs and leaves."""
    graph = nx.barabasi_albert_graph(40, 2, seed=seed)
    graph.add_edges_from((40 + i, i) for i in range(5))
    return graph


def adjacency(pattern):
    return torch.from_numpy(pattern.to_scipy().toarray()).double()


@names
@pytest.mark.parametrize("seed", range(4))
def test_networkx_finds_the_same(name, seed):
    graph = connected(seed)
    wanted = NETWORKX[name](graph)
    found = CENTRALITIES[name](pattern_from(graph))
    assert found.dtype == torch.float64
    torch.testing.assert_close(found, torch.tensor([wanted[i] for i in range(len(graph))]).double(), rtol=1e-6, atol=0)


@given(edge_lists())
def test_pagerank_solves_its_equation_on_any_graph(case):
    pattern = pattern_of(*case)
    nodes, links = pattern.num_nodes, adjacency(pattern)
    counts = links.sum(dim=1, keepdim=True)
    steps = torch.where(counts > 0, links / counts.clamp(min=1), 1 / nodes)
    jumps = torch.full((nodes,), 0.15 / nodes, dtype=torch.float64)
    wanted = torch.linalg.solve(torch.eye(nodes).double() - 0.85 * steps.t(), jumps)
    found = pagerank(pattern)
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-8)
    assert float(found.sum()) == pytest.approx(1)


@given(edge_lists())
def test_the_eigenvector_belongs_to_the_largest_eigenvalue_on_any_graph(case):
    pattern = pattern_of(*case)
    links, found = adjacency(pattern), eigenvector(pattern) - 1e-8
    largest = torch.linalg.eigvalsh(links)[-1]
    torch.testing.assert_close(links @ found, largest * found, rtol=0, atol=1e-5)
    assert float(found.norm()) == pytest.approx(1, abs=1e-6) and float(found.min()) >= -1e-15


@given(edge_lists())
def test_degree_counts_neighbours_without_loops_and_repeats(case):
    pattern = pattern_of(*case)
    assert torch.equal(degree(pattern), adjacency(pattern).sum(dim=1))


def test_bipartite_graphs_settle():
    found = eigenvector(pattern_from(nx.star_graph(9)))
    assert torch.allclose(found, torch.tensor([0.5**0.5] + [1 / 18**0.5] * 9).double(), atol=1e-7)


def test_pagerank_is_not_the_degree():
    """Without jumps, PageRank would be proportional to the degree on every undirected graph."""
    for graph in (nx.star_graph(9), connected(0)):
        pattern = pattern_from(graph)
        by_degree = degree(pattern) / degree(pattern).sum()
        assert (pagerank(pattern) / by_degree - 1).abs().max() > 0.05
        assert torch.corrcoef(torch.stack([pagerank(pattern), by_degree]))[0, 1] > 0.9


def test_a_walk_jumps_with_probability_0_15():
    star = pagerank(pattern_from(nx.star_graph(2)))  # hub = 0.05 + 0.85 (1 − hub)
    assert DAMPING == 0.85 and float(star[0]) == pytest.approx(0.9 / 1.85)


@names
def test_nodes_of_a_regular_graph_are_equal(name):
    for graph in (nx.cycle_graph(7), nx.random_regular_graph(3, 20, seed=0), nx.empty_graph(4)):
        found = CENTRALITIES[name](pattern_from(graph))
        assert torch.allclose(found, found[:1].expand(len(found)), rtol=1e-12, atol=0)


@names
def test_isolated_nodes_are_least_central_and_finite(name):
    graph = connected(1)
    graph.add_node(45)
    found = CENTRALITIES[name](pattern_from(graph))
    assert found.isfinite().all() and int(found.argmin()) == 45


def test_a_minor_component_is_not_zero():
    """The leading eigenvector is zero on the smaller of two components, but its logarithm must exist."""
    graph = nx.disjoint_union(nx.complete_graph(6), nx.path_graph(3))
    found = eigenvector(pattern_from(graph))
    torch.testing.assert_close(found[6:], torch.full((3,), 1e-8).double(), rtol=1e-2, atol=0)
    assert torch.allclose(found[:6], torch.tensor(6**-0.5).double())


@names
def test_every_call_gives_the_same_numbers(name):
    pattern, outside = pattern_from(connected(2)), torch.get_rng_state()
    assert torch.equal(CENTRALITIES[name](pattern), CENTRALITIES[name](pattern))
    assert torch.equal(torch.get_rng_state(), outside)


def test_an_iteration_that_does_not_settle_ends(monkeypatch):
    monkeypatch.setattr(importance, "MAX_ROUNDS", 3)
    products = []
    multiply = importance.spmm
    monkeypatch.setattr(importance, "spmm", lambda *given: products.append(given) or multiply(*given))
    found = eigenvector(pattern_from(nx.path_graph(50)))
    assert len(products) == 3 and found.isfinite().all() and (found > 0).all()
