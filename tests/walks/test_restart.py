"""Random walks with restart against a walk step by step, and the subgraphs of their nodes."""

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dense import asymmetric_view, edge_lists, matrix, pattern_of, source_of
from signnap.graph import View
from signnap.walks import Neighbours
from signnap.walks.restart import first_visits, induced, visits


def view_of(nodes, pairs, loop=1.0):
    pattern = pattern_of(nodes, np.asarray(pairs, dtype=np.int64).reshape(-1, 2))
    stored = torch.ones(pattern.num_entries).index_fill_(0, pattern.diagonal.long(), loop)
    return View(pattern, stored, torch.ones(nodes, 1))


def listed(view):
    """The neighbours of every node, from the dense matrix."""
    dense = matrix(view.pattern, view.stored).numpy()
    return [[j for j in range(len(dense)) if j != i and dense[i, j] != 0] for i in range(len(dense))]


def slow_walk(lists, seed, back, chance):
    """One step at a time, with the same numbers."""
    path, at = [seed], seed
    for returns, number in zip(back.tolist(), chance.tolist(), strict=True):
        if lists[at]:
            at = lists[at][int(number * len(lists[at]))]
        path.append(at)
        if returns:
            at = seed
    return path


def step_by_step(view, restart, number):
    """Assert that all steps at once equal the walk step by step."""
    seeds = torch.arange(view.pattern.num_nodes)
    found = visits(Neighbours.of(view), seeds, 20, restart, source_of(number))
    twin = source_of(number)
    back, chance = torch.rand(len(seeds), 20, generator=twin) < restart, torch.rand(len(seeds), 20, generator=twin)
    wanted = [slow_walk(listed(view), *of_seed) for of_seed in zip(seeds.tolist(), back, chance, strict=True)]
    assert found.tolist() == wanted


@pytest.mark.parametrize("restart", [0.2, 0.8, 1.0])
@given(edge_lists(), st.integers(0, 10**6))
def test_all_steps_at_once_are_the_walk_step_by_step(restart, edges, number):
    step_by_step(view_of(*edges), restart, number)


def test_traces_have_a_maximal_length():
    """Without any return, a walk along a path restarts after 9 steps at a restart probability of 0.8."""
    view = view_of(200, [(i, i + 1) for i in range(199)])

    class Never(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            found = func(*args, **(kwargs or {}))
            return torch.full_like(found, 0.999) if func is torch.rand else found

    with Never():
        path = visits(Neighbours.of(view), torch.tensor([0]), 100, 0.8, source_of(0))[0]
        endless = visits(Neighbours.of(view), torch.tensor([0]), 100, 0.0, source_of(0))[0]
    assert path.tolist() == [0, *[1 + t % 9 for t in range(100)]]
    assert endless.tolist() == list(range(101))


def test_visits_have_the_probabilities_of_a_walk_with_restart():
    """The stationary distribution v of the Markov chain solves v = (0.8·e + 0.2·v) P."""
    pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (3, 4), (4, 5)]
    lists = listed(view_of(6, pairs))
    move = torch.tensor([[(j in lists[i]) / len(lists[i]) for j in range(6)] for i in range(6)], dtype=torch.float64)
    home = torch.eye(6, dtype=torch.float64)[0]
    wanted = 0.8 * home @ move @ torch.linalg.inv(torch.eye(6, dtype=torch.float64) - 0.2 * move)
    seeds = torch.zeros(400, dtype=torch.int64)
    walks = visits(Neighbours.of(view_of(6, pairs)), seeds, 256, 0.8, source_of(0))[:, 1:]
    shares = torch.bincount(walks.flatten(), minlength=6) / walks.numel()
    torch.testing.assert_close(shares.double(), wanted, atol=0.006, rtol=0)
    back = np.random.default_rng(0)
    slow = [slow_walk(lists, 0, back.random(256) < 0.8, back.random(256))[1:] for _ in range(400)]
    torch.testing.assert_close(
        torch.bincount(torch.tensor(slow).flatten(), minlength=6) / 102400, shares, atol=0.006, rtol=0
    )


def test_the_largest_number_below_one_selects_the_last_neighbour():
    """The product with the degree must not round up, which would select a neighbour of another node."""
    neighbours = Neighbours.of(view_of(5, [(0, 1), (0, 2), (0, 3), (1, 4)]))
    top = torch.tensor([np.nextafter(np.float32(1), np.float32(0))])
    assert neighbours.step(torch.tensor([0]), top).tolist() == [3]
    degrees = torch.arange(1, 2**20)
    assert torch.equal((top * degrees).long(), degrees - 1)


def test_dropped_entries_and_loops_are_no_neighbours():
    view = asymmetric_view()
    neighbours, dense = Neighbours.of(view), matrix(view.pattern, view.stored)
    wanted = (dense != 0) & ~torch.eye(9, dtype=torch.bool)
    nodes = torch.arange(9)
    assert torch.equal(neighbours.adjacent(nodes[:, None], nodes[None, :]), wanted)
    assert not torch.equal(wanted, wanted.mT)
    step_by_step(view, 0.5, 0)


# -- subgraphs -------------------------------------------------------------------------------------------------------


@given(st.lists(st.lists(st.integers(0, 5), min_size=8, max_size=8), min_size=1, max_size=4), st.integers(1, 10))
def test_different_nodes_in_the_order_of_their_first_visit(rows, size):
    nodes, real = first_visits(torch.tensor(rows), size)
    assert nodes.shape == real.shape == (len(rows), size)
    for row, found, mask in zip(rows, nodes, real, strict=True):
        assert found[mask].tolist() == list(dict.fromkeys(row))[:size]
        assert (found[~mask] == row[0]).all() and mask.tolist() == sorted(mask.tolist(), reverse=True)


@given(edge_lists(max_nodes=12), st.integers(0, 10**6), st.integers(1, 8))
def test_subgraphs_are_connected_induced_and_begin_with_their_seed(edges, number, size):
    view = view_of(*edges)
    neighbours, seeds = Neighbours.of(view), torch.arange(edges[0])
    drawn = first_visits(visits(neighbours, seeds, 16, 0.8, source_of(number)), size)
    nodes, real, adjacency = induced(neighbours, *drawn)
    assert torch.equal(nodes[:, 0], seeds) and real[:, 0].all()
    whole = (matrix(view.pattern, view.stored) != 0).float().fill_diagonal_(0)
    for row, mask, block in zip(nodes, real, adjacency, strict=True):
        inside = row[mask]
        assert len(inside.unique()) == len(inside)
        assert torch.equal(block[mask][:, mask], whole[inside][:, inside])
        assert block[~mask].sum() == 0 and block[:, ~mask].sum() == 0
        assert nx.is_connected(nx.from_numpy_array(block[mask][:, mask].numpy()))


def test_an_isolated_node_is_its_subgraph(small_graph):
    view = small_graph.view()
    alone = int((view.pattern.degree == 0).nonzero()[0])
    neighbours = Neighbours.of(view)
    drawn = first_visits(visits(neighbours, torch.tensor([alone]), 16, 0.8, source_of(0)), 4)
    nodes, real, adjacency = induced(neighbours, *drawn)
    assert nodes[real].tolist() == [alone] and adjacency.sum() == 0


def test_a_graph_without_edges():
    neighbours = Neighbours.of(view_of(3, []))
    walks = visits(neighbours, torch.arange(3), 5, 0.8, source_of(0))
    assert torch.equal(walks, torch.arange(3)[:, None].expand(3, 6))
    assert induced(neighbours, *first_visits(walks, 4)).adjacency.sum() == 0
