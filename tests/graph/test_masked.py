"""Masked features against the matrix they stand for, alone and several views at once."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from test_features import bag, features_of
from torch.utils._python_dispatch import TorchDispatchMode

from dense import agree, source_of
from signnap.graph import MaskedFeatures, applied, as_dense, drop_features, mask_columns, multiply, multiply_all

KINDS = ("dense", "sparse", "streamed")
KEPT = torch.tensor([True, False, True, True, False, True, True])


@pytest.mark.parametrize("kind", KINDS)
def test_masked_columns_are_zero_and_the_others_stay(kind):
    base = features_of(kind, bag())
    x = mask_columns(base, KEPT)
    assert x.base is base and x.shape == (12, 7)
    assert torch.equal(as_dense(x), as_dense(base) * KEPT) and torch.equal(as_dense(applied(x)), as_dense(x))
    assert applied(base) is base
    twice = mask_columns(x, ~KEPT | (torch.arange(7) > 3))
    assert twice.base is base and twice.kept.tolist() == [False] * 5 + [True] * 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_product_is_that_of_the_masked_matrix(kind):
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
def test_products_of_several_views_are_those_of_each(kind, drawn, again):
    base = features_of(kind, bag())
    xs = [base if mask is None else mask_columns(base, torch.tensor(mask)) for mask in drawn]
    xs += xs[:1] if again else []
    weight = torch.randn(7, 4, generator=source_of(1)).requires_grad_()
    found = multiply_all(xs, weight)
    assert len(found) == len(xs) and (not again or found[-1] is found[0])
    wanted = torch.stack([as_dense(x) @ weight for x in xs])
    agree(torch.stack(found), wanted, [weight], atol=1e-5, rtol=1e-5)


def test_views_of_other_features_are_kept_apart():
    xs = [mask_columns(features_of("dense", bag(seed=seed)), KEPT) for seed in (0, 1)]
    weight = torch.randn(7, 4, generator=source_of(1))
    for x, found in zip(xs, multiply_all(xs, weight), strict=True):
        torch.testing.assert_close(found, as_dense(x) @ weight)


class Multiplied(TorchDispatchMode):
    """The columns of everything that is multiplied."""

    def __init__(self):
        super().__init__()
        self.columns = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = function.overloadpacket.__name__
        if name in ("mm", "addmm"):
            self.columns.append(args[-2].shape[1])
        return function(*args, **kwargs or {})


def test_columns_that_all_masks_keep_are_multiplied_once():
    base, weight = features_of("dense", bag()), torch.randn(7, 4)
    only = lambda *dropped: mask_columns(base, torch.tensor([column not in dropped for column in range(7)]))
    with Multiplied() as seen:
        multiply_all([only(0), only(0, 1, 2), base], weight)
    assert seen.columns == [7, 2, 0, 3]
