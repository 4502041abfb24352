"""Products with CSR matrices against loops over the entries."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from dense import source_of
from signnap.ops.csr import cut_rows
from signnap.ops.triton.sparse_kernels import sddmm, spmm

# A row of 90 entries has two pieces of several tiles each; one row is empty.
LENGTHS = [3, 90, 0, 1, 32]
NEIGHBOURS = 100


@pytest.fixture
def matrix(device):
    """The index arrays of a rectangular matrix, and the (row, column) of its entries."""
    rng = np.random.default_rng(0)
    columns = [np.sort(rng.choice(NEIGHBOURS, length, replace=False)) for length in LENGTHS]
    pairs = [(row, int(column)) for row, chosen in enumerate(columns) for column in chosen]
    indptr = torch.tensor([0, *np.cumsum(LENGTHS)], dtype=torch.int32, device=device)
    return indptr, torch.tensor(np.concatenate(columns), dtype=torch.int32, device=device), pairs


def normal(*shape, device, seed):
    return torch.randn(*shape, generator=source_of(seed)).to(device)


def spread(x, gap=3):
    """The same matrix as a view with gaps between the rows."""
    wide = x.new_full((x.shape[0], x.shape[1] + gap), torch.nan)
    wide[:, 1 : 1 + x.shape[1]] = x
    return wide[:, 1 : 1 + x.shape[1]]


def slow_spmm(pairs, values, dense):
    """Σ over the entries, one entry, head and column after another."""
    values = values.double().cpu().reshape(len(pairs), -1)
    dense, width = dense.double().cpu(), dense.shape[1] // values.shape[1]
    out = torch.zeros(len(LENGTHS), dense.shape[1], dtype=torch.float64)
    for entry, (row, column) in enumerate(pairs):
        for head in range(values.shape[1]):
            own = slice(head * width, (head + 1) * width)
            out[row, own] += values[entry, head] * dense[column, own]
    return out


def slow_sddmm(pairs, left, right, heads):
    """One dot product for each entry and head."""
    left, right = (x.double().cpu().view(len(x), heads, -1) for x in (left.contiguous(), right.contiguous()))
    return torch.stack([(left[row] * right[column]).sum(1) for row, column in pairs])


def close(found, wanted):
    torch.testing.assert_close(found.double().cpu(), wanted, rtol=1e-5, atol=1e-5)


WIDTHS = [(1, None), (5, None), (16, None), (128, None), (200, None)]
HEADS = [(128, 1), (16, 2), (128, 8), (200, 8), (12, 3), (8, 8), (1, 1)]


@pytest.mark.parametrize(("width", "heads"), [*WIDTHS, *HEADS])
@pytest.mark.parametrize("with_plus", [False, True])
def test_spmm_is_the_sum_over_entries(matrix, device, width, heads, with_plus):
    indptr, indices, pairs = matrix
    values = normal(len(pairs), *([heads] if heads else []), device=device, seed=1)
    dense = normal(NEIGHBOURS, width, device=device, seed=2)
    plus = normal(len(LENGTHS), width, device=device, seed=3) if with_plus else None
    wanted = slow_spmm(pairs, values, dense) + (plus.double().cpu() if with_plus else 0)
    found = spmm(indptr, indices, values, dense, plus)
    assert found.dtype == torch.float32 and found.is_contiguous()
    close(found, wanted)


@pytest.mark.parametrize(("width", "heads"), [(5, None), (128, None), (16, 2)])
def test_spmm_adds_a_bias_to_every_row(matrix, device, width, heads):
    indptr, indices, pairs = matrix
    values = normal(len(pairs), *([heads] if heads else []), device=device, seed=0)
    dense, bias = normal(NEIGHBOURS, width, device=device, seed=1), normal(width, device=device, seed=2)
    found = spmm(indptr, indices, values, dense, bias=bias)
    close(found, slow_spmm(pairs, values, dense) + bias.double().cpu())


@pytest.mark.parametrize("heads", [None, 2])
def test_spmm_takes_values_in_another_order(matrix, device, heads):
    indptr, indices, pairs = matrix
    values = normal(len(pairs), *([heads] if heads else []), device=device, seed=0)
    dense = normal(NEIGHBOURS, 16, device=device, seed=1)
    order = torch.randperm(len(pairs), generator=source_of(2)).int().to(device)
    close(spmm(indptr, indices, values, dense, order=order), slow_spmm(pairs, values[order.long()], dense))


@pytest.mark.parametrize("longest", [1, 7, 1000])
def test_pieces_of_any_length_give_the_same_sums(matrix, device, longest):
    indptr, indices, pairs = matrix
    values, dense = normal(len(pairs), device=device, seed=0), normal(NEIGHBOURS, 5, device=device, seed=1)
    plus, bias = normal(len(LENGTHS), 5, device=device, seed=2), normal(5, device=device, seed=3)
    found = spmm(indptr, indices, values, dense, plus, bias=bias, pieces=cut_rows(indptr, longest))
    close(found, slow_spmm(pairs, values, dense) + (plus + bias).double().cpu())


@pytest.mark.parametrize(("width", "heads"), [(5, None), (128, None), (16, 2)])
def test_spmm_on_views_whose_rows_lie_apart(matrix, device, width, heads):
    indptr, indices, pairs = matrix
    values = normal(len(pairs), *([heads] if heads else []), device=device, seed=1)
    dense = spread(normal(NEIGHBOURS, width, device=device, seed=2), gap=5)
    plus = spread(normal(len(LENGTHS), width, device=device, seed=3), gap=7)
    out = spread(torch.zeros(len(LENGTHS), width, device=device))
    assert spmm(indptr, indices, values, dense, plus, out) is out
    close(out, slow_spmm(pairs, values, dense) + plus.double().cpu())
    assert out._base.isnan().sum() == len(LENGTHS) * 3, "the kernel writes only inside the view"


@pytest.mark.parametrize("layout", [torch.clone, spread], ids=["contiguous", "spread"])
def test_spmm_may_add_to_its_own_result(matrix, device, layout):
    indptr, indices, pairs = matrix
    values, dense = normal(len(pairs), device=device, seed=1), normal(NEIGHBOURS, 200, device=device, seed=2)
    start = normal(len(LENGTHS), 200, device=device, seed=3)
    total = layout(start)
    spmm(indptr, indices, values, dense, plus=total, out=total)
    close(total, slow_spmm(pairs, values, dense) + start.double().cpu())


def test_spmm_of_strided_columns(matrix, device):
    indptr, indices, pairs = matrix
    values = normal(2, len(pairs), device=device, seed=1).t()
    dense = normal(6, NEIGHBOURS, device=device, seed=2).t()
    plus = torch.ones(1, 1, device=device).expand(len(LENGTHS), 6)
    close(spmm(indptr, indices, values, dense, plus), slow_spmm(pairs, values, dense) + 1)


def test_spmm_does_not_read_rows_of_dropped_entries(matrix, device):
    indptr, indices, pairs = matrix
    values = normal(len(pairs), device=device, seed=1)
    dropped = torch.tensor([column % 3 == 0 for _, column in pairs], device=device)
    dense = normal(NEIGHBOURS, 16, device=device, seed=2)
    wanted = slow_spmm(pairs, values * ~dropped, dense)
    dense[::3] = torch.nan
    close(spmm(indptr, indices, values * ~dropped, dense), wanted)


def test_spmm_is_deterministic(matrix, device):
    indptr, indices, pairs = matrix
    values, dense = normal(len(pairs), device=device, seed=1), normal(NEIGHBOURS, 128, device=device, seed=2)
    assert torch.equal(spmm(indptr, indices, values, dense), spmm(indptr, indices, values, dense))


def test_spmm_agrees_with_scipy_on_a_square_matrix(device):
    square = sp.random(40, 40, 0.1, format="csr", dtype=np.float32, random_state=0)
    square.sort_indices()
    arrays = [torch.from_numpy(a).to(device) for a in (square.indptr, square.indices, square.data)]
    dense = normal(40, 16, device=device, seed=0)
    close(spmm(*arrays, dense), torch.from_numpy(square @ dense.cpu().numpy()).double())


@pytest.mark.parametrize(("width", "heads"), [(w, 1) for w, _ in WIDTHS] + HEADS)
def test_sddmm_is_one_dot_product_per_entry_and_head(matrix, device, width, heads):
    indptr, indices, pairs = matrix
    left, right = normal(len(LENGTHS), width, device=device, seed=1), normal(NEIGHBOURS, width, device=device, seed=2)
    found = sddmm(indptr, indices, left, right, heads)
    assert found.shape == ((len(pairs), heads) if heads > 1 else (len(pairs),))
    close(found.view(len(pairs), heads), slow_sddmm(pairs, left, right, heads))


@pytest.mark.parametrize("layout", [spread, lambda x, gap=0: x.t().contiguous().t()], ids=["spread", "by columns"])
@pytest.mark.parametrize(("width", "heads"), [(5, 1), (128, 1), (16, 2)])
def test_sddmm_of_views(matrix, device, width, heads, layout):
    indptr, indices, pairs = matrix
    left = layout(normal(len(LENGTHS), width, device=device, seed=1))
    right = layout(normal(NEIGHBOURS, width, device=device, seed=2), gap=5)
    found = sddmm(indptr, indices, left, right, heads)
    close(found.view(len(pairs), heads), slow_sddmm(pairs, left, right, heads))


@pytest.mark.parametrize("rows", [0, 4])
def test_a_matrix_without_entries(device, rows):
    indptr = torch.zeros(rows + 1, dtype=torch.int32, device=device)
    indices, values = torch.zeros(0, dtype=torch.int32, device=device), torch.zeros(0, device=device)
    dense = torch.ones(3, 5, device=device)
    assert torch.equal(spmm(indptr, indices, values, dense), torch.zeros(rows, 5, device=device))
    assert torch.equal(spmm(indptr, indices, values.view(0, 1), dense), torch.zeros(rows, 5, device=device))
    assert sddmm(indptr, indices, torch.ones(rows, 5, device=device), dense).shape == (0,)
