"""Dropping unimportant entries and columns: the probabilities, and draws that follow them."""

import copy
import gc
import math
import pickle
import weakref

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from torch.utils._python_dispatch import TorchDispatchMode

import signnap.perturb.importance
from dense import edge_lists, entries, source_of
from signnap import SIGNNAP, DropEdge, DropUnimportant, FeatureNoise, Graph, SignnapError
from signnap.graph import SparseFeatures, as_dense
from signnap.interfaces import Perturbation
from signnap.perturb.importance import CENTRALITIES, column_weights, drop_probabilities

SMALL = {"dim": 8, "iterations": 4, "negatives": 8}
QUIETLY = {"device": "cpu", "stop_on_collapse": False}
names = pytest.mark.parametrize("name", CENTRALITIES)
densities = pytest.mark.parametrize("density", [0.15, 0.4, 0.9])


def graph_with(density=0.15, nodes=60, words=30, seed=0):
    """Hubs and leaves, an isolated last node, and an empty last column of otherwise random features."""
    rng = np.random.default_rng(seed)
    edges = np.array(nx.barabasi_albert_graph(nodes - 1, 2, seed=seed).edges).T
    x = (0.5 + rng.random((nodes, words))) * (rng.random((nodes, words)) < density)
    x[:, -1] = 0
    graph = Graph.from_edges(*edges, sp.csr_matrix(x))
    assert isinstance(graph.x, SparseFeatures) == (density <= 0.25)
    return graph


def regular_graph():
    return Graph.from_edges(*np.array(nx.random_regular_graph(3, 20, seed=0).edges).T, np.ones((20, 4)))


def plain(weights, rate):
    """Evaluate the formula number by number; a weight of zero has no score."""
    scores = [math.log(w) for w in weights if w > 0]
    top, mean = max(scores), sum(scores) / len(scores)
    return [min((top - math.log(w)) / (top - mean) * rate, 0.7) if w > 0 else min(rate, 0.7) for w in weights]


@names
@densities
@pytest.mark.parametrize("loop_value", [0.0, 1.0])
def test_probabilities_are_those_of_the_formula(name, density, loop_value):
    view = graph_with(density).view(loop_value=loop_value)
    of_entries, of_columns = DropUnimportant(0.3, 0.2, name).probabilities(view)
    nodes = CENTRALITIES[name](view.pattern).tolist()
    edges = [(k, row) for k, row, col in entries(view.pattern) if row != col]
    wanted = plain([nodes[row] for _, row in edges], 0.3)
    torch.testing.assert_close(of_entries[[k for k, _ in edges]], torch.tensor(wanted))
    assert (of_entries[view.pattern.diagonal] == 0.3).all(), "self-loops are neither scored nor part of the mean"
    x = as_dense(view.x).double().numpy()
    amounts = np.abs(x) if density > 0.5 else x != 0
    torch.testing.assert_close(of_columns, torch.tensor(plain((np.array(nodes) @ amounts).tolist(), 0.2)))


@names
@pytest.mark.parametrize("rate", [0.0, 0.05, 0.3, 0.7, 1.0])
def test_probabilities_lie_between_nothing_and_the_highest(name, rate):
    for probabilities in DropUnimportant(rate, rate, name).probabilities(graph_with().view(loop_value=1)):
        assert probabilities.dtype == torch.float32 and probabilities.isfinite().all()
        assert probabilities.min() >= 0 and probabilities.max() <= 0.7
        assert rate < 0.7 or float(probabilities.max()) == pytest.approx(0.7), "the least important reach it"


@names
@densities
def test_the_mean_is_the_rate_where_nothing_is_capped(name, density):
    view = graph_with(density).view(loop_value=1)
    of_entries, of_columns = DropUnimportant(1e-4, 2e-4, name).probabilities(view)
    assert float(of_entries[view.present].mean()) == pytest.approx(1e-4, rel=1e-4)
    assert float(of_columns.mean()) == pytest.approx(2e-4, rel=1e-4)


@given(edge_lists())
def test_any_graph_has_sound_probabilities(case):
    nodes, pairs = case
    view = Graph.from_edges(*pairs.T, np.eye(nodes, 3)).view(loop_value=1)
    for name in CENTRALITIES:
        for found in DropUnimportant(1e-3, 1e-3, name).probabilities(view):
            assert found.min() >= 0 and float(found.mean()) == pytest.approx(1e-3, rel=1e-4)


@names
def test_what_sends_to_a_hub_is_kept_and_what_it_sends_falls(name):
    star = Graph.from_edges([0] * 9, range(1, 10), np.ones((10, 1))).view()
    of_entries, _ = DropUnimportant(0.3, 0.0, name).probabilities(star)
    wanted = torch.where(star.pattern.rows == 0, 0.0, 0.6)  # each half of the entries: q is 0 or 2
    torch.testing.assert_close(of_entries[star.present], wanted[star.present])


