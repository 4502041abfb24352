"""Features of every kind, masked or not, against the dense matrix that they stand for."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

import signnap.graph.feature_types
from dense import agree, source_of
from signnap.graph import (
    MaskedFeatures,
    SparseFeatures,
    StreamedFeatures,
    applied,
    as_dense,
    compact,
    drop_features,
    mask_columns,
    multiply,
    multiply_all,
    row_normalized,
)


def bag(n=12, f=7, density=0.3, seed=0):
    """A sparse matrix with an empty row and an empty column."""
    dense = np.random.default_rng(seed).random((n, f)).astype(np.float32)
    dense *= np.random.default_rng(seed + 1).random((n, f)) < density
    dense[n // 2] = 0
    dense[:, f // 2] = 0
    return sp.csr_matrix(dense)


def shifted(chunk, source):
    return chunk + torch.rand(chunk.shape, generator=source)


def doubled(chunk, source):
    return 2 * chunk


@pytest.fixture
def small_chunks(monkeypatch):
    """Chunks of two rows of seven columns."""
    monkeypatch.setattr(signnap.graph.feature_types, "_CHUNK_ELEMENTS", 14)


def features_of(kind, matrix):
    sparse = SparseFeatures.from_scipy(matrix)
    streamed = StreamedFeatures(sparse, (shifted, doubled), seed=5)
    return {"dense": torch.from_numpy(matrix.toarray()), "sparse": sparse, "streamed": streamed}[kind]


@pytest.mark.parametrize("kind", ["dense", "sparse", "streamed"])
@pytest.mark.parametrize("shape", [(12, 7), (13, 7), (1, 7), (5, 1)])
def test_multiply_is_the_dense_product(kind, shape, small_chunks):
    x = features_of(kind, bag(*shape))
    dense = as_dense(x)
    assert dense.shape == x.shape == shape
    weight = torch.randn(shape[1], 4, generator=source_of(1)).requires_grad_()
    agree(multiply(x, weight), dense @ weight, [weight], atol=1e-5, rtol=1e-5)
    (plain,) = torch.autograd.grad(multiply(x, weight).sum(), weight)
    assert torch.allclose(plain, dense.sum(dim=0)[:, None].expand_as(weight), atol=1e-5)


def test_multiply_of_an_empty_matrix():
    x, weight = SparseFeatures.from_scipy(sp.csr_matrix((4, 3))), torch.ones(3, 2, requires_grad=True)
    out = multiply(x, weight)
    out.sum().backward()
    assert torch.all(out == 0) and torch.all(weight.grad == 0)


@given(n=st.integers(1, 9), f=st.integers(1, 9), seed=st.integers(0, 99), data=st.data())
def test_sparse_features_equal_the_given_matrix(n, f, seed, data):
    matrix = bag(n, f, 0.5, seed)
    x = SparseFeatures.from_scipy(matrix)
    assert np.array_equal(x.to_scipy().toarray(), matrix.toarray())
    start = data.draw(st.integers(0, n - 1))
    stop = data.draw(st.integers(start + 1, n))
    assert np.array_equal(x.dense(start, stop).numpy(), matrix.toarray()[start:stop])
    assert np.array_equal(x.dense(start).numpy(), matrix.toarray()[start:])


def test_duplicates_are_summed_and_stored_zeros_removed_in_a_copy():
    messy = sp.csr_matrix((np.array([1, 2, 0, 4], np.float32), [1, 1, 0, 2], [0, 2, 3, 4]), (3, 3))
    x = SparseFeatures.from_scipy(messy)
    assert x.values.tolist() == [3, 4] and x.indices.tolist() == [1, 2]
    assert messy.data.tolist() == [1, 2, 0, 4], "the given matrix is not modified"


def test_new_values_do_not_reuse_cached_ones():
    x = SparseFeatures.from_scipy(bag())
    weight = torch.randn(7, 2, generator=source_of(0)).requires_grad_()
    multiply(x, weight).sum().backward()
    tripled = x.with_values(3 * x.values)
    once, weight.grad = weight.grad, None
    out = multiply(tripled, weight)
    out.sum().backward()
    assert torch.allclose(out, 3 * multiply(x, weight), atol=1e-6)
    assert torch.allclose(weight.grad, 3 * once, atol=1e-6)
    assert torch.equal(as_dense(tripled), 3 * as_dense(x))


def test_streamed_features_hold_one_chunk_at_a_time(small_chunks):
    seen = []

    def watch(chunk, source):
        seen.append(tuple(chunk.shape))
        return chunk

    x = StreamedFeatures(SparseFeatures.from_scipy(bag(5)), (watch,), seed=0)
    multiply(x, torch.ones(7, 2, requires_grad=True)).sum().backward()
    assert seen == 2 * [(2, 7), (2, 7), (1, 7)]
    assert [start for start, _ in x.chunks()] == [0, 2, 4]


def test_streamed_features_are_determined_by_seed_and_chunk(small_chunks):
    base = SparseFeatures.from_scipy(sp.csr_matrix((6, 7)))
    x = StreamedFeatures(base, (shifted,), seed=1)
    assert torch.equal(as_dense(x), as_dense(x))
    assert not torch.equal(as_dense(x), as_dense(StreamedFeatures(base, (shifted,), seed=2)))
    assert len({tuple(row) for row in as_dense(x).tolist()}) == 6


def test_changes_apply_in_order():
    x = StreamedFeatures(SparseFeatures.from_scipy(bag()), (), seed=1)
    once = as_dense(x.then(lambda chunk, _: chunk + 1).then(doubled))
    assert torch.equal(once, 2 * (as_dense(x.base) + 1))
    assert x.changes == ()


@pytest.mark.parametrize("kind", ["dense", "sparse", "streamed"])
@pytest.mark.parametrize("p", [0.5, 0.3])
def test_dropped_features_are_zero_or_scaled(kind, p):
    x = features_of(kind, bag(300, 40))
    torch.manual_seed(0)
    before = as_dense(x).clone()
    after = as_dense(drop_features(x, p, training=True))
    kept = after != 0
    assert torch.allclose(after[kept], before[kept] / (1 - p), rtol=1e-4)
    assert kept[before != 0].float().mean().item() == pytest.approx(1 - p, abs=0.03)
    assert torch.equal(as_dense(x), before)


@pytest.mark.parametrize("kind", ["dense", "sparse", "streamed"])
def test_dropping_all_or_no_features(kind):
    x = features_of(kind, bag())
    assert torch.all(as_dense(drop_features(x, 1.0, training=True)) == 0)
    assert drop_features(x, 0.0, training=True) is x
    assert drop_features(x, 0.5, training=False) is x


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_row_normalised(kind):
    x = features_of(kind, bag())
    before = as_dense(x).clone()
    wanted = [row / row.sum() if row.sum() else row for row in before.numpy()]
    assert np.allclose(as_dense(row_normalized(x)).numpy(), wanted)
    assert torch.equal(as_dense(x), before)


FORMS = {
    "scipy": sp.csr_matrix,
    "coo": sp.coo_matrix,
    "array": np.asarray,
    "tensor": torch.from_numpy,
    "sparse tensor": lambda a: torch.from_numpy(a).to_sparse(),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("filled", "kind"), [(25, SparseFeatures), (26, torch.Tensor), (0, SparseFeatures)])
def test_compact_chooses_by_the_fraction_of_non_zeros(form, filled, kind):
    dense = np.zeros(100)
    dense[:filled] = np.arange(1, filled + 1)
    dense = dense.reshape(10, 10)
    found = compact(FORMS[form](dense))
    assert isinstance(found, kind)
    assert as_dense(found).dtype == torch.float32
    assert np.array_equal(as_dense(found).numpy(), dense)


def test_compact_returns_sparse_features_as_they_are():
    x = SparseFeatures.from_scipy(bag())
    assert compact(x) is x


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_signed_rows_are_divided_by_their_absolute_sum(kind):
    x = features_of(kind, sp.csr_matrix(np.array([[3.0, -3.0, 0.0], [1.0, -2.0, 1.0]], dtype=np.float32)))
    assert as_dense(row_normalized(x)).tolist() == [[0.5, -0.5, 0.0], [0.25, -0.5, 0.25]]


KINDS = ("dense", "sparse", "streamed")
KEPT = torch.tensor([True, False, True, True, False, True, True])


@pytest.mark.parametrize("kind", KINDS)
def test_masked_columns_are_zero_and_the_others_unchanged(kind):
    base = features_of(kind, bag())
    x = mask_columns(base, KEPT)
    assert x.base is base and x.shape == (12, 7)
    assert torch.equal(as_dense(x), as_dense(base) * KEPT) and torch.equal(as_dense(applied(x)), as_dense(x))
    assert applied(base) is base
    twice = mask_columns(x, ~KEPT | (torch.arange(7) > 3))
    assert twice.base is base and twice.kept.tolist() == [False] * 5 + [True] * 2


@pytest.mark.parametrize("kind", KINDS)
def test_multiply_of_masked_features(kind):
    x, weight = mask_columns(features_of(kind, bag()), KEPT), torch.randn(7, 4, generator=source_of(1)).requires_grad_()
    agree(multiply(x, weight), as_dense(x) @ weight, [weight], atol=1e-5, rtol=1e-5)
    (grad,) = torch.autograd.grad(multiply(x, weight).sum(), weight)
    assert torch.all(grad[~KEPT] == 0)


@pytest.mark.parametrize("kind", KINDS)
def test_dropout_comes_after_the_mask(kind):
    x = drop_features(mask_columns(features_of(kind, bag(200, 7)), KEPT), 0.5, training=True)
    assert not isinstance(x, MaskedFeatures) and torch.all(as_dense(x)[:, ~KEPT] == 0) and torch.any(as_dense(x) != 0)


masks = st.none() | st.lists(st.booleans(), min_size=7, max_size=7)


@given(kind=st.sampled_from(KINDS), drawn=st.lists(masks, min_size=1, max_size=4), again=st.booleans())
def test_multiply_all_equals_multiply_of_each(kind, drawn, again):
    base = features_of(kind, bag())
    xs = [base if mask is None else mask_columns(base, torch.tensor(mask)) for mask in drawn]
    xs += xs[:1] if again else []
    weight = torch.randn(7, 4, generator=source_of(1)).requires_grad_()
    found = multiply_all(xs, weight)
    assert len(found) == len(xs) and (not again or found[-1] is found[0])
    wanted = torch.stack([as_dense(x) @ weight for x in xs])
    agree(torch.stack(found), wanted, [weight], atol=1e-5, rtol=1e-5)


def test_multiply_all_of_different_features():
    xs = [mask_columns(features_of("dense", bag(seed=seed)), KEPT) for seed in (0, 1)]
    weight = torch.randn(7, 4, generator=source_of(1))
    for x, found in zip(xs, multiply_all(xs, weight), strict=True):
        torch.testing.assert_close(found, as_dense(x) @ weight)


class Multiplied(TorchDispatchMode):
    """Records the number of columns of every factor on the left."""

    def __init__(self):
        super().__init__()
        self.columns = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = function.overloadpacket.__name__
        if name in ("mm", "addmm"):
            self.columns.append(args[-2].shape[1])
        return function(*args, **kwargs or {})


def test_multiply_all_multiplies_common_columns_once():
    base, weight = features_of("dense", bag()), torch.randn(7, 4)
    only = lambda *dropped: mask_columns(base, torch.tensor([column not in dropped for column in range(7)]))
    with Multiplied() as seen:
        multiply_all([only(0), only(0, 1, 2), base], weight)
    assert seen.columns == [7, 2, 0, 3]
