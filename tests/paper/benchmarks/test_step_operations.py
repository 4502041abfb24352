"""The operations of a step, compared with counts by hand."""

import numpy as np
import pytest
import scipy.sparse as sp

from signnap import Graph, Settings
from signnap.errors import SignnapError
from signnap_paper.benchmarks.limits import Work, step_operations

SIZES = {"dim": 2, "layers": 2, "negatives": 5, "share": 2}


@pytest.fixture(scope="module")
def path():
    """A path of four nodes with three features each: 6 entries and 4 self-loops in the pattern."""
    return Graph.from_edges([0, 1, 2], [1, 2, 3], np.ones((4, 3)))


def work(graph, **changes):
    return step_operations(graph, Settings(**SIZES | changes))


def test_gcn(path):
    assert work(path) == {
        # (4×3)·(3×4), forwards and backwards: 2·4·3·4 operations; 12 + 12 + 16 numbers of 4 bytes
        "features": Work(2 * 96, 2 * 160),
        # (4×2)·(2×4), in each of 2 views with 2 gradients: 2·4·2·4 operations; 8 + 8 + 16 numbers
        "layers": Work(6 * 64, 6 * 128),
        # 10 entries times width 2, 2 layers, 2 views, 2 directions: 2·10·2 operations; 10 values, 10 columns, 8 + 8
        "propagation": Work(8 * 40, 8 * 144),
        # 4 anchors with 5 + 1 candidates of width 2, 2 views, 2 directions: 2·4·6·2 operations each; per view
        # 4 embeddings, positives, gradients and (all 4) bank rows of width 2, and 2 groups of 5 draws: 42 numbers
        "scores": Work(4 * 96, 2 * 168),
    }


def test_residual_layers_are_as_wide_as_their_output(path):
    plain, deeper = work(path), work(path, backbone="resgcn", layers=3)
    assert deeper["layers"] == plain["layers"].times(2)
    assert deeper["propagation"].operations == 12 * 40
    assert (deeper["features"], deeper["scores"]) == (plain["features"], plain["scores"])


def test_dense_layers_grow(path):
    # the third layer reads width 4: 2·4·4·4 operations; 16 + 16 + 16 numbers
    assert work(path, backbone="jknet", layers=3)["layers"] == Work(6 * (64 + 128), 6 * (128 + 192))


def test_sage_has_one_weight_and_features_of_each_view(path):
    found = work(path, backbone="sage")
    assert found["features"] == Work(4 * 2 * 4 * 3 * 2, 4 * 4 * (12 + 6 + 8))
    assert found["layers"] == Work(6 * 2 * 4 * 2 * 2, 6 * 4 * (8 + 4 + 8))
    assert found["propagation"] == work(path)["propagation"]


def test_gat_has_a_third_product_over_edges_with_a_value_per_head(path):
    found, sage = work(path, backbone="gat", heads=2), work(path, backbone="sage")
    assert (found["features"], found["layers"], found["scores"]) == (sage["features"], sage["layers"], sage["scores"])
    assert found["propagation"] == Work(12 * 40, 12 * (4 * 10 * (1 + 2) + 64))


def test_sparse_features_count_by_their_values(path):
    x = sp.csr_matrix(([1.0, 1.0], ([0, 2], [1, 7])), (4, 8))
    sparse = Graph.from_edges([0, 1, 2], [1, 2, 3], x)
    # 2 values times 4 columns: 2·2·4 operations; 2 values, 2 columns, an 8×4 weight and a 4×4 result
    assert work(sparse)["features"] == Work(2 * 16, 2 * (16 + 128 + 64))
    assert work(sparse, mask_features=0.5)["features"] == work(sparse)["features"].times(2)  # views differ
    assert work(sparse, noise="gaussian")["features"].operations == 4 * 2 * 32 * 4  # and every value is stored


@pytest.mark.parametrize(("share", "numbers"), [(0, (12 + 4) * 2 + 5), (1, (12 + 4) * 2 + 20), (3, (12 + 4) * 2 + 10)])
def test_sharing_changes_what_is_read_but_not_what_is_computed(path, share, numbers):
    assert work(path, share=share)["scores"] == Work(work(path)["scores"].operations, 2 * 4 * numbers)


def test_one_layer_has_no_later_ones(path):
    assert work(path, layers=1)["layers"] == Work(0, 0)


def test_an_encoder_of_ones_own_is_not_known(path):
    with pytest.raises(SignnapError, match="'custom'"):
        work(path, backbone="custom")
