"""First weights but for a rounding, against NumPy's next number."""

import numpy as np
import pytest
import torch

from signnap.encoders.init import nudge
from signnap.encoders.wrap import build_encoder
from signnap.registry import ENCODERS


@pytest.mark.parametrize("backbone", ENCODERS)
def test_every_weight_is_the_next_number(backbone):
    encoder = build_encoder(backbone, in_dim=5, dim=16, layers=3, heads=2)
    before = [weight.detach().clone().numpy() for weight in encoder.parameters()]
    nudge(encoder)
    for weight, old in zip(encoder.parameters(), before, strict=True):
        new = weight.detach().numpy()
        assert np.array_equal(new, np.nextafter(old, np.float32(np.inf))) and (new > old).all()
        assert np.all(np.abs(new - old) <= np.maximum(np.abs(old) / 8e6, 1e-45))
        assert weight.requires_grad and weight.is_leaf


def test_weights_of_other_types_move_by_their_own_rounding():
    encoder = torch.nn.Linear(3, 2).double()
    before = encoder.weight.detach().clone()
    nudge(encoder)
    assert 0 < (encoder.weight - before).abs().max().item() < 1e-15
