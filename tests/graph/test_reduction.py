"""Leading directions of features, against the singular vectors of the dense matrix."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from dense import source_of
from signnap.graph import SparseFeatures, as_dense, mask_columns
from signnap.graph.feature_ops import row_lengths
from signnap.graph.reduction import leading_directions, reduce_features


def unit_rows(matrix):
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    return matrix / np.where(lengths == 0, 1, lengths)


def bag(nodes=60, columns=40, seed=0):
    """A sparse matrix with an empty row, of clearly different singular values."""
    rng = np.random.default_rng(seed)
    dense = rng.random((nodes, 3)) @ np.diag([9, 3, 1]) @ rng.random((3, columns)) + 0.3 * rng.random((nodes, columns))
    dense *= rng.random((nodes, columns)) < 0.4
    dense[7] = 0
    return dense.astype(np.float32)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_directions_are_the_right_singular_vectors_of_unit_rows(kind):
    dense = bag()
    x = torch.from_numpy(dense) if kind == "dense" else SparseFeatures.from_scipy(sp.csr_matrix(dense))
    found = leading_directions(x, 5, source_of(0)).numpy()
    _, values, vectors = np.linalg.svd(unit_rows(dense), full_matrices=False)
    expected = vectors[:5].T * np.sqrt(len(dense)) / values[0]
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=2e-3)
    reduced = reduce_features(x, torch.from_numpy(found)).numpy()
    np.testing.assert_allclose(np.abs(reduced), np.abs(unit_rows(dense) @ expected), atol=4e-3)
    assert np.mean(reduced[:, 0] ** 2) == pytest.approx(1, abs=1e-3)


def test_missing_directions_are_zero_columns():
    line = torch.arange(1.0, 31).outer(torch.ones(20))
    found = leading_directions(line, 4, source_of(0))
    assert found.shape == (20, 4)
    assert found[:, 0].abs().min() > 0
    assert not found[:, 1:].any()
    assert not leading_directions(torch.zeros(30, 20), 4, source_of(0)).any()


def test_few_columns_keep_the_length_of_their_rows():
    x = torch.tensor([[1.0, 2.0], [3.0, 6.0], [0.0, 1.0]])
    reduced = reduce_features(x, leading_directions(x, 2, source_of(0)))
    assert float(reduced[1].norm()) == pytest.approx(3 * float(reduced[0].norm()), rel=1e-4)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_a_mask_hides_columns_and_nothing_grows_in_their_place(kind):
    dense = bag()
    x = torch.from_numpy(dense) if kind == "dense" else SparseFeatures.from_scipy(sp.csr_matrix(dense))
    kept = torch.rand(dense.shape[1], generator=source_of(1)) < 0.5
    directions = torch.randn(dense.shape[1], 3, generator=source_of(2))
    found = reduce_features(mask_columns(x, kept), directions)
    expected = torch.from_numpy(unit_rows(dense) * kept.numpy()) @ directions
    torch.testing.assert_close(found, expected.float(), atol=1e-5, rtol=1e-5)


def test_lengths_of_rows_are_euclidean():
    dense = bag()
    x = SparseFeatures.from_scipy(sp.csr_matrix(dense))
    for features in (x, as_dense(x)):
        np.testing.assert_allclose(row_lengths(features).numpy(), np.linalg.norm(dense, axis=1), rtol=1e-6)
