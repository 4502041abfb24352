"""Rates, means, independence and gradients of dropout."""

import math

import numpy as np
import pytest
import torch

from dense import source_of
from signnap.ops.dropout import dropout


def normal(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=source_of(seed), dtype=dtype)


RATES = [1 / 256, 0.25, 0.5, 255 / 256, 0.3, 0.6, 0.999]


@pytest.mark.parametrize("p", RATES)
def test_dropout_keeps_its_rate_and_its_mean(p):
    n = 400_000
    torch.manual_seed(1)
    out = dropout(torch.ones(n), p)
    scale = out.max().item()
    assert set(out.unique().tolist()) == {0.0, scale}
    assert scale == pytest.approx(1 / (1 - p), rel=1 / 65536 / (1 - p))
    if p * 256 == int(p * 256):
        assert scale == np.float32(1 / (1 - p))
    assert (out > 0).float().mean().item() == pytest.approx(1 - p, abs=5 * math.sqrt(p * (1 - p) / n))
    assert out.double().mean().item() == pytest.approx(1, abs=5 * math.sqrt(p / (1 - p) / n))


@pytest.mark.parametrize("p", [0.5, 0.6])
def test_dropout_is_independent_between_neighbours(p):
    torch.manual_seed(2)
    kept = (dropout(torch.ones(200_000), p) > 0).double() - (1 - p)
    for lag in (1, 2, 3, 4, 7, 8, 16):
        correlation = (kept[lag:] * kept[:-lag]).mean() / (p * (1 - p))
        assert abs(correlation) < 5 / math.sqrt(200_000)


@pytest.mark.parametrize("p", [0.5, 0.3])
@pytest.mark.parametrize("rectify", [False, True])
@pytest.mark.parametrize("shape", [(3, 5), (1,), (0, 4), (7, 8, 3)])
def test_the_gradient_passes_where_dropout_keeps_a_value(p, rectify, shape):
    torch.manual_seed(3)
    x = normal(*shape, dtype=torch.float32).requires_grad_()
    out = dropout(x, p, rectify=rectify)
    out.backward(torch.full(shape, 2.0))
    kept = out != 0
    scale = (out / x)[kept]
    assert torch.allclose(scale, torch.full_like(scale, 1 / (1 - p)), rtol=1e-4)
    assert torch.allclose(x.grad, torch.where(kept, 2 / (1 - p), 0.0), rtol=1e-4)
    if rectify:
        assert torch.all(x[kept] > 0)


def test_rectified_dropout_is_dropout_of_relu():
    x = normal(40, 9, dtype=torch.float32)
    for p in (0.5, 0.3):
        torch.manual_seed(4)
        wanted = dropout(torch.relu(x), p)
        torch.manual_seed(4)
        assert torch.equal(dropout(x, p, rectify=True), wanted)


def test_dropout_of_nothing_of_all_and_outside_training():
    x = normal(5, 5)
    assert torch.equal(dropout(x, 0.0), x)
    assert torch.equal(dropout(x, 1.0), torch.zeros_like(x))
    assert torch.equal(dropout(x, 0.5, training=False), x)
    assert torch.equal(dropout(x, 0.5, training=False, rectify=True), torch.relu(x))
    assert torch.equal(dropout(x, 0.0, rectify=True), torch.relu(x))


def test_dropout_draws_from_torchs_default_generator():
    x, state = torch.ones(1000), torch.get_rng_state()
    first, second = dropout(x, 0.5), dropout(x, 0.5)
    torch.set_rng_state(state)
    assert torch.equal(dropout(x, 0.5), first)
    assert not torch.equal(first, second)
