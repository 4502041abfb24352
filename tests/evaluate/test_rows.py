"""Row arithmetic: dense and sparse rows give the same numbers for every chunk size."""

import pytest
import scipy.sparse as sp
import torch

import signnap.evaluate.properties
from signnap.errors import SignnapError
from signnap.evaluate.inputs import expect_finite, take_rows
from signnap.evaluate.properties import dense_rows, mean_row, project, row_dots
from signnap.graph import SparseFeatures


def both(seed=0):
    source = torch.Generator().manual_seed(seed)
    dense = torch.randn(9, 4, generator=source) * (torch.rand(9, 4, generator=source) < 0.5)
    return dense, SparseFeatures.from_scipy(sp.csr_matrix(dense.numpy()))


@pytest.mark.parametrize("chunk", [1, 7, 10**6])
@pytest.mark.parametrize("kind", [0, 1])
def test_slow_twins(kind, chunk, monkeypatch):
    monkeypatch.setattr(signnap.evaluate.properties, "_CHUNK_ELEMENTS", chunk)
    monkeypatch.setattr(signnap.evaluate.properties, "_CHUNK_ROWS", chunk)
    (dense, left), (other, right) = (both(seed) for seed in (0, 1))
    left, right = (dense, other) if kind == 0 else (left, right)
    pairs = torch.tensor([[0, 3, 3, 8, 5], [1, 3, 0, 2, 5]])
    expected = [sum(float(a) * float(b) for a, b in zip(dense[i], other[j], strict=True)) for i, j in pairs.t()]
    assert row_dots(left, right, pairs).tolist() == pytest.approx(expected)
    vector = torch.arange(4.0).double()
    assert project(left, vector).tolist() == pytest.approx((dense.double() @ vector).tolist())
    assert mean_row(left).tolist() == pytest.approx(dense.double().mean(dim=0).tolist())


@pytest.mark.parametrize("kind", [0, 1])
def test_selection(kind):
    dense, z = both()[0], both()[kind]
    nodes = torch.tensor([5, 0, 5])
    assert torch.equal(dense_rows(z, nodes), dense[nodes])
    taken = take_rows(z, nodes)
    assert isinstance(taken, type(z))
    assert torch.equal(taken.dense() if kind else taken, dense[nodes])


def test_a_large_offset_cancels():
    z = torch.tensor([[3333.3, 0.1], [3333.3, -0.1]])
    a, b, ab = row_dots(z, z, torch.tensor([[0, 1, 0], [0, 1, 1]]))
    assert float(a + b - 2 * ab) == pytest.approx(0.04, rel=1e-6)


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_the_first_row_that_is_not_finite_is_named(value):
    for fine in both():
        expect_finite(fine)
    dense, nodes = both()[0], torch.arange(9) + 10
    dense[6, 0] = dense[8, 2] = value
    for z in (dense, SparseFeatures.from_scipy(sp.csr_matrix(dense.numpy()))):
        with pytest.raises(
            SignnapError, match=r"^the embedding of node 6 holds NaN or infinity: expected finite numbers$"
        ):
            expect_finite(z)
        with pytest.raises(SignnapError, match=r"^the embedding of node 16 in copy 2 holds NaN or infinity: expected"):
            expect_finite(z, " in copy 2", nodes)


@pytest.mark.parametrize("kind", [0, 1])
def test_the_last_chunk_may_be_shorter(kind, monkeypatch):
    monkeypatch.setattr(signnap.evaluate.properties, "_CHUNK_ELEMENTS", 8)  # two rows
    monkeypatch.setattr(signnap.evaluate.properties, "_CHUNK_ROWS", 2)
    dense, z = both()[0], both()[kind]
    pairs = torch.tensor([[0, 3, 3, 8, 5], [1, 3, 0, 2, 5]])
    expected = (dense.double()[pairs[0]] * dense.double()[pairs[1]]).sum(dim=1)
    assert row_dots(z, z, pairs).tolist() == pytest.approx(expected.tolist())
    vector = torch.arange(4.0).double()
    assert project(z, vector).tolist() == pytest.approx((dense.double() @ vector).tolist())
