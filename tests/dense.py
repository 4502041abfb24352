"""Conversion of views to dense matrices and back, for the slow twins in the tests."""

import numpy as np
import torch
from hypothesis import settings
from hypothesis import strategies as st

from signnap.graph import Pattern, View

# A busy machine must not fail a test.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")


@st.composite
def edge_lists(draw, max_nodes=7):
    """A number of nodes and any list of pairs: with duplicates, loops and both directions, or empty."""
    nodes = draw(st.integers(1, max_nodes))
    node = st.integers(0, nodes - 1)
    pairs = draw(st.lists(st.tuples(node, node), max_size=3 * nodes))
    return nodes, np.array(pairs, dtype=np.int64).reshape(-1, 2)


def source_of(seed):
    return torch.Generator().manual_seed(seed)


def pattern_of(nodes, pairs):
    return Pattern.from_pairs(pairs[:, 0], pairs[:, 1], nodes)


def entries(pattern):
    """(position, row, column) of every stored entry."""
    rows = np.repeat(np.arange(pattern.num_nodes), np.diff(pattern.indptr.numpy()))
    return list(zip(range(len(rows)), rows.tolist(), pattern.indices.tolist(), strict=True))


def matrix(pattern, values):
    """Entry values as a dense matrix, differentiably."""
    _, rows, cols = (torch.tensor(t) for t in zip(*entries(pattern), strict=True))
    dense = torch.zeros(pattern.num_nodes, pattern.num_nodes, *values.shape[1:], dtype=values.dtype)
    return dense.index_put((rows, cols), values)


def view_of(stored, x):
    """The view whose stored adjacency is this matrix, symmetric or not."""
    stored = torch.as_tensor(stored)
    rows, cols = np.nonzero(stored.numpy())
    pattern = Pattern.from_pairs(rows, cols, len(stored))
    return View(pattern, torch.stack([stored[r, c] for _, r, c in entries(pattern)]), x)


def asymmetric_view(nodes=9, features=5, seed=0, dtype=torch.float64):
    """A perturbed view: it keeps many edges in one direction only, stores some loops, and has an isolated node."""
    source = source_of(seed)
    stored = 2.0 * (torch.rand(nodes, nodes, generator=source) < 0.3)
    stored.diagonal().copy_(3.0 * (torch.rand(nodes, generator=source) < 0.5))
    stored[-1] = stored[:, -1] = 0
    return view_of(stored.to(dtype), torch.randn(nodes, features, generator=source).to(dtype))


def permuted(view, order):
    """The same view with its nodes renumbered: new node i is old node order[i]."""
    return view_of(matrix(view.pattern, view.stored)[order][:, order], view.x[order])


def agree(found, wanted, inputs, **tolerance):
    """Assert equal values, and equal gradients of a nonlinear function of the values in every input."""
    torch.testing.assert_close(found, wanted, **tolerance)
    inputs = list(inputs)
    ours, twins = (torch.autograd.grad(out.sin().sum(), inputs, retain_graph=True) for out in (found, wanted))
    for mine, twin in zip(ours, twins, strict=True):
        torch.testing.assert_close(mine, twin, **tolerance)
