"""Walks follow edges with the probabilities of DeepWalk and Node2Vec, and start at every node equally often."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from dense import edge_lists, pattern_of, source_of, view_of
from signnap.walks import BiasedWalks, Neighbours, Starts, expected_visits, uniform_walks
from signnap.walks import walks as biased_walks

#: A triangle with two more nodes on a cycle; node 5 is isolated.
EDGES = np.array([(0, 1), (1, 2), (2, 0), (0, 3), (3, 4), (1, 4)])


def adjacency_of(nodes, pairs):
    dense = np.zeros((nodes, nodes))
    for a, b in pairs:
        dense[a, b] = dense[b, a] = a != b
    return dense


def neighbours_of(nodes, pairs, loops=0.0):
    """The neighbours of every node; stored loops do not matter."""
    stored = adjacency_of(nodes, pairs) + loops * np.eye(nodes)
    return Neighbours.of(view_of(torch.from_numpy(stored), torch.zeros(nodes, 1)))


def biased(p, q):
    return lambda neighbours, *rest: BiasedWalks(neighbours, p, q)(*rest)


WALKERS = [uniform_walks, biased(1.0, 1.0), biased(1.0, 0.5), biased(4.0, 0.25), biased(0.25, 4.0)]


@given(edge_lists(), st.integers(2, 6), st.integers(0, 1000), st.sampled_from(WALKERS), st.sampled_from([0.0, 1.0]))
def test_walks_begin_at_their_starts_and_take_edges_but_no_loops(graph, length, seed, walker, loops):
    nodes, pairs = graph
    starts = torch.arange(nodes).repeat(3)
    walks = walker(neighbours_of(nodes, pairs, loops), starts, length, source_of(seed))
    assert walks.shape == (3 * nodes, length) and walks.dtype == torch.int64
    assert torch.equal(walks[:, 0], starts)
    adjacency = adjacency_of(nodes, pairs)
    for walk in walks.tolist():
        for a, b in pairwise(walk):
            assert adjacency[a, b] or (a == b and not adjacency[a].any())


@pytest.mark.parametrize("walker", WALKERS)
def test_walks_are_determined_by_the_seed(walker):
    neighbours, starts = neighbours_of(6, EDGES), torch.arange(6).repeat(20)
    first, again, other = (walker(neighbours, starts, 9, source_of(seed)) for seed in (0, 0, 1))
    assert torch.equal(first, again) and not torch.equal(first, other)


# -- probabilities -----------------------------------------------------------------------------------------------------


def second_order(adjacency, p, q):
    """{(t, v): probabilities of the node after v}, from the definition."""
    nodes, table = range(len(adjacency)), {}
    for t in nodes:
        for v in nodes:
            if adjacency[t, v]:
                weight = lambda x, t=t: 1 / p if x == t else 1.0 if adjacency[t, x] else 1 / q
                weights = np.array([weight(x) if adjacency[v, x] else 0.0 for x in nodes])
                table[t, v] = weights / weights.sum()
    return table


def expect_frequencies(walks, table):
    """A chi-square test of the successors of every pair of nodes, at five deviations."""
    counts = {pair: np.zeros(len(chances)) for pair, chances in table.items()}
    for offset in range(walks.shape[1] - 2):
        for t, v, x in walks[:, offset : offset + 3].tolist():
            counts[t, v][x] += 1
    for pair, chances in table.items():
        possible, seen = chances > 0, counts[pair]
        assert seen.sum() > 500 and not seen[~possible].any()
        expected = seen.sum() * chances[possible]
        distance, freedom = ((seen[possible] - expected) ** 2 / expected).sum(), possible.sum() - 1
        assert distance <= freedom + 5 * np.sqrt(2 * freedom) + 10, pair


@pytest.fixture(params=[1, 3, 10**9], ids=lambda count: f"{count} at a time")
def at_a_time(request, monkeypatch):
    """The number of proposals at a time; the last value makes all at once, as on a GPU."""
    monkeypatch.setattr(biased_walks, "_AT_A_TIME", request.param)
    return request.param


@pytest.mark.parametrize(
    ("p", "q"), [(1.0, 1.0), (1.0, 0.5), (4.0, 0.5), (0.25, 4.0), (0.5, 2.0), (0.25, 1.0), (0.1, 20.0), (5.0, 0.05)]
)
def test_biased_steps_have_the_exact_probabilities(p, q, at_a_time):
    walks = BiasedWalks(neighbours_of(6, EDGES), p, q)(torch.arange(5).repeat(3000), 6, source_of(0))
    expect_frequencies(walks, second_order(adjacency_of(6, EDGES), p, q))


@pytest.mark.parametrize("p", [0.01, 1e-3, 100.0])
def test_a_strong_pull_back_is_exact_at_a_hub(p, at_a_time):
    """A walk goes from a leaf to the hub, and then back to the leaf or on to another one."""
    leaves = 1001
    neighbours = neighbours_of(leaves + 1, [(0, leaf) for leaf in range(1, leaves + 1)])
    starts = torch.arange(1, leaves + 1).repeat(100)
    walks = BiasedWalks(neighbours, p, 1.0)(starts, 3, source_of(0))
    exact = (1 / p) / (1 / p + leaves - 1)
    returned, count = (walks[:, 2] == starts).double().mean().item(), len(starts)
    assert abs(returned - exact) < 5 * np.sqrt(exact * (1 - exact) / count)
    elsewhere = torch.bincount(walks[walks[:, 2] != starts, 2], minlength=leaves + 1)[1:].double()
    mean = elsewhere.mean()
    assert elsewhere.sum() > 0 and ((elsewhere - mean) ** 2 / mean).sum() < leaves + 5 * np.sqrt(2 * leaves)


def test_nothing_waits_for_the_device_if_all_proposals_are_made_at_once(monkeypatch):
    walker, starts = BiasedWalks(neighbours_of(6, EDGES), 1.0, 0.5), torch.arange(6)
    waits = {}
    for count in (2, 10**9):
        monkeypatch.setattr(biased_walks, "_AT_A_TIME", count)
        with Names() as names:
            walker(starts, 5, source_of(0))
        waits[count] = names & {"_local_scalar_dense", "nonzero", "masked_select"}
    assert waits == {2: {"nonzero"}, 10**9: set()}


class Names(TorchDispatchMode, set):
    """Records the names of executed operations."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.add(function.overloadpacket.__name__)
        return function(*args, **kwargs or {})


