"""Activations: one contract for all of them."""

import pytest
import torch

from signnap.encoders.conv import ACTIVATIONS, find_activation
from signnap.errors import SignnapError


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("slopes", [1, 3])
def test_an_activation_keeps_shape_sign_and_zero_and_learns_as_many_slopes_as_it_was_told(name, slopes):
    module = find_activation(name)(slopes)
    x = torch.randn(7, 3, generator=torch.Generator().manual_seed(0))
    found = module(x)
    assert found.shape == x.shape and torch.equal(found[x > 0], x[x > 0]) and (found[x < 0] <= 0).all()
    assert torch.equal(module(torch.zeros(2, 3)), torch.zeros(2, 3))
    assert torch.equal(module.train()(x), module.eval()(x)), "nothing is drawn"
    assert sum(p.numel() for p in module.parameters()) == (slopes if name == "prelu" else 0)


def test_an_unknown_activation():
    with pytest.raises(SignnapError, match="unknown activation 'prelo', did you mean 'prelu'"):
        find_activation("prelo")
