"""What encoders may put between their layers, by name."""

from __future__ import annotations

from collections.abc import Callable

from torch import nn

from ..errors import unknown_name

#: RReLU draws slopes from 1/8 to 1/3; the code of GRACE and GCA calls it in a way that always takes their mean.
_RRELU_SLOPE = (1 / 8 + 1 / 3) / 2
#: name -> a function of the number of slopes that are learned
ACTIVATIONS: dict[str, Callable[[int], nn.Module]] = {
    "relu": lambda slopes: nn.ReLU(),
    "prelu": nn.PReLU,
    "rrelu": lambda slopes: nn.LeakyReLU(_RRELU_SLOPE),
    "elu": lambda slopes: nn.ELU(),
    "none": lambda slopes: nn.Identity(),
}


def find_activation(name: str) -> Callable[[int], nn.Module]:
    """What makes the activation of this name, given the number of slopes that are learned."""
    if name not in ACTIVATIONS:
        raise unknown_name("activation", name, ACTIVATIONS)
    return ACTIVATIONS[name]
