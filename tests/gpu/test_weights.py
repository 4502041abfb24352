"""Normalised weights against loops."""

import math

import numpy as np
import pytest
import torch

from dense import entries, pattern_of, source_of
from signnap.ops.triton.weight_kernels import mean_with_self

HUB = [(0, leaf) for leaf in range(1, 290)]  # the row of node 0 fills several tiles
SMALL = [(0, 1), (1, 2), (2, 3), (0, 3), (3, 4), (1, 1)]  # node 5 hears only itself


@pytest.mark.parametrize("incoming", [False, True])
@pytest.mark.parametrize(("nodes", "pairs"), [(1, []), (6, SMALL), (292, HUB)], ids=["one", "small", "hub"])
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


def test_what_is_stored_is_left_alone(device):
    pattern = pattern_of(6, np.array(SMALL))
    stored = torch.ones(pattern.num_entries, device=device)
    mean_with_self(*(t.to(device) for t in (pattern.indptr, pattern.indices, pattern.mirror)), stored)
    assert torch.equal(stored, torch.ones_like(stored))
