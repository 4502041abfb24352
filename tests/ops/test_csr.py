"""CSR arrays: the limit of 32-bit positions, and rows cut into pieces."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st

import signnap.ops.csr
from dense import pattern_of
from signnap.errors import SignnapError
from signnap.graph import SparseFeatures
from signnap.ops.csr import cut_rows


@pytest.fixture
def limit_of_four(monkeypatch):
    monkeypatch.setattr(signnap.ops.csr, "_INT32_MAX", 4)


def test_too_many_edges_for_32_bits(limit_of_four):
    assert pattern_of(2, np.array([[0, 1]])).num_entries == 4
    with pytest.raises(SignnapError, match="5 adjacency entries do not fit 32-bit positions: expected at most 4"):
        pattern_of(3, np.array([[0, 1]]))


@pytest.mark.parametrize("matrix", [np.ones((2, 3)), np.zeros((5, 1)), np.zeros((1, 5))])
def test_too_many_features_for_32_bits(limit_of_four, matrix):
    assert SparseFeatures.from_scipy(sp.csr_matrix(np.ones((2, 2)))).values.numel() == 4
    with pytest.raises(SignnapError, match=r"(5|6) rows, columns or values of features do not fit 32-bit positions"):
        SparseFeatures.from_scipy(sp.csr_matrix(matrix))


def test_the_limit_is_the_largest_int32():
    assert np.iinfo(np.int32).max == signnap.ops.csr._INT32_MAX


@given(st.lists(st.integers(0, 40), min_size=1, max_size=12), st.integers(1, 9))
def test_pieces_tile_the_rows(lengths, longest):
    indptr = torch.tensor([0, *torch.tensor(lengths).cumsum(0)], dtype=torch.int32)
    pieces = cut_rows(indptr, longest)
    assert all(part.dtype == torch.int32 for part in pieces)
    rows, starts, stops, slots, hubs, firsts = (part.tolist() for part in pieces)
    for row, length in enumerate(lengths):
        own = [p for p, r in enumerate(rows) if r == row]
        assert own == list(range(own[0], own[-1] + 1)) and len(own) == max(1, -(-length // longest))
        assert [e for p in own for e in range(starts[p], stops[p])] == list(range(*indptr[row : row + 2].tolist()))
        assert all(stops[p] - starts[p] <= longest for p in own)
        if len(own) == 1:
            assert slots[own[0]] == -1 and row not in hubs
        else:
            hub = hubs.index(row)
            assert [slots[p] for p in own] == list(range(firsts[hub], firsts[hub + 1]))
    assert rows == sorted(rows) and firsts[-1] == sum(slot >= 0 for slot in slots) and hubs == sorted(hubs)
