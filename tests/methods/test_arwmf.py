"""ARWMF: the invariants of spec §4.3, and its blocks of columns against the whole matrix written down."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dense import edge_lists, pattern_of, source_of
from signnap import Graph
from signnap.errors import SignnapError
from signnap.graph import SparseFeatures
from signnap.methods import arwmf
from signnap.methods.arwmf import ARWMF, AttributedWalks, embed
from signnap.methods.settings import resolve


def whole(pattern, x, window):
    """M as the paper writes it, in float64: B of nodes and attributes, its powers, and a logarithm."""
    adjacency = torch.from_numpy(pattern.to_scipy().toarray()).double()
    x = x.double().abs()
    x = x / x.sum(dim=1, keepdim=True).clamp(min=1e-300)
    to_attributes = torch.diag(adjacency.sum(dim=1)) @ x
    corner = torch.zeros(x.shape[1], x.shape[1], dtype=torch.float64)
    both = torch.cat([torch.cat([adjacency, to_attributes], 1), torch.cat([to_attributes.t(), corner], 1)])
    root = torch.diag(both.sum(dim=0).pow(-0.5).nan_to_num(posinf=0))
    step = root @ both @ root
    powers = sum(torch.linalg.matrix_power(step, r) for r in range(1, window + 1)) / window
    nodes = len(adjacency)
    return (both.sum() * root @ powers @ root)[:nodes, :nodes].clamp(min=1).log(), step


def features(nodes, width=4, seed=0):
    """Some with a sign, some zero, and a node with none."""
    x = torch.randn(nodes, width, generator=source_of(seed)).relu() * torch.tensor([1.0, -2.0, 3.0, 0.0])[:width]
    x[0] = 0
    return x


def columns(walks):
    return walks.columns(torch.arange(len(walks.scale)))


def parts(small_graph):
    view = small_graph.view()
    x = view.x if isinstance(view.x, torch.Tensor) else view.x.dense()
    return view.pattern, x


# -- the matrix ------------------------------------------------------------------------------------------------------


@given(edge_lists(), st.integers(0, 10**6), st.integers(1, 6), st.booleans())
def test_blocks_of_columns_are_those_of_the_whole(edges, seed, window, sparse):
    pattern, x = pattern_of(*edges), features(edges[0], seed=seed)
    given_x = SparseFeatures.from_scipy(x.numpy()) if sparse else x
    found = columns(AttributedWalks.over(pattern, given_x, window))
    torch.testing.assert_close(found.double(), whole(pattern, x, window)[0], rtol=1e-4, atol=1e-5)
    assert (found >= 0).all()
    torch.testing.assert_close(found, found.t(), rtol=1e-4, atol=1e-5)


def test_the_walk_s_largest_eigenvalue_is_one(small_graph):
    pattern, x = parts(small_graph)
    walks = AttributedWalks.over(pattern, x, 5)
    edges, attributes = walks.neighbours(torch.eye(40)), walks.attributes
    step = torch.cat([torch.cat([edges, attributes], 1), torch.cat([attributes.t(), torch.zeros(12, 12)], 1)])
    torch.testing.assert_close(step.double(), whole(pattern, x, 5)[1], rtol=1e-4, atol=1e-6)
    assert torch.linalg.eigvalsh(step)[-1].item() == pytest.approx(1, abs=1e-5)


def test_without_attributes_it_is_netmf_with_one_negative(small_graph):
    pattern, x = parts(small_graph)
    adjacency = torch.from_numpy(pattern.to_scipy().toarray()).double()
    degree = adjacency.sum(dim=1)
    inverse = torch.diag(torch.where(degree > 0, 1 / degree, 0))
    step = inverse @ adjacency
    walks = sum(torch.linalg.matrix_power(step, r) for r in range(1, 4)) / 3
    wanted = (degree.sum() * walks @ inverse).clamp(min=1).log()
    found = columns(AttributedWalks.over(pattern, torch.zeros_like(x), 3))
    torch.testing.assert_close(found.double(), wanted, rtol=1e-4, atol=1e-5)
    assert not torch.allclose(found, columns(AttributedWalks.over(pattern, x, 3)), atol=0.1)


def test_features_count_by_their_size_and_rows_by_themselves(small_graph):
    pattern, x = parts(small_graph)
    wanted = columns(AttributedWalks.over(pattern, x, 5))
    scale = torch.rand(40, 1, generator=source_of(0)) + 0.5
    torch.testing.assert_close(columns(AttributedWalks.over(pattern, -x * scale, 5)), wanted, rtol=1e-4, atol=1e-5)


def test_products_are_made_block_by_block(small_graph, monkeypatch):
    walks = AttributedWalks.over(*parts(small_graph), 5)
    dense = torch.randn(40, 3, generator=source_of(0))
    wanted, seen = columns(walks) @ dense, []
    monkeypatch.setattr(arwmf, "_COLUMNS", 7)
    inner = AttributedWalks.columns
    monkeypatch.setattr(AttributedWalks, "columns", lambda self, nodes: seen.append(len(nodes)) or inner(self, nodes))
    torch.testing.assert_close(walks.times(dense), wanted, rtol=1e-4, atol=1e-4)
    assert seen == [7, 7, 7, 7, 7, 5]


# -- the embedding ---------------------------------------------------------------------------------------------------


def test_the_embedding_is_u_root_s(small_graph):
    left, sizes, _ = torch.linalg.svd(whole(*parts(small_graph), 5)[0])
    z = torch.from_numpy(ARWMF(dim=6, passes=5).fit_transform(small_graph)).double()
    wanted = left[:, :6] * sizes[:6].sqrt()
    torch.testing.assert_close(z * (z * wanted).sum(dim=0).sign(), wanted, rtol=1e-3, atol=1e-3)
    assert (z.gather(0, z.abs().argmax(dim=0, keepdim=True)) > 0).all()


def test_where_the_search_is_short_the_error_falls_with_the_rank_and_with_passes():
    source = np.random.default_rng(0)
    x = (source.random((300, 80)) < 0.05).astype(np.float32)
    graph = Graph.from_edges(*source.integers(0, 300, (2, 700)), x)
    walks = AttributedWalks.over(graph.pattern, graph.x, 5)
    square = columns(walks) @ columns(walks)

    def error(dim, passes):
        z = embed(walks, dim, passes, source_of(0)).double()
        unit = z / z.norm(dim=0)
        return float((square.double() - unit @ (unit.t() @ square.double())).norm())

    ranks, passes = [error(dim, 3) for dim in (2, 8, 32, 64)], [error(8, passes) for passes in (1, 2, 4)]
    assert ranks == sorted(ranks, reverse=True) and passes == sorted(passes, reverse=True)


def test_more_columns_than_nodes_are_zero(small_graph):
    z = ARWMF(dim=64).fit_transform(small_graph)
    assert z.shape == (40, 64) and not z[:, 40:].any() and z[:, 0].any()
    matrix = whole(*parts(small_graph), 5)[0].numpy()
    np.testing.assert_allclose((z @ z.T) @ (z @ z.T), matrix @ matrix, rtol=1e-3, atol=1e-2)


def test_nodes_that_no_walk_reaches_stay_at_zero():
    x = np.eye(6, dtype=np.float32)
    z = ARWMF(dim=4).fit_transform(Graph.from_edges([0, 1], [1, 2], x))
    assert np.isfinite(z).all() and np.abs(z[3:]).max() < 1e-5 and (np.abs(z[:3]).max(axis=1) > 0.1).all()
    assert not ARWMF(dim=4).fit_transform(Graph.from_edges([], [], x)).any()


def test_the_settings_of_the_paper_s_comparison():
    found = resolve({"method": "arwmf"}, dataset="coauthor_physics")
    assert (found.dim, found.window, found.split) == (200, 5, "none")
    for name in ("window", "passes"):
        with pytest.raises(SignnapError, match=f"{name} is 0: expected a whole number of at least 1"):
            resolve({"method": "arwmf", name: 0})


def test_it_embeds_only_its_own_graph(small_graph, sparse_graph):
    model = ARWMF(dim=4).fit(small_graph)
    with pytest.raises(SignnapError, match="only the graph that it was trained on"):
        model.transform(sparse_graph)
    with pytest.raises(SignnapError, match="expected split none"):
        ARWMF(split="inductive:per-class:5:5").fit(small_graph)
