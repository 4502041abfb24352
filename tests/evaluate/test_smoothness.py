"""Smoothness against a loop over edges, and graphs where the answer is known."""

import json
from dataclasses import asdict

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st

import signnap.evaluate.properties
from signnap import smoothness
from signnap.errors import SignnapError
from signnap.graph import Pattern, SparseFeatures


def source(seed=0):
    return torch.Generator().manual_seed(seed)


def gaussian(n, d, seed=0):
    return torch.randn(n, d, generator=source(seed))


def pattern(pairs, n):
    pairs = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return Pattern.from_pairs(pairs[:, 0], pairs[:, 1], n)


def complete(n):
    return pattern([(i, j) for i in range(n) for j in range(i)], n)


def slow_smoothness(z, edges):
    z = z.double().numpy()
    cosine = lambda i, j: z[i] @ z[j] / (np.linalg.norm(z[i]) * np.linalg.norm(z[j]))
    everyone = [(i, j) for i in range(len(z)) for j in range(len(z)) if i != j]
    squared = lambda pairs: np.mean([((z[i] - z[j]) ** 2).sum() for i, j in pairs])
    mean, random = np.mean([cosine(*e) for e in edges]), np.mean([cosine(*p) for p in everyone])
    return {"mean": mean, "random_pairs": random, "gap": mean - random, "dirichlet": squared(edges) / squared(everyone)}


@given(seed=st.integers(0, 50), buffer=st.sampled_from([1, 30, 10**6]))
def test_slow_twin_for_every_chunk_size(seed, buffer):
    rng = np.random.default_rng(seed)
    edges = sorted({tuple(sorted(pair)) for pair in rng.integers(0, 12, (15, 2)).tolist() if pair[0] != pair[1]})
    z = gaussian(12, 4, seed) + 0.5
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(signnap.evaluate.properties, "_CHUNK_ELEMENTS", buffer)
        found = smoothness(z, pattern(edges, 12), source())
    assert asdict(found) == pytest.approx(slow_smoothness(z, edges) | {"edges": len(edges)}, abs=1e-5)


def test_on_a_complete_graph_edges_tell_nothing():
    found = smoothness(gaussian(20, 5), complete(20), source())
    assert found.dirichlet == pytest.approx(1) and found.gap == pytest.approx(0, abs=1e-6)


def test_two_cliques_of_one_point_each_are_perfectly_smooth():
    cliques = pattern([(i, j) for side in (0, 5) for i in range(side, side + 5) for j in range(side, i)], 10)
    z = torch.eye(2).repeat_interleave(5, dim=0)
    found = smoothness(z, cliques, source())
    assert found.mean == pytest.approx(1) and found.dirichlet == 0
    assert found.random_pairs == pytest.approx(20 / 45)  # the share of pairs inside a clique


def test_opposite_neighbours_are_rougher_than_chance():
    found = smoothness(torch.tensor([[1.0], [-1.0]] * 4), pattern([(i, i + 1) for i in range(7)], 8), source())
    assert found.mean == -1 and found.dirichlet == pytest.approx(4 / (2 * 8 / 7))


def test_a_sample_of_pairs_is_close_to_all_and_never_pairs_a_node_with_itself():
    z = gaussian(60, 3) + 0.7
    ring = pattern([(i, (i + 1) % 60) for i in range(60)], 60)
    everyone = smoothness(z, ring, source())
    assert smoothness(z, ring, source(), sample=1700).random_pairs == pytest.approx(everyone.random_pairs, abs=0.05)
    distinct = torch.eye(40)
    assert smoothness(distinct, pattern([(0, 1)], 40), source(), sample=500).random_pairs == 0


def test_pairs_come_from_the_generator():
    z, ring = gaussian(60, 3), pattern([(0, 1)], 60)
    draw = lambda seed: smoothness(z, ring, source(seed), sample=50).random_pairs
    assert draw(0) == draw(0) != draw(1)


def test_rotation_scale_and_order_of_nodes_change_nothing(small_graph):
    z = gaussian(40, 5).double()
    turn = torch.linalg.qr(gaussian(5, 5, 1).double())[0]
    order = torch.randperm(40, generator=source(2))
    before = asdict(smoothness(z, small_graph.pattern, source()))
    assert asdict(smoothness(z @ turn, small_graph.pattern, source())) == pytest.approx(before)
    assert asdict(smoothness(1e-4 * z, small_graph.pattern, source())) == pytest.approx(before)
    assert asdict(smoothness(z[order], small_graph.pattern.subset(order), source())) == pytest.approx(before)
    assert smoothness(z + 9, small_graph.pattern, source()).dirichlet == pytest.approx(before["dirichlet"])


def test_no_edges_one_node_and_one_point():
    lonely = smoothness(gaussian(5, 3), pattern([], 5), source())
    assert (lonely.mean, lonely.gap, lonely.dirichlet, lonely.edges) == (None, None, None, 0)
    assert lonely.random_pairs is not None
    single = smoothness(gaussian(1, 3), pattern([], 1), source())
    assert (single.mean, single.random_pairs) == (None, None)
    for value in (0.0, 0.1, 1e8):
        point = smoothness(torch.full((5, 3), value), complete(5), source())
        assert (point.mean, point.random_pairs) == (pytest.approx(1), pytest.approx(1))
        assert point.dirichlet is None
    rounding = torch.full((5, 3), 0.1) * (1 + 1e-7 * gaussian(5, 3))
    assert smoothness(rounding, complete(5), source()).dirichlet is None
    for found in (lonely, single, point):
        assert json.loads(json.dumps(asdict(found), allow_nan=False)) == asdict(found)


def test_zero_rows():
    z = torch.tensor([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0]])
    assert smoothness(z, pattern([(0, 1)], 3), source()).mean == 1
    assert smoothness(z, pattern([(1, 2)], 3), source()).mean == 0


def test_sparse_features_equal_dense_ones(small_graph):
    assert isinstance(small_graph.x, torch.Tensor)
    sparse = SparseFeatures.from_scipy(sp.csr_matrix(small_graph.x.numpy()))
    found = smoothness(sparse, small_graph.pattern, source())
    assert asdict(found) == pytest.approx(asdict(smoothness(small_graph.x, small_graph.pattern, source())))


def test_bad_input(small_graph):
    with pytest.raises(SignnapError, match="39 embeddings for 40 nodes"):
        smoothness(gaussian(39, 3), small_graph.pattern, source())
    z = gaussian(40, 3)
    z[11, 0] = torch.inf
    with pytest.raises(SignnapError, match="node 11 holds NaN or infinity"):
        smoothness(z, small_graph.pattern, source())


def test_arrays_of_numpy_are_judged_as_tensors_are():
    z = gaussian(6, 3)
    assert smoothness(z.numpy(), complete(6), source()) == smoothness(z, complete(6), source())