@pytest.mark.parametrize(("p", "q"), [(1e-300, 1.0), (1e300, 1e300), (1e-300, 1e300), (1.0, 1e-300), (1e-46, 1e-46)])
def test_weights_beyond_float32_take_edges(p, q, monkeypatch):
    monkeypatch.setattr(biased_walks, "_MAX_PROPOSALS", 4)
    adjacency = adjacency_of(7, [*EDGES, (4, 6)])
    walks = BiasedWalks(neighbours_of(7, [*EDGES, (4, 6)]), p, q)(torch.arange(7).repeat(50), 8, source_of(0))
    for walk in walks[walks[:, 0] != 5].tolist():
        assert all(adjacency[a, b] for a, b in pairwise(walk))


def test_biased_walks_without_a_bias_are_uniform():
    starts, neighbours = torch.arange(5).repeat(1500), neighbours_of(6, EDGES)
    walks = uniform_walks(neighbours, starts, 6, source_of(0))
    expect_frequencies(walks, second_order(adjacency_of(6, EDGES), 1.0, 1.0))
    walker = BiasedWalks(neighbours, 1.0, 1.0)
    assert (walker.proposals, walker.failure) == (1, 0.0)
    first = [torch.bincount(w[w[:, 0] == 0, 1], minlength=6) for w in (walks, walker(starts, 6, source_of(1)))]
    for counts in first:
        assert (counts[[1, 2, 3]] - 500).abs().max() < 5 * np.sqrt(500 * 2 / 3) and counts.sum() == 1500


def test_walks_with_a_large_p_turn_only_at_the_ends_of_a_path():
    neighbours = neighbours_of(7, [(i, i + 1) for i in range(6)])
    walks = BiasedWalks(neighbours, 1e9, 1.0)(torch.arange(7).repeat(50), 40, source_of(0))
    for walk in walks.tolist():
        for t, v, x in zip(walk, walk[1:], walk[2:], strict=False):
            assert x != t or v in (0, 6)
    assert any(0 in walk[1:] for walk in walks.tolist())


