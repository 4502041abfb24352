"""Attention weights with their gradients, and averaging weights, against loops and torch's autograd."""

import math

import numpy as np
import pytest
import torch
from torch.nn.functional import leaky_relu

from dense import entries, pattern_of, source_of
from signnap.ops.triton.weight_kernels import attention, attention_backward, mean_with_self

SMALL = [(0, 1), (1, 2), (2, 3), (0, 3), (3, 4), (1, 1)]  # node 5 is isolated
HUB = [*SMALL, *((0, leaf) for leaf in range(6, 75))]  # the row of node 0 fills three tiles of 32 entries
BIG = [*SMALL, *((0, leaf) for leaf in range(6, 140))]  # here it fills more than one tile of 128
SLOPE = 0.2


def slow_attention(pattern, sender, receiver, kept):
    """Row by row, the softmax of the scores of the kept entries."""
    scores = [leaky_relu(sender[c] + receiver[r], SLOPE) for _, r, c in entries(pattern)]
    weights = [torch.zeros_like(sender[0])] * len(scores)
    for row in range(pattern.num_nodes):
        chosen = [e for e in range(*pattern.indptr[row : row + 2].tolist()) if kept[e]]
        for e, share in zip(chosen, torch.stack([scores[e] for e in chosen]).softmax(0), strict=True):
            weights[e] = share
    return torch.stack(weights)


def example(nodes, pairs, heads, scale=1.0):
    """A pattern, sender and receiver terms in float64, the kept entries, and a gradient of the weights."""
    pattern = pattern_of(nodes, np.array(pairs))
    source = source_of(heads)
    sender, receiver = scale * torch.randn(2, nodes, heads, generator=source)
    kept = torch.rand(pattern.num_entries, generator=source) < 0.6
    kept[pattern.diagonal] = True
    return pattern, sender.double(), receiver.double(), kept, torch.randn(pattern.num_entries, heads, generator=source)


def arrays(device, *tensors):
    return [t.to(device, torch.float32) if t.is_floating_point() else t.to(device) for t in tensors]


CASES = [(6, SMALL, 1), (6, SMALL, 2), (6, SMALL, 3), (6, SMALL, 8), (140, BIG, 1), (75, HUB, 8)]


