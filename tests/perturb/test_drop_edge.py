"""Edge dropping: the number of surviving entries, their distribution, and no other change."""

import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import signnap.perturb.edges
from dense import matrix, source_of
from signnap import DropEdge
from signnap.errors import SignnapError
from signnap.graph import Graph

LAWS = ["exact", "bernoulli", "undirected"]


def view_with(edge_value=1.0, loop_value=0.0, nodes=40, edges=150, seed=0):
    rng = np.random.default_rng(seed)
    graph = Graph.from_edges(*rng.integers(0, nodes - 1, (2, edges)), np.ones((nodes, 2)))
    return graph.view(edge_value=edge_value, loop_value=loop_value)


def draws(perturbation, view, count, seed=0):
    """Which stored entries survived in each of several draws."""
    source = source_of(seed)
    return torch.stack([perturbation(view, source).stored[view.present] != 0 for _ in range(count)])


@pytest.mark.parametrize(("edge_value", "loop_value"), [(1, 0), (1, 1), (2, 3)])
@pytest.mark.parametrize("ratio", [0.0, 0.1, 0.3, 0.5, 0.99, 1.0])
def test_exact_keeps_a_fixed_number_of_stored_entries_unchanged(edge_value, loop_value, ratio):
    view = view_with(edge_value, loop_value)
    stored = len(view.present)
    assert stored == view.pattern.num_entries - (0 if loop_value else view.pattern.num_nodes)
    after = DropEdge(ratio)(view, source_of(0))
    assert len(after.present) == math.floor((1 - Fraction(str(ratio))) * stored)
    assert torch.equal(after.stored[after.present], view.stored[after.present])
    assert after.pattern is view.pattern and after.x is view.x


@pytest.mark.parametrize("ratio", ["0.1", "0.2", "0.3", "0.4", "0.6", "0.7", "0.9"])
def test_exact_rounds_as_whole_numbers_do(ratio):
    view = view_with()
    for size in range(61):
        stored = torch.zeros_like(view.stored)
        stored[:size] = 1
        after = DropEdge(float(ratio))(view.with_entries(stored), source_of(size))
        assert int(after.stored.sum()) == math.floor((1 - Fraction(ratio)) * size)


@pytest.mark.parametrize("loop_value", [0.0, 1.0])
def test_exact_is_uniform_over_entries(loop_value):
    view, count = view_with(loop_value=loop_value), 4000
    kept = draws(DropEdge(0.3), view, count).double()
    entries = kept.shape[1]
    share = math.floor(0.7 * entries) / entries
    deviation = (kept.mean(dim=0) - share) / math.sqrt(share * (1 - share) / count)
    assert deviation.abs().max() < 5
    # The sum of squares is chi-square with E − 1 degrees of freedom, up to the factor E/(E−1) of a fixed total.
    squares = float(deviation.square().sum()) * (entries - 1) / entries
    assert abs(squares - (entries - 1)) < 5 * math.sqrt(2 * (entries - 1))


def test_exact_treats_pairs_of_entries_alike():
    kept = draws(DropEdge(0.3), view_with(), 3000).double()
    entries = kept.shape[1]
    correlation = torch.corrcoef(kept.t()) - torch.eye(entries)
    assert correlation.abs().max() < 6 / math.sqrt(3000)
    assert correlation.sum() / (entries * (entries - 1)) == pytest.approx(-1 / (entries - 1), abs=1e-3)


def test_large_views_lose_exactly_what_they_should():
    view = view_with(loop_value=1.0, nodes=2000, edges=30_000)
    stored = len(view.present)
    kept = draws(DropEdge(0.3), view, 20)
    assert kept.sum(dim=1).tolist() == [math.floor(0.7 * stored)] * 20
    thirds = torch.stack([part.double().mean() for part in kept.chunk(3, dim=1)])
    assert torch.allclose(thirds, torch.tensor(0.7, dtype=torch.float64), atol=5e-3)


