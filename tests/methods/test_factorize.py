"""Leading eigenpairs from products alone, against those of the whole matrix."""

from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dense import source_of
from signnap.methods.arwmf import factor, leading_eigenpairs


def symmetric(size=40, seed=0):
    """A symmetric matrix with eigenvalues of both signs that fall slowly."""
    source = source_of(seed)
    vectors = torch.linalg.qr(torch.randn(size, size, generator=source)).Q
    signs = torch.where(torch.rand(size, generator=source) < 0.3, -1.0, 1.0)
    return (vectors * (signs * 0.93 ** torch.arange(size))) @ vectors.t()


def found(matrix, rank, *, passes=3, width=None, seed=1):
    start = torch.randn(len(matrix), width or rank, generator=source_of(seed))
    return leading_eigenpairs(lambda block: matrix @ block, start, rank, passes)


@given(st.integers(0, 10**6), st.integers(1, 12))
def test_blocks_that_fill_the_space_find_every_eigenpair(seed, size):
    matrix = symmetric(size, seed)
    values, vectors = found(matrix, size, width=max(1, size // 2))
    wanted = torch.linalg.eigvalsh(matrix)
    torch.testing.assert_close(values.abs(), wanted.abs().sort(descending=True).values, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close((vectors * values) @ vectors.t(), matrix, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(vectors.t() @ vectors, torch.eye(size), rtol=0, atol=1e-5)


def test_the_largest_in_size_come_first_whatever_their_sign():
    matrix = torch.diag(torch.tensor([1.0, -5.0, 3.0, 0.0, -2.0]))
    values, vectors = found(matrix, 3, width=5)
    torch.testing.assert_close(values, torch.tensor([-5.0, 3.0, -2.0]))
    torch.testing.assert_close(vectors, torch.eye(5)[:, [1, 2, 4]], rtol=0, atol=1e-5)


def test_a_higher_rank_never_reconstructs_worse():
    matrix = symmetric()
    values, vectors = found(matrix, 40, width=15)
    errors = [float((matrix - (vectors[:, :k] * values[:k]) @ vectors[:, :k].t()).norm()) for k in range(41)]
    assert all(after <= before + 1e-5 for before, after in pairwise(errors))
    assert errors[-1] < 1e-4 < errors[20]


def test_every_pass_finds_more_and_all_blocks_count():
    matrix = symmetric(200)
    best = float(torch.linalg.eigvalsh(matrix).abs().sort().values[-8:].sum())
    sizes = [float(found(matrix, 8, passes=passes, width=12)[0].abs().sum()) for passes in range(1, 7)]
    assert sizes == sorted(sizes) and best * (1 - 1e-3) < sizes[-1] <= best * (1 + 1e-5)
    last = torch.linalg.qr(matrix @ matrix @ torch.randn(200, 12, generator=source_of(1))).Q
    assert sizes[2] > 1.02 * float(torch.linalg.eigvalsh(last.t() @ matrix @ last).abs().sort().values[-8:].sum())


def test_no_product_is_wasted_once_the_space_is_full():
    blocks = []
    matrix = symmetric(10)
    start = torch.randn(10, 6, generator=source_of(0))
    leading_eigenpairs(lambda block: blocks.append(block.shape[1]) or matrix @ block, start, 4, passes=9)
    assert blocks == [6, 4]


def test_a_block_that_repeats_itself_is_no_harm():
    matrix = torch.zeros(9, 9)
    matrix[0, 1] = matrix[1, 0] = 1.0
    values, vectors = leading_eigenpairs(lambda block: matrix @ block, torch.zeros(9, 3), 4, 3)
    assert values.isfinite().all() and vectors.isfinite().all()
    torch.testing.assert_close((vectors * values) @ vectors.t(), matrix, rtol=0, atol=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_signs_do_not_depend_on_the_start(seed):
    matrix = symmetric(20)
    torch.testing.assert_close(found(matrix, 6, width=20, seed=seed), found(matrix, 6, width=20), rtol=0, atol=1e-4)


def test_the_factor_holds_the_sizes_and_no_rounding():
    values, vectors = torch.tensor([-4.0, 1.0, 1e-9]), torch.eye(3)
    assert torch.equal(factor(values, vectors), torch.diag(torch.tensor([2.0, 1.0, 0.0])))
    assert torch.equal(factor(torch.zeros(3), vectors), torch.zeros(3, 3))
