"""Cosines that are computed without the product, against cosines of the product."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import normalize

from dense import agree, source_of
from signnap.graph import SparseFeatures, StreamedFeatures, as_dense
from signnap.objectives.reconstruction import product_cosines, sharpened, squared_lengths, unit_rows


def features(nodes=8, width=5, seed=0):
    """A sparse signed matrix with an empty row."""
    source = source_of(seed)
    x = torch.randn(nodes, width, generator=source) * (torch.rand(nodes, width, generator=source) < 0.5)
    x[1] = 0
    return x


def factors(rows, dim, width, seed=0):
    source = source_of(seed)
    shapes = (rows, dim), (dim, width)
    return [torch.randn(shape, generator=source, dtype=torch.float64).requires_grad_() for shape in shapes]


def test_rows_of_length_one_in_either_layout():
    x = features()
    wanted = normalize(x, dim=1)
    torch.testing.assert_close(unit_rows(x), wanted)
    sparse = unit_rows(SparseFeatures.from_scipy(x.numpy()))
    assert isinstance(sparse, SparseFeatures)
    torch.testing.assert_close(as_dense(sparse), wanted)
    assert not as_dense(sparse)[1].any()
    with pytest.raises(TypeError, match="streamed"):
        unit_rows(StreamedFeatures(sparse, (), 0))


@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 10**6))
def test_cosines_of_products_of_any_shape(dim, width, seed):
    left, right = factors(6, dim, width, seed)
    rows = torch.tensor([7, 0, 1, 3, 2, 6])
    units = unit_rows(features(width=width, seed=seed).double())
    rebuilt = left @ right
    wanted = torch.stack(
        [a @ b / a.norm() if b.any() else 0 * a.sum() for a, b in zip(rebuilt, units[rows], strict=True)]
    )
    agree(product_cosines(left, right, units, rows), wanted, [left, right], rtol=1e-6, atol=1e-6)
    agree(squared_lengths(left, right), rebuilt.square().sum(dim=1), [left, right])


@pytest.mark.parametrize(("dim", "width"), [(3, 40), (40, 3)])
def test_sparse_features_and_single_precision(dim, width):
    left, right = (t.detach().float().requires_grad_() for t in factors(6, dim, width))
    x, rows = features(width=width), torch.arange(6)
    dense, sparse = unit_rows(x), unit_rows(SparseFeatures.from_scipy(x.numpy()))
    found = [product_cosines(left, right, units, rows) for units in (sparse, dense)]
    agree(*found, [left, right], rtol=1e-4, atol=1e-5)
    exact = product_cosines(left.double(), right.double(), unit_rows(x.double()), rows)
    torch.testing.assert_close(found[0], exact.float(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("width", [2, 9])
def test_zero_rows_and_empty_targets_cost_one(width):
    left, right = factors(4, 3, width)
    left.data[0] = 0
    units = unit_rows(features(width=width).double())
    rows = torch.tensor([0, 1, 2, 3])
    cosines = product_cosines(left, right, units, rows)
    assert cosines[0] == 0 and cosines[1] == 0 and cosines[2:].any()
    for_left, for_right = torch.autograd.grad(sharpened(cosines, 3.0), [left, right], retain_graph=True)
    assert not for_left[1].any() and for_left[2:].any()
    assert for_left.isfinite().all() and for_right.isfinite().all()
    assert sharpened(cosines[:2], 3.0) == 1
    by_hand = (normalize(left @ right, dim=1, eps=1e-12) * units[rows]).sum(dim=1)
    agree(cosines, by_hand, [left, right])
    assert for_left[0].abs().max() > 1e9 or not units[0].any()  # the gradient of a row of length 1e-12


def test_a_row_that_nearly_cancels_stays_a_cosine():
    """The length of such a row is rounding error, so an unlimited quotient would leave the range of a cosine."""
    source = source_of(0)
    right = torch.randn(3, 50, generator=source)
    right[2] = right[:2].sum(dim=0)
    left = torch.tensor([-1.0, -1.0, 1.0]) + 3e-4 * torch.randn(200, 3, generator=source)
    units = unit_rows((left.double() @ right.double()).float())
    cosines = product_cosines(left, right, units, torch.arange(200))
    assert cosines.max() == 1 and cosines.min() >= 0


def test_sharpening():
    cosines = torch.tensor([1.0, 0.5, 0.0, -1.0], dtype=torch.float64)
    assert sharpened(cosines, 1).item() == pytest.approx((0 + 0.5 + 1 + 2) / 4)
    assert sharpened(cosines, 3).item() == pytest.approx((0 + 0.125 + 1 + 8) / 4)
    for power in (1.0, 1.5, 3.0):
        bounds = sharpened(torch.tensor([1.0]), power).item(), sharpened(torch.tensor([-1.0]), power).item()
        assert np.allclose(bounds, (0, 2**power))
        perfect = torch.ones(3, requires_grad=True)
        sharpened(perfect, power).backward()
        assert perfect.grad.isfinite().all()