@names
@pytest.mark.parametrize("loop_value", [0.0, 1.0])
def test_equal_scores_give_the_plain_rate(name, loop_value):
    view = regular_graph().view(loop_value=loop_value)
    for found, rate in zip(DropUnimportant(0.3, 0.2, name).probabilities(view), (0.3, 0.2), strict=True):
        assert torch.equal(found, torch.full_like(found, rate))


def test_rounding_does_not_make_scores_unequal():
    weights = 0.1 + torch.rand(1000, generator=source_of(0), dtype=torch.float64) * 1e-12
    assert torch.equal(drop_probabilities(weights, 0.3), torch.full((1000,), 0.3))


@names
@densities
def test_empty_columns_change_nothing_for_the_others(name, density):
    view, drop = graph_with(density).view(), DropUnimportant(0.3, 0.2, name)
    words = as_dense(view.x)[:, :-1]
    form = SparseFeatures.from_scipy if density <= 0.25 else torch.from_numpy
    few, many = (form(torch.cat([words, torch.zeros(60, k)], dim=1).numpy()) for k in (0, 9))
    found, beside = (drop.probabilities(view.with_features(x))[1] for x in (few, many))
    assert torch.equal(found, beside[:29]) and found.std() > 0
    assert torch.equal(beside[29:], torch.full((9,), 0.2))


def test_no_words_and_no_edges():
    for x in (np.zeros((4, 3)), np.ones((4, 3)), np.zeros((4, 0))):
        view = Graph.from_edges([], [], x).view(normalize=False)
        of_entries, of_columns = DropUnimportant(0.3, 0.2).probabilities(view)
        assert torch.equal(of_entries, torch.full((4,), 0.3)) and torch.equal(
            of_columns, torch.full((x.shape[1],), 0.2)
        )
        after = DropUnimportant(0.3, 0.2)(view, source_of(0))
        assert as_dense(after.x).shape == x.shape and not after.stored.any()


@densities
def test_the_layout_of_features_makes_no_difference(density, monkeypatch):
    monkeypatch.setattr(signnap.perturb.importance, "_CHUNK_ELEMENTS", 30 * 7)
    view, nodes = graph_with(density).view(), torch.rand(60, generator=source_of(0), dtype=torch.float64)
    dense = as_dense(view.x)
    sparse = SparseFeatures.from_scipy(sp.csr_matrix(dense.numpy()))
    wanted = nodes @ (dense.double() if density > 0.5 else (dense != 0).double())
    for x in (dense, -dense, sparse, sparse.with_values(-sparse.values)):
        torch.testing.assert_close(column_weights(x, nodes), wanted)


def frequencies(view, perturbation, count, seed=0):
    """How often each stored entry and each non-empty column was dropped."""
    source, before = source_of(seed), as_dense(view.x) != 0
    fallen, masked = torch.zeros(view.pattern.num_entries), torch.zeros(view.x.shape[1])
    for _ in range(count):
        after = perturbation(view, source)
        fallen += after.stored == 0
        masked += (as_dense(after.x) == 0).all(dim=0) & before.any(dim=0)
    return fallen[view.present] / count, masked / count


@names
@densities
def test_draws_follow_the_probabilities(name, density):
    view, drop, count = graph_with(density).view(loop_value=1), DropUnimportant(0.3, 0.2, name), 1500
    of_entries, of_columns = drop.probabilities(view)
    of_columns = of_columns * (as_dense(view.x) != 0).any(dim=0)
    for found, wanted in zip(frequencies(view, drop, count), (of_entries[view.present], of_columns), strict=True):
        sure = wanted == 0
        assert not found[sure].any()
        deviation = (found - wanted)[~sure] / (wanted * (1 - wanted) / count)[~sure].sqrt()
        assert deviation.abs().max() < 5 and deviation.square().mean() == pytest.approx(1, abs=0.6)


def test_the_two_directions_of_an_edge_fall_independently():
    view, source, drop = regular_graph().view(), source_of(1), DropUnimportant(0.3, 0.0)
    pair = [int(view.present[0]), int(view.pattern.mirror[view.present[0]])]
    kept = torch.stack([drop(view, source).stored[pair] for _ in range(2000)])
    assert abs(torch.corrcoef(kept.t())[0, 1]) < 0.1


@densities
def test_survivors_are_unchanged(density):
    view = graph_with(density).view(edge_value=2, loop_value=3)
    after = DropUnimportant(0.3, 0.3)(view, source_of(0))
    assert torch.equal(after.stored[after.present], view.stored[after.present])
    before, words = as_dense(view.x), as_dense(after.x)
    gone = ~words.any(dim=0)
    assert 1 < gone.sum() < 29 and torch.equal(words[:, ~gone], before[:, ~gone])