def test_a_bad_guess_of_the_cut_is_made_good(monkeypatch):
    """The cut among random keys is estimated first; an estimate without margin is nearly always wrong."""
    monkeypatch.setattr(signnap.perturb.edges, "math", SimpleNamespace(sqrt=lambda _: 0.0, floor=math.floor))
    view = view_with(loop_value=1.0)
    kept = draws(DropEdge(0.3), view, 500)
    assert set(kept.sum(dim=1).tolist()) == {math.floor(0.7 * len(view.present))}
    assert (kept.double().mean(dim=0) - 0.7).abs().max() < 5 * math.sqrt(0.21 / 500)


def both_directions(view, after):
    """The fractions of undirected edges that keep both directions, and exactly one direction."""
    before, kept = matrix(view.pattern, view.stored).triu(1) != 0, matrix(view.pattern, after.stored) != 0
    mutual, single = (kept & kept.t())[before], (kept ^ kept.t())[before]
    return mutual.float().mean().item(), single.float().mean().item()


@pytest.mark.parametrize("law", ["exact", "bernoulli"])
def test_directions_fall_independently(law):
    view = view_with(nodes=100, edges=3000)
    mutual, single = both_directions(view, DropEdge(0.3, law)(view, source_of(1)))
    assert mutual == pytest.approx(0.49, abs=0.06) and single == pytest.approx(0.42, abs=0.06)


def test_undirected_keeps_both_directions_or_none():
    view = view_with(2.0, 3.0, nodes=100, edges=3000)
    after = DropEdge(0.3, "undirected")(view, source_of(1))
    mutual, single = both_directions(view, after)
    assert single == 0 and mutual == pytest.approx(0.7, abs=0.05)
    loops = matrix(view.pattern, after.stored).diagonal()
    assert set(loops.tolist()) == {0.0, 3.0}


@pytest.mark.parametrize("law", ["bernoulli", "undirected"])
def test_independent_laws_keep_each_entry_at_the_rate(law):
    view, count = view_with(loop_value=1.0), 3000
    kept = draws(DropEdge(0.3, law), view, count).double()
    deviation = (kept.mean(dim=0) - 0.7) / math.sqrt(0.21 / count)
    assert deviation.abs().max() < 5
    assert kept.mean().item() == pytest.approx(0.7, abs=5 * math.sqrt(2 * 0.21 / kept.numel()))
    edges, loops = view.pattern.num_edges, view.pattern.num_nodes
    spread = 0.21 * (2 * edges + loops if law == "bernoulli" else 4 * edges + loops)
    assert kept.sum(dim=1).var().item() == pytest.approx(spread, rel=0.15)


@pytest.mark.parametrize("law", LAWS)
def test_stored_loops_fall_like_any_other_entry(law):
    view = view_with(loop_value=1.0, nodes=1000)
    after = DropEdge(0.3, law)(view, source_of(2))
    kept = after.stored[view.pattern.diagonal.long()]
    assert kept.mean().item() == pytest.approx(0.7, abs=0.07)


@pytest.mark.parametrize("law", LAWS)
def test_ends_and_the_graph_that_remains(law):
    view = view_with(2.0, 3.0)
    assert DropEdge(0.0, law)(view, source_of(0)) is view
    bare = DropEdge(1.0, law)(view, source_of(0))
    assert torch.all(bare.stored == 0)
    assert torch.equal(matrix(bare.pattern, bare.random_walk.values), torch.eye(40))


@pytest.mark.parametrize("law", LAWS)
def test_dropping_twice_only_drops_more(law):
    view, source = view_with(), source_of(3)
    once = DropEdge(0.3, law)(view, source)
    twice = DropEdge(0.3, law)(once, source)
    assert set(twice.present.tolist()) < set(once.present.tolist())
    if law == "exact":
        assert len(twice.present) == math.floor(0.7 * math.floor(0.7 * len(view.present)))


def test_bad_input():
    for ratio in (-0.1, 1.5, math.nan):
        with pytest.raises(SignnapError, match=f"the share of dropped edges is {ratio}: expected a number from 0 to 1"):
            DropEdge(ratio)
    with pytest.raises(SignnapError, match="unknown law of edge dropping 'exakt', did you mean 'exact'"):
        DropEdge(0.3, "exakt")
