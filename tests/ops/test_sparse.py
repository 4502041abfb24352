"""Sparse operations against dense matrices, loops and autograd; gradients by finite differences in float64."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import gradcheck
from torch.nn.functional import leaky_relu

from dense import agree, edge_lists, entries, matrix, pattern_of, source_of
from signnap.ops.sparse import attention, convolve, mirrored, row_sums, sddmm, spmm

PAIRS = np.array([[0, 1], [1, 2], [2, 3], [0, 3], [3, 4], [1, 1]])
PATTERN = pattern_of(6, PAIRS)  # node 5 is isolated


def normal(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=source_of(seed), dtype=dtype)


def leaf(*shape, seed):
    return normal(*shape, seed=seed).requires_grad_()


@settings(max_examples=40)
@given(edge_lists(), st.integers(1, 4), st.integers(0, 9))
def test_spmm_is_the_dense_product(drawn, width, seed):
    pattern = pattern_of(*drawn)
    values, dense = leaf(pattern.num_entries, seed=seed), leaf(pattern.num_nodes, width, seed=seed + 1)
    agree(spmm(pattern, values, dense), matrix(pattern, values) @ dense, [values, dense])


def test_spmm_by_finite_differences():
    values, dense = leaf(PATTERN.num_entries, seed=0), leaf(6, 3, seed=1)
    assert gradcheck(lambda v, d: spmm(PATTERN, v, d), (values, dense))


@settings(max_examples=40)
@given(edge_lists(), st.integers(1, 4), st.integers(1, 3), st.booleans(), st.integers(0, 9))
def test_convolve_multiplies_one_half_and_adds_the_other(drawn, width, views, shared, seed):
    pattern = pattern_of(*drawn)
    values = [normal(pattern.num_entries, seed=seed + view) for view in range(views)]
    products = leaf(1 if shared else views, pattern.num_nodes, 2 * width, seed=seed + 10)
    bias = leaf(width, seed=seed + 11)
    left, right = products.expand(views, -1, -1).chunk(2, dim=-1)
    wanted = torch.stack([matrix(pattern, own) @ of_view for own, of_view in zip(values, left, strict=True)])
    found = convolve(pattern, products, bias, values, [mirrored(pattern, own) for own in values])
    agree(found, wanted + right + bias, [products, bias])


def test_convolve_by_finite_differences():
    values = [normal(PATTERN.num_entries, seed=view) for view in range(2)]
    transposed = [mirrored(PATTERN, own) for own in values]
    for views in (1, 2):
        inputs = leaf(views, 6, 4, seed=5), leaf(2, seed=6)
        assert gradcheck(lambda p, b: convolve(PATTERN, p, b, values, transposed), inputs)


@settings(max_examples=25)
@given(edge_lists(), st.integers(2, 3), st.integers(1, 3), st.integers(0, 9))
def test_every_head_multiplies_its_own_columns(drawn, heads, width, seed):
    pattern = pattern_of(*drawn)
    values = leaf(pattern.num_entries, heads, seed=seed)
    dense = leaf(pattern.num_nodes, heads * width, seed=seed + 1)
    blocks = zip(values.unbind(1), dense.chunk(heads, dim=1), strict=True)
    wanted = torch.cat([matrix(pattern, head) @ block for head, block in blocks], dim=1)
    agree(spmm(pattern, values, dense), wanted, [values, dense])


def test_the_gradient_uses_the_given_transposed_values():
    values, dense = normal(PATTERN.num_entries), leaf(6, 2, seed=1)
    spmm(PATTERN, values, dense, transposed=7 * mirrored(PATTERN, values)).sum().backward()
    assert torch.allclose(dense.grad, 7 * matrix(PATTERN, values).t() @ torch.ones(6, 2, dtype=torch.float64))


def test_no_warning_is_raised_and_filters_stay_as_they_are():
    """In a fresh interpreter, because torch warns of CSR tensors once per process."""
    code = (
        "import warnings, scipy.sparse, torch; warnings.simplefilter('error'); before = list(warnings.filters)\n"
        "from signnap.graph import Graph; assert warnings.filters == before\n"
        "Graph.from_edges([0], [1], torch.eye(5)).view().random_walk(torch.eye(5))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


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
    """A random choice of entries that contains the diagonal."""
    kept = torch.rand(pattern.num_entries, generator=source_of(seed)) < 0.5
    kept[pattern.diagonal.long()] = True
    return kept


def slow_attention(pattern, sender, receiver, kept, slope):
    weights = torch.zeros(pattern.num_entries, sender.shape[1], dtype=sender.dtype)
    for i in range(pattern.num_nodes):
        row = [(k, c) for k, r, c in entries(pattern) if r == i and kept[k]]
        positions, senders = (torch.tensor(column) for column in zip(*row, strict=True))
        scores = leaky_relu(sender[senders] + receiver[i], slope)
        weights = weights.index_put((positions,), scores.softmax(dim=0))
    return weights


@settings(max_examples=40)
@given(edge_lists(), st.integers(1, 3), st.integers(0, 9), st.sampled_from([0.2, 0.7]))
def test_attention_is_a_softmax_over_the_kept_entries_of_each_row(drawn, heads, seed, slope):
    pattern = pattern_of(*drawn)
    sender, receiver = (leaf(pattern.num_nodes, heads, seed=seed + more) for more in (0, 1))
    kept = kept_entries(pattern, seed)
    found = attention(pattern, sender, receiver, kept, slope)
    agree(found, slow_attention(pattern, sender, receiver, kept, slope), [sender, receiver])
    assert torch.all(found[~kept] == 0)


def test_attention_by_finite_differences():
    kept = kept_entries(PATTERN, 3)
    assert gradcheck(lambda s, r: attention(PATTERN, s, r, kept), (leaf(6, 2, seed=0), leaf(6, 2, seed=1)))


def test_attention_of_huge_scores():
    sender, receiver = (1e4 * torch.randn(6, 2, generator=source_of(seed)) for seed in (0, 1))
    weights = attention(PATTERN, sender, receiver, torch.ones(PATTERN.num_entries, dtype=torch.bool))
    assert torch.allclose(row_sums(PATTERN, weights), torch.ones(6, 2))