@pytest.mark.parametrize(("p", "q"), [(1.0, 0.5), (1e9, 1.0), (4.0, 0.25), (1e9, 4.0), (1e9, 0.001), (1e9, 100.0)])
def test_the_probability_of_rejecting_all_proposals_is_bounded(p, q):
    walker = BiasedWalks(neighbours_of(6, EDGES), p, q)
    largest, worst = max(1, 1 / q), 0.0
    # In the worst case, v has the neighbour t and any number of neighbours with equal weights.
    for behind in (1.0, 1 / q):
        for many in range(1, 200):
            refused = many * (largest - behind) / (1 / p + many * largest)
            worst = max(worst, refused**walker.proposals)
    assert worst <= walker.failure * (1 + 1e-9) and walker.proposals <= 1024
    assert walker.failure <= 1e-5 or walker.proposals == 1024


def test_a_step_that_rejects_all_proposals_takes_one_of_them(monkeypatch):
    """From 0 over 1 a walk goes to 2, a neighbour of 0, or to 3, or back to 0."""
    monkeypatch.setattr(biased_walks, "_MAX_PROPOSALS", 1)
    neighbours = neighbours_of(4, [(0, 1), (0, 2), (1, 2), (1, 3)])
    walks = BiasedWalks(neighbours, 0.5, 1e9)(torch.zeros(6000, dtype=torch.int64), 3, source_of(0))
    after = torch.bincount(walks[walks[:, 1] == 1, 2], minlength=4)
    share = after / after.sum()
    assert share.tolist() == pytest.approx([0.5, 0.0, 0.25, 0.25], abs=2.5 / np.sqrt(after.sum().item()))


# -- visits and starts -------------------------------------------------------------------------------------------------


@given(edge_lists(), st.integers(1, 6))
def test_expected_visits_are_the_powers_of_the_walk_matrix(graph, length):
    nodes, pairs = graph
    adjacency = adjacency_of(nodes, pairs)
    walk = adjacency / np.maximum(adjacency.sum(axis=1, keepdims=True), 1)
    wanted = sum(np.ones(nodes) @ np.linalg.matrix_power(walk, t) for t in range(length))
    np.testing.assert_allclose(expected_visits(pattern_of(nodes, pairs), length), wanted)


def test_visits_have_the_expected_frequency():
    walks = uniform_walks(neighbours_of(6, EDGES), torch.arange(6).repeat(2000), 5, source_of(0))
    counts = torch.bincount(walks[walks[:, 0] < 5].flatten(), minlength=6) / 2000
    np.testing.assert_allclose(counts[:5], expected_visits(pattern_of(6, EDGES), 5)[:5], rtol=0.05)


@pytest.mark.parametrize(("nodes", "count"), [(7, 3), (7, 7), (7, 8), (4, 19), (1, 3), (5, 1)])
def test_every_pass_starts_at_every_node_once(nodes, count):
    source, drawn = source_of(0), []
    starts = Starts(nodes, source)
    for _ in range(14):
        before = starts.state_dict()["order"].clone(), starts.used.item()
        some, line = starts.draw(count, source)
        assert torch.equal(starts.order, before[0]) and starts.used.item() == before[1]
        starts.update(count, line)
        drawn.append(some)
    whole = torch.cat(drawn)
    passes = whole[: len(whole) // nodes * nodes].view(-1, nodes)
    assert torch.equal(passes.sort(dim=1).values, torch.arange(nodes).expand_as(passes))
    assert nodes < 4 or len({tuple(p.tolist()) for p in passes}) > 1


def test_starts_resume_from_their_state():
    source = source_of(0)
    one = Starts(5, source)
    one.update(3, one.draw(3, source)[1])
    other = Starts(5, source_of(9))
    other.load_state_dict(one.state_dict())
    twin = source.clone_state()
    for _ in range(4):
        (mine, line), (theirs, copy) = one.draw(3, source), other.draw(3, twin)
        assert torch.equal(mine, theirs)
        one.update(3, line)
        other.update(3, copy)