@pytest.mark.parametrize(("nodes", "pairs", "heads"), CASES)
def test_weights_and_gradients(device, nodes, pairs, heads):
    pattern, sender, receiver, kept, grad = example(nodes, pairs, heads)
    sender.requires_grad_(), receiver.requires_grad_()
    wanted = slow_attention(pattern, sender, receiver, kept)
    for_sender, for_receiver = torch.autograd.grad(wanted, (sender, receiver), grad.double())

    index = arrays(device, pattern.indptr, pattern.indices)
    ends = arrays(device, sender.detach(), receiver.detach())
    weights = attention(*index, *ends, kept.to(device), SLOPE)
    assert weights.shape == (pattern.num_entries, heads) and weights.dtype == torch.float32
    torch.testing.assert_close(weights.double().cpu(), wanted.detach(), rtol=1e-5, atol=1e-6)
    assert not weights[~kept.to(device)].any()

    given = arrays(device, pattern.mirror), arrays(device, grad)
    found = attention_backward(*index, *given[0], *ends, weights, *given[1], SLOPE)
    torch.testing.assert_close(found[0].double().cpu(), for_sender, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(found[1].double().cpu(), for_receiver, rtol=1e-4, atol=1e-5)


def test_huge_scores_do_not_overflow(device):
    pattern, sender, receiver, kept, _ = example(6, SMALL, 2, scale=1e4)
    found = attention(*arrays(device, pattern.indptr, pattern.indices, sender, receiver, kept), SLOPE)
    wanted = slow_attention(pattern, sender, receiver, kept)
    torch.testing.assert_close(found.double().cpu(), wanted, rtol=1e-4, atol=1e-6)


def test_a_tile_without_any_kept_entry(device):
    """Only the last entry of the hub's long row is kept, so that all tiles before it are empty."""
    pattern, sender, receiver, kept, _ = example(75, HUB, 8)
    start, stop = pattern.indptr[:2].tolist()
    kept[start:stop] = False
    kept[stop - 1] = True
    found = attention(*arrays(device, pattern.indptr, pattern.indices, sender, receiver, kept), SLOPE)
    assert torch.equal(found[stop - 1].cpu(), torch.ones(8)) and not found[start : stop - 1].any()
    assert found.isfinite().all()


def test_the_gradient_at_scores_of_zero_is_that_of_torch(device):
    pattern, _, _, kept, grad = example(6, SMALL, 2)
    zero = torch.zeros(6, 2, dtype=torch.float64, requires_grad=True)
    wanted = torch.autograd.grad(slow_attention(pattern, zero, torch.zeros(6, 2), kept), zero, grad.double())[0]
    index = arrays(device, pattern.indptr, pattern.indices)
    ends = arrays(device, zero.detach(), zero.detach())
    weights = attention(*index, *ends, kept.to(device), SLOPE)
    found = attention_backward(*index, pattern.mirror.to(device), *ends, weights, grad.to(device), SLOPE)
    torch.testing.assert_close(found[0].double().cpu(), wanted, rtol=1e-4, atol=1e-6)


def test_arguments_need_not_be_contiguous(device):
    pattern, sender, receiver, kept, grad = example(6, SMALL, 2)
    index = arrays(device, pattern.indptr, pattern.indices)
    ends, mirror, grad = arrays(device, sender, receiver), pattern.mirror.to(device), grad.to(device)
    flipped = [x.t().contiguous().t() for x in (*ends, grad)]
    weights = attention(*index, *ends, kept.to(device), SLOPE)
    assert torch.equal(attention(*index, *flipped[:2], kept.to(device), SLOPE), weights)
    wanted = attention_backward(*index, mirror, *ends, weights, grad, SLOPE)
    found = attention_backward(*index, mirror, *flipped[:2], weights.t().contiguous().t(), flipped[2], SLOPE)
    assert all(torch.equal(a, b) for a, b in zip(found, wanted, strict=True))


STAR = [(0, leaf) for leaf in range(1, 290)]  # the row of node 0 fills several tiles


@pytest.mark.parametrize("incoming", [False, True])
@pytest.mark.parametrize(("nodes", "pairs"), [(1, []), (6, SMALL), (292, STAR)], ids=["one", "small", "hub"])
def test_weights_are_the_mean_with_the_node_itself(device, nodes, pairs, incoming):
    pattern = pattern_of(nodes, np.array(pairs, dtype=np.int64).reshape(-1, 2))
    stored = torch.rand(pattern.num_entries, generator=source_of(nodes)) + 0.5
    stored[torch.rand(pattern.num_entries, generator=source_of(1)) < 0.4] = 0
    arrays = [t.to(device) for t in (pattern.indptr, pattern.indices, pattern.mirror, stored)]
    found, transposed = mean_with_self(*arrays, incoming=incoming)

    opposite = {(r, c): stored[e].item() for e, r, c in entries(pattern)}
    values = [
        ((opposite[c, r] != 0 or r == c) if incoming else stored[e].item()) + (r == c) for e, r, c in entries(pattern)
    ]
    sums = np.zeros(nodes)
    for e, r, _ in entries(pattern):
        sums[r] += values[e]
    wanted = {(r, c): values[e] / sums[r] for e, r, c in entries(pattern)}
    for e, r, c in entries(pattern):
        assert math.isclose(found[e].item(), wanted[r, c], rel_tol=1e-5, abs_tol=1e-8), (r, c)
        assert transposed[e].item() == found[pattern.mirror[e]].item()


def test_stored_values_are_not_modified(device):
    pattern = pattern_of(6, np.array(SMALL))
    stored = torch.ones(pattern.num_entries, device=device)
    mean_with_self(*(t.to(device) for t in (pattern.indptr, pattern.indices, pattern.mirror)), stored)
    assert torch.equal(stored, torch.ones_like(stored))
