"""Coordinates of nodes in padded subgraphs, against one eigendecomposition for each graph by itself."""

import pytest
import torch
from blocks import blocks
from torch.nn.functional import normalize

from dense import source_of
from signnap.encoders.subgraphs import positional


def slow(block, width):
    """|coordinates| of one graph without padding, in float64, before rows get length one; and its eigenvalues."""
    degree = block.sum(dim=1)
    scale = torch.where(degree > 0, degree.clamp(min=1e-12).rsqrt(), 0)
    values, vectors = torch.linalg.eigh((scale[:, None] * block * scale[None, :]).double())
    k = max(0, min(len(block) - 2, width))
    return vectors.flip(1)[:, :k], values.flip(0)[:k]


@pytest.mark.parametrize("width", [3, 8, 20])
def test_eigenvectors_of_every_subgraph_by_itself(width):
    adjacency, real = blocks([12, 9, 4, 3, 2, 1], room=14)
    found = positional(adjacency.double(), real, width, source_of(0))
    assert found.shape == (6, 14, width) and found.isfinite().all()
    for mine, mask, block in zip(found, real, adjacency, strict=True):
        vectors, _ = slow(block[mask][:, mask], width)
        k = vectors.shape[1]
        assert (mine[~mask] == 0).all() and (mine[:, k:] == 0).all()
        # No matter which basis of an eigenspace was found, and with which signs: products of rows agree.
        wanted = normalize(vectors, dim=1)
        torch.testing.assert_close(mine[mask].abs()[:, :k], wanted.abs(), atol=1e-6, rtol=0)


def test_rows_have_length_one_and_few_nodes_have_none():
    adjacency, real = blocks([10, 2, 1], room=10)
    norms = positional(adjacency, real, 8, source_of(0)).norm(dim=2)
    torch.testing.assert_close(norms[0], torch.ones(10))
    assert (norms[1:] == 0).all()


def test_signs_are_random_and_the_generator_s():
    adjacency, real = blocks([10] * 40, room=10)
    one, same, other = (positional(adjacency, real, 4, source_of(seed)) for seed in (0, 0, 1))
    assert torch.equal(one, same)
    torch.testing.assert_close(one.abs(), other.abs())
    agreeing = ((one * other).sum(dim=1) > 0).float().mean()
    assert 0.3 < agreeing < 0.7


def test_an_edge_in_one_direction_counts_half():
    adjacency, real = blocks([10], room=10)
    lower = adjacency.tril()
    found, wanted = (positional(part.double(), real, 5, source_of(0)) for part in (lower, (lower + lower.mT) / 2))
    torch.testing.assert_close(found, wanted)