def test_the_generator_alone_decides():
    view, drop = graph_with().view(), DropUnimportant()
    first, again, other = (drop(view, source_of(seed)) for seed in (1, 1, 2))
    assert torch.equal(first.stored, again.stored) and torch.equal(first.x.kept, again.x.kept)
    assert not torch.equal(first.stored, other.stored) and isinstance(drop, Perturbation)


def test_nothing_to_do():
    view = graph_with().view()
    assert DropUnimportant(0.0, 0.0)(view, source_of(0)) is view
    assert DropUnimportant(0.3, 0.0)(view, source_of(0)).x is view.x
    assert DropUnimportant(0.0, 0.3)(view, source_of(0)).stored is view.stored


def test_after_other_perturbations():
    """Only the remaining entries are scored, and noise on words does not count as weight."""
    view = graph_with().view()
    drop = DropUnimportant(1e-4, 0.5)
    left = DropEdge(0.5)(view, source_of(0))
    assert float(drop.probabilities(left)[0][left.present].mean()) == pytest.approx(1e-4, rel=1e-4)
    noisy = FeatureNoise("uniform")(view, source_of(0))
    assert torch.equal(drop.probabilities(noisy)[1], drop.probabilities(view)[1])
    after = as_dense(drop(noisy, source_of(1)).x)
    gone = (after == 0).all(dim=0)
    assert 3 < gone.sum() < 27 and torch.equal(after[:, ~gone], as_dense(noisy.x)[:, ~gone])


@pytest.fixture
def computed(monkeypatch):
    """How often a centrality was computed."""
    calls, count = [], CENTRALITIES["degree"]
    monkeypatch.setitem(CENTRALITIES, "degree", lambda pattern: calls.append(pattern) or count(pattern))
    return calls


def test_probabilities_are_computed_once_for_every_view(computed):
    graph, drop, source = graph_with(), DropUnimportant(), source_of(0)
    one = graph.view()
    other = DropEdge(0.5)(one, source)
    for view in (one, other, one, other):
        drop(view, source)
    assert len(computed) == 2
    assert not torch.equal(drop.probabilities(one)[0], drop.probabilities(other)[0])


class Operations(TorchDispatchMode, set):
    """The names of all operations inside the block."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.add(func.overloadpacket.__name__)
        return func(*args, **kwargs or {})


@densities
def test_after_the_first_draw_nothing_waits_for_a_device(density):
    view, drop, source = graph_with(density).view(loop_value=1), DropUnimportant(), source_of(0)
    drop(view, source)
    with Operations() as later:
        drop(view, source)
    assert {"rand", "ge", "mul"} <= later <= {"rand", "ge", "mul", "index_select"}


def test_views_are_not_kept_alive():
    drop, view = DropUnimportant(), graph_with().view()
    drop(view, source_of(0))
    gone = weakref.ref(view)
    del view
    gc.collect()
    assert gone() is None and not drop._known


def test_copies_are_equal_and_start_afresh(computed):
    drop, view = DropUnimportant(0.2, 0.4, "degree"), graph_with().view()
    wanted = drop(view, source_of(0))
    for twin in (copy.copy(drop), copy.deepcopy(drop), pickle.loads(pickle.dumps(drop))):
        computed.clear()
        assert twin == drop and hash(twin) == hash(drop) and repr(twin) == repr(drop)
        assert torch.equal(twin(view, source_of(0)).stored, wanted.stored) and len(computed) == 1
    assert repr(drop) == "DropUnimportant(drop_edge=0.2, mask_features=0.4, centrality='degree')"


@names
def test_a_model_trained_with_it_repeats_itself(name):
    graph, drop = graph_with(), DropUnimportant(0.3, 0.2, name)
    train = lambda part: SIGNNAP(perturbation=part, **SMALL).fit_transform(graph, **QUIETLY)
    z = train(drop)
    assert z.shape == (60, 8) and np.isfinite(z).all()
    assert np.array_equal(z, train(drop)) and np.array_equal(z, train(copy.deepcopy(drop)))
    assert not np.array_equal(z, train(DropEdge(0.3)))


def test_seeds_trained_together_share_it_safely():
    graph, model = graph_with(), SIGNNAP(perturbation=DropUnimportant(), **SMALL)
    for found in model.fit_seeds(graph, [0, 1], **QUIETLY):
        alone = SIGNNAP(**found.get_params()).fit(graph, **QUIETLY)
        assert np.array_equal(found.transform(graph), alone.transform(graph))


def test_bad_input():
    for rate in (-0.1, 1.5, math.nan):
        with pytest.raises(SignnapError, match=f"the share of dropped edges is {rate}: expected a number from 0 to 1"):
            DropUnimportant(rate)
        with pytest.raises(
            SignnapError, match=f"the share of masked features is {rate}: expected a number from 0 to 1"
        ):
            DropUnimportant(0.3, rate)
    with pytest.raises(SignnapError, match="unknown centrality 'page rank', did you mean 'pagerank'"):
        DropUnimportant(centrality="page rank")
