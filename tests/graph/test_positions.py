"""Matrices too large for the 32-bit numbers of their entries, rows and columns."""

import numpy as np
import pytest
import scipy.sparse as sp

import signnap.ops.csr
from dense import pattern_of
from signnap.errors import SignnapError
from signnap.graph import SparseFeatures


@pytest.fixture
def up_to_four(monkeypatch):
    monkeypatch.setattr(signnap.ops.csr, "_INT32_MAX", 4)


def test_more_edges_than_32_bits_can_number(up_to_four):
    assert pattern_of(2, np.array([[0, 1]])).num_entries == 4
    with pytest.raises(SignnapError, match="5 adjacency entries do not fit 32-bit positions: expected at most 4"):
        pattern_of(3, np.array([[0, 1]]))


@pytest.mark.parametrize("matrix", [np.ones((2, 3)), np.zeros((5, 1)), np.zeros((1, 5))])
def test_more_features_than_32_bits_can_number(up_to_four, matrix):
    assert SparseFeatures.from_scipy(sp.csr_matrix(np.ones((2, 2)))).values.numel() == 4
    with pytest.raises(SignnapError, match=r"(5|6) rows, columns or values of features do not fit 32-bit positions"):
        SparseFeatures.from_scipy(sp.csr_matrix(matrix))


def test_the_limit_is_the_largest_number_of_32_bits():
    assert np.iinfo(np.int32).max == signnap.ops.csr._INT32_MAX
