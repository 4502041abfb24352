"""Directions, effective rank, uniformity and alignment: slow twins, closed forms and invariances."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from signnap.ops.geometry import alignment, cosines, directions, effective_rank, uniformity


def gaussian(n, d, seed=0):
    return torch.randn(n, d, generator=torch.Generator().manual_seed(seed))


def rotation(d):
    return torch.linalg.qr(gaussian(d, d, seed=7).double())[0]


def slow_rank(z):
    z = z.double().numpy()
    singular = np.linalg.svd(z - z.mean(axis=0), compute_uv=False)
    p = singular / singular.sum()
    return math.exp(-sum(x * math.log(x) for x in p if x > 0))


def slow_uniformity(z):
    unit = [row / np.linalg.norm(row) for row in z.double().numpy()]
    pairs = [math.exp(-2 * ((a - b) ** 2).sum()) for i, a in enumerate(unit) for j, b in enumerate(unit) if i != j]
    return math.log(sum(pairs) / len(pairs))


@given(n=st.integers(2, 12), d=st.integers(1, 12), seed=st.integers(0, 99))
def test_slow_twins(n, d, seed):
    z, other = gaussian(n, d, seed), gaussian(n, d, seed + 100)
    assert effective_rank(z) == pytest.approx(slow_rank(z), rel=1e-5)
    assert uniformity(z) == pytest.approx(slow_uniformity(z), abs=1e-5)
    unit = [(a / np.linalg.norm(a), b / np.linalg.norm(b)) for a, b in zip(z.numpy(), other.numpy(), strict=True)]
    assert alignment(z, other) == pytest.approx(np.mean([((a - b) ** 2).sum() for a, b in unit]), abs=1e-5)


def test_closed_forms():
    corners = torch.cat([torch.eye(4), -torch.eye(4)])
    assert effective_rank(corners) == pytest.approx(4)
    assert effective_rank(torch.outer(torch.arange(5.0), torch.ones(3))) == pytest.approx(1, abs=1e-4)
    assert uniformity(torch.eye(3)) == pytest.approx(-4)  # every squared distance is 2
    assert alignment(torch.eye(3), -torch.eye(3)) == pytest.approx(4)
    assert alignment(torch.eye(3), 5 * torch.eye(3)) == 0


def test_rotation_scale_and_order_do_not_matter():
    z, other, turn = gaussian(30, 5).double(), gaussian(30, 5, 1).double(), rotation(5)
    order = torch.randperm(30, generator=torch.Generator().manual_seed(0))
    for change in (lambda t: t @ turn, lambda t: 37 * t, lambda t: t[order]):
        assert effective_rank(change(z)) == pytest.approx(effective_rank(z))
        assert uniformity(change(z)) == pytest.approx(uniformity(z))
        assert alignment(change(z), change(other)) == pytest.approx(alignment(z, other))
    assert effective_rank(z + 3) == pytest.approx(effective_rank(z))


@pytest.mark.parametrize("z", [torch.full((6, 4), 0.1), torch.zeros(6, 4), torch.ones(1, 4)])
def test_collapse(z):
    assert effective_rank(z) == 0
    assert uniformity(z) == pytest.approx(0, abs=1e-6)
    assert alignment(z, z) == 0


def test_rounding_is_not_rank():
    z = torch.full((50, 8), 3.0) * (1 + 1e-7 * gaussian(50, 8))
    assert effective_rank(z) == 0


def test_zero_rows_have_a_defined_cosine():
    z = torch.tensor([[0.0, 0.0], [0.0, 0.0], [3.0, 4.0]])
    expected = torch.tensor([[1.0, 1, 0], [1, 1, 0], [0, 0, 1]])
    assert torch.allclose(directions(z) @ directions(z).t(), expected)
    squares = z.square().sum(dim=1)
    assert torch.allclose(cosines(z @ z.t(), squares[:, None], squares), expected)


def test_lengths_whose_squares_overflow_or_underflow():
    z = torch.tensor([[3e-30, 4e-30], [3e30, 4e30]])
    assert torch.allclose(directions(z), torch.tensor([[0.6, 0.8, 0], [0.6, 0.8, 0]]))


def test_uniformity_of_a_sample_is_deterministic_and_close_to_that_of_all_rows():
    z = gaussian(1500, 8)
    assert uniformity(z, sample=300) == uniformity(z, sample=300)
    assert uniformity(z, sample=300) == pytest.approx(uniformity(z), abs=0.1)
    assert uniformity(z, sample=300) != uniformity(z)


def test_measures_do_not_track_gradients():
    z = gaussian(20, 4).requires_grad_()
    assert all(isinstance(value, float) for value in (effective_rank(z), uniformity(z, 10), alignment(z, z)))
