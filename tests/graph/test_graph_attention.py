"""Attention over a pattern against loops and autograd, and by finite differences in float64."""

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import gradcheck
from torch.nn.functional import leaky_relu

from dense import agree, edge_lists, entries, pattern_of, source_of
from signnap.ops.sparse import attention, row_sums

PATTERN = pattern_of(6, np.array([[0, 1], [1, 2], [2, 3], [0, 3], [3, 4], [1, 1]]))  # node 5 is isolated


def leaf(*shape, seed):
    return torch.randn(*shape, generator=source_of(seed), dtype=torch.float64).requires_grad_()


def kept_entries(pattern, seed):
    """A random choice of entries that leaves every row its own."""
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
