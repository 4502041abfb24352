"""Diffusion by iteration against the dense inverse, and its encoder against plain matrices (spec §4.5)."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import prelu

from dense import agree, asymmetric_view, edge_lists, matrix, pattern_of, permuted, source_of
from signnap.encoders import diffusion
from signnap.encoders.diffusion import EdgesAndDiffusion, diffuse
from signnap.errors import SignnapError
from signnap.graph import SparseFeatures, View, as_dense


def clean_view(nodes, pairs, features=5):
    pattern = pattern_of(nodes, pairs)
    x = torch.randn(nodes, features, generator=source_of(nodes), dtype=torch.float64)
    return View(pattern, torch.ones(pattern.num_entries, dtype=torch.float64), x)


def symmetric(view):
    """D^{-1/2} (A+I) D^{-1/2} from the matrix: every entry and every self-loop counts once."""
    kept = (matrix(view.pattern, view.stored) != 0).double()
    kept.fill_diagonal_(1)
    scale = kept.sum(dim=1).rsqrt()
    return scale[:, None] * kept * scale


def inverse(view, alpha):
    return alpha * torch.linalg.inv(
        torch.eye(view.pattern.num_nodes, dtype=torch.float64) - (1 - alpha) * symmetric(view)
    )


def stepwise(view, dense, alpha, hops):
    """The iteration written out, with torch's own gradient."""
    spread = dense
    for _ in range(hops):
        spread = (1 - alpha) * symmetric(view) @ spread + alpha * dense
    return spread


def drawn(in_dim=5, dim=4, **constants):
    """The encoder with biases and slopes that are not all the same."""
    encoder = EdgesAndDiffusion(in_dim, dim, **constants).double()
    for number, parameter in enumerate(encoder.parameters()):
        parameter.data = torch.randn(parameter.shape, generator=source_of(number), dtype=torch.float64)
    return encoder


# -- the product with S ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [1, 3, 2 * diffusion._COLUMNS + 1])
@pytest.mark.parametrize("seed", [0, 1])
def test_values_and_gradients_are_those_of_the_steps_written_out(seed, width):
    view = asymmetric_view(seed=seed)  # whose transpose is another matrix
    dense = torch.randn(9, width, generator=source_of(seed), dtype=torch.float64, requires_grad=True)
    agree(diffuse(view.symmetric, dense, 0.3, 7), stepwise(view, dense, 0.3, 7), [dense])


def test_columns_that_lie_apart_are_the_same():
    view = asymmetric_view()
    wide = torch.randn(9, 8, generator=source_of(0), dtype=torch.float64, requires_grad=True)
    agree(diffuse(view.symmetric, wide[:, 2:5]), stepwise(view, wide[:, 2:5], 0.2, 20), [wide])


@given(edge_lists(), st.sampled_from([0.1, 0.2, 0.7, 1.0]), st.integers(1, 25))
def test_the_error_against_the_dense_inverse_is_within_its_bound(graph, alpha, hops):
    view = clean_view(*graph)
    dense = torch.randn(graph[0], 3, generator=source_of(hops), dtype=torch.float64)
    wanted = inverse(view, alpha) @ dense
    error = (diffuse(view.symmetric, dense, alpha, hops) - wanted).norm(dim=0)
    assert (error <= (1 - alpha) ** hops * dense.norm(dim=0) + 1e-6).all()


@given(edge_lists())
def test_the_diffusion_is_symmetric_with_eigenvalues_up_to_one(graph):
    view = clean_view(*graph)
    found = diffuse(view.symmetric, torch.eye(graph[0], dtype=torch.float64), hops=150)
    torch.testing.assert_close(found, inverse(view, 0.2), rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(found, found.t())
    eigenvalues = torch.linalg.eigvalsh(found)
    assert eigenvalues.min() > 0
    assert eigenvalues.max().item() == pytest.approx(1)


def test_what_the_graph_keeps_the_diffusion_keeps():
    view = clean_view(6, np.array([[0, 1], [1, 2], [3, 4]]))
    steady = (view.pattern.degree + 1).double().sqrt()[:, None]  # the leading eigenvector of every component
    torch.testing.assert_close(diffuse(view.symmetric, steady, hops=3), steady)


def test_no_step_is_remembered():
    view, kept = asymmetric_view(), []
    dense = torch.randn(9, 3, dtype=torch.float64, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
        diffuse(view.symmetric, dense)
    assert not kept


# -- the encoder -----------------------------------------------------------------------------------------------------


def test_the_encoder_is_its_formula():
    encoder, view = drawn(alpha=0.4, hops=60), asymmetric_view()
    parts = [encoder.edges, encoder.diffusion]
    wanted = [
        prelu(over @ view.x @ part.weight + part.bias, part.then.weight)
        for over, part in zip((symmetric(view), inverse(view, 0.4)), parts, strict=True)
    ]
    agree(encoder(view), sum(wanted), encoder.parameters(), rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(encoder.finish(encoder.products(view), view), tuple(wanted), rtol=1e-9, atol=1e-9)


def test_first_weights():
    encoder = EdgesAndDiffusion(300, 100)
    assert (encoder.diffusion.alpha, encoder.diffusion.hops) == (0.2, 20)
    for part in (encoder.edges, encoder.diffusion):
        assert part.weight.abs().max().item() == pytest.approx((6 / 400) ** 0.5, rel=1e-3)
        assert not part.bias.any() and part.then.weight.tolist() == [0.25]
    assert not torch.equal(encoder.edges.weight, encoder.diffusion.weight)


def test_renumbered_nodes_renumber_the_embedding():
    encoder, view = drawn(), asymmetric_view()
    nodes = torch.randperm(9, generator=source_of(0))
    torch.testing.assert_close(encoder(permuted(view, nodes)), encoder(view)[nodes])


def test_what_happens_elsewhere_does_not_reach_an_isolated_node():
    encoder, view = drawn(), clean_view(4, np.array([[0, 1], [1, 2]]))
    parts = [encoder.edges, encoder.diffusion]
    alone = sum(prelu(view.x[3] @ part.weight + part.bias, part.then.weight) for part in parts)
    torch.testing.assert_close(encoder(view)[3], alone)


def test_sparse_features_are_the_same_as_dense_ones(small_graph):
    view = small_graph.view()
    dense = view.with_features(as_dense(view.x))
    sparse = view.with_features(SparseFeatures.from_scipy(dense.x.numpy()))
    encoder = drawn(12).float()
    agree(encoder(sparse), encoder(dense), encoder.parameters(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("alpha", [0.0, -0.1, 1.5])
def test_a_diffusion_restarts_now_and_then(alpha):
    with pytest.raises(SignnapError, match=f"alpha is {alpha}: expected a number above 0 and up to 1"):
        EdgesAndDiffusion(5, 4, alpha=alpha)
