"""Sparse kernels against dense matrices and loops: values, and gradients by finite differences in float64."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import gradcheck

from dense import agree, edge_lists, entries, matrix, pattern_of, source_of
from signnap.graph import dropout, row_softmax, row_sums, sddmm, spmm
from signnap.graph.kernels import mirrored

PAIRS = np.array([[0, 1], [1, 2], [2, 3], [0, 3], [3, 4], [1, 1]])
PATTERN = pattern_of(6, PAIRS)  # node 5 is isolated


def normal(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=source_of(seed), dtype=dtype)


def leaf(*shape, seed):
    return normal(*shape, seed=seed).requires_grad_()


@settings(max_examples=40)
@given(edge_lists(), st.integers(1, 4), st.booleans(), st.integers(0, 9))
def test_spmm_is_the_dense_product(drawn, width, with_plus, seed):
    pattern = pattern_of(*drawn)
    values, dense = leaf(pattern.num_entries, seed=seed), leaf(pattern.num_nodes, width, seed=seed + 1)
    plus = leaf(pattern.num_nodes, width, seed=seed + 2) if with_plus else None
    wanted = matrix(pattern, values) @ dense + (plus if with_plus else 0)
    agree(spmm(pattern, values, dense, plus), wanted, [t for t in (values, dense, plus) if t is not None])


def test_spmm_by_finite_differences():
    values, dense, plus = leaf(PATTERN.num_entries, seed=0), leaf(6, 3, seed=1), leaf(6, 3, seed=2)
    assert gradcheck(lambda v, d, p: spmm(PATTERN, v, d, p), (values, dense, plus))


def test_spmm_takes_the_transposed_values_it_is_given():
    values, dense = normal(PATTERN.num_entries), leaf(6, 2, seed=1)
    spmm(PATTERN, values, dense, transposed=7 * mirrored(PATTERN, values)).sum().backward()
    assert torch.allclose(dense.grad, 7 * matrix(PATTERN, values).t() @ torch.ones(6, 2, dtype=torch.float64))


def test_spmm_in_float32_on_columns_that_are_not_contiguous():
    values, stacked = normal(PATTERN.num_entries, dtype=torch.float32), normal(6, 3, 4, dtype=torch.float32)
    for head in range(3):
        wanted = matrix(PATTERN, values) @ stacked[:, head]
        assert torch.allclose(spmm(PATTERN, values, stacked[:, head]), wanted, atol=1e-6)


@given(edge_lists())
def test_mirrored_is_the_transpose(drawn):
    pattern = pattern_of(*drawn)
    values = normal(pattern.num_entries)
    assert torch.equal(matrix(pattern, mirrored(pattern, values)), matrix(pattern, values).t())


@settings(max_examples=40)
@given(edge_lists(), st.integers(1, 4))
def test_sddmm_is_one_dot_product_per_entry(drawn, width):
    pattern = pattern_of(*drawn)
    left, right = normal(pattern.num_nodes, width), normal(pattern.num_nodes, width, seed=1)
    wanted = torch.stack([left[r] @ right[c] for _, r, c in entries(pattern)])
    assert torch.allclose(sddmm(pattern, left, right), wanted)
    assert torch.allclose(sddmm(pattern, left.t().contiguous().t(), right), wanted)


@pytest.mark.parametrize("shape", [(), (1,), (3,)])
@settings(max_examples=25)
@given(drawn=edge_lists())
def test_row_sums(shape, drawn):
    pattern = pattern_of(*drawn)
    values = normal(pattern.num_entries, *shape)
    assert torch.allclose(row_sums(pattern, values), matrix(pattern, values).sum(dim=1))


def kept_entries(pattern, seed):
    """A random choice of entries that leaves every row its own."""
    kept = torch.rand(pattern.num_entries, generator=source_of(seed)) < 0.5
    kept[pattern.diagonal.long()] = True
    return kept


def slow_softmax(pattern, scores, kept):
    rows = [[k for k, r, _ in entries(pattern) if r == i and kept[k]] for i in range(pattern.num_nodes)]
    weights = torch.zeros_like(scores)
    for row in rows:
        weights = weights.index_put((torch.tensor(row),), scores[row].softmax(dim=0))
    return weights


@settings(max_examples=40)
@given(edge_lists(), st.integers(1, 3), st.integers(0, 9))
def test_row_softmax_is_a_softmax_over_the_kept_entries_of_each_row(drawn, heads, seed):
    pattern = pattern_of(*drawn)
    scores, kept = leaf(pattern.num_entries, heads, seed=seed), kept_entries(pattern, seed)
    found = row_softmax(pattern, scores, kept)
    agree(found, slow_softmax(pattern, scores, kept), [scores])
    assert torch.all(found[~kept] == 0)
    assert torch.all(torch.autograd.grad(found.sin().sum(), scores)[0][~kept] == 0)


def test_row_softmax_by_finite_differences():
    kept = kept_entries(PATTERN, 3)
    assert gradcheck(lambda s: row_softmax(PATTERN, s, kept), (leaf(PATTERN.num_entries, 2, seed=0),))


def test_row_softmax_of_huge_scores():
    scores = 1e4 * normal(PATTERN.num_entries, 2, dtype=torch.float32)
    weights = row_softmax(PATTERN, scores, torch.ones(PATTERN.num_entries, dtype=torch.bool))
    assert torch.allclose(row_sums(PATTERN, weights), torch.ones(6, 2))


RATES = [1 / 256, 0.25, 0.5, 255 / 256, 0.3, 0.6, 0.999]


@pytest.mark.parametrize("p", RATES)
def test_dropout_keeps_its_rate_and_its_mean(p):
    n = 400_000
    torch.manual_seed(1)
    out = dropout(torch.ones(n), p)
    scale = out.max().item()
    assert set(out.unique().tolist()) == {0.0, scale}
    assert scale == pytest.approx(1 / (1 - p), rel=1 / 65536 / (1 - p))
    if p * 256 == int(p * 256):
        assert scale == np.float32(1 / (1 - p))
    assert (out > 0).float().mean().item() == pytest.approx(1 - p, abs=5 * math.sqrt(p * (1 - p) / n))
    assert out.double().mean().item() == pytest.approx(1, abs=5 * math.sqrt(p / (1 - p) / n))


@pytest.mark.parametrize("p", [0.5, 0.6])
def test_dropout_is_independent_between_neighbours(p):
    torch.manual_seed(2)
    kept = (dropout(torch.ones(200_000), p) > 0).double() - (1 - p)
    for lag in (1, 2, 3, 4, 7, 8, 16):
        correlation = (kept[lag:] * kept[:-lag]).mean() / (p * (1 - p))
        assert abs(correlation) < 5 / math.sqrt(200_000)


@pytest.mark.parametrize("p", [0.5, 0.3])
@pytest.mark.parametrize("rectify", [False, True])
@pytest.mark.parametrize("shape", [(3, 5), (1,), (0, 4), (7, 8, 3)])
def test_dropout_passes_the_gradient_of_what_it_kept(p, rectify, shape):
    torch.manual_seed(3)
    x = normal(*shape, dtype=torch.float32).requires_grad_()
    out = dropout(x, p, rectify=rectify)
    out.backward(torch.full(shape, 2.0))
    kept = out != 0
    scale = (out / x)[kept]
    assert torch.allclose(scale, torch.full_like(scale, 1 / (1 - p)), rtol=1e-4)
    assert torch.allclose(x.grad, torch.where(kept, 2 / (1 - p), 0.0), rtol=1e-4)
    if rectify:
        assert torch.all(x[kept] > 0)


def test_rectified_dropout_is_dropout_of_relu():
    x = normal(40, 9, dtype=torch.float32)
    for p in (0.5, 0.3):
        torch.manual_seed(4)
        wanted = dropout(torch.relu(x), p)
        torch.manual_seed(4)
        assert torch.equal(dropout(x, p, rectify=True), wanted)


def test_dropout_at_its_ends_and_outside_training():
    x = normal(5, 5)
    assert torch.equal(dropout(x, 0.0), x)
    assert torch.equal(dropout(x, 1.0), torch.zeros_like(x))
    assert torch.equal(dropout(x, 0.5, training=False), x)
    assert torch.equal(dropout(x, 0.5, training=False, rectify=True), torch.relu(x))
    assert torch.equal(dropout(x, 0.0, rectify=True), torch.relu(x))


def test_dropout_draws_from_torchs_default_generator():
    x, state = torch.ones(1000), torch.get_rng_state()
    first, second = dropout(x, 0.5), dropout(x, 0.5)
    torch.set_rng_state(state)
    assert torch.equal(dropout(x, 0.5), first)
    assert not torch.equal(first, second)
