"""First weights: those that the code of SIGNNAP's authors draws, and weights that differ by one rounding.

All commands of the authors use the same encoder seed, so every encoder of the paper started from the weights that
``redraw`` gives. Later random numbers, above all those of dropout, depend on the authors' device and cannot be
reproduced.

Two machines, or two orders of a sum, give numbers that differ in the last place. ``nudge`` makes such a difference. It
shows how much of a result depends on rounding, compared with how much depends on the encoder seed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from .. import rng
from ..errors import SignnapError
from ..interfaces import Encoder
from .gat import GATStack
from .gcn import GCNStack, GraphConvolution
from .sage import SAGEStack

#: The encoder seed of all commands of the authors.
SEED = 42
_GAIN = math.sqrt(2)


@torch.no_grad()
def nudge(encoder: Encoder) -> None:
    """Move every weight to the next larger number of its type."""
    for weight in encoder.parameters():
        weight.copy_(torch.nextafter(weight, torch.full_like(weight, math.inf)))


@torch.no_grad()
def redraw(encoder: Encoder, classes: int) -> None:
    """Give an encoder of the paper the weights that the authors' code draws for a graph with this many classes."""
    if type(encoder) not in _DRAWS:
        raise SignnapError(f"the authors have no {type(encoder).__name__}: expected a backbone of the paper")
    with rng.as_default(torch.Generator().manual_seed(SEED)):
        _DRAWS[type(encoder)](encoder, classes)


def _draw_convolutions(stack: GCNStack, classes: int) -> None:
    """Draw the first layer, an output layer for the classes, which is discarded, and the other layers."""
    first, *rest = stack.convolutions
    _draw_convolution(first)
    GraphConvolution(len(first.bias), classes)
    for convolution in rest:
        _draw_convolution(convolution)


def _draw_convolution(convolution: Any) -> None:
    """Draw the weight of the neighbours, the weight of the node itself and the bias, each from U(±1/√out)."""
    width, bound = len(convolution.bias), 1 / math.sqrt(len(convolution.bias))
    drawn = [torch.empty(len(convolution.weight), width).uniform_(-bound, bound) for _ in range(2)]
    convolution.weight.copy_(torch.cat(drawn, dim=1))
    convolution.bias.uniform_(-bound, bound)


def _draw_means(stack: SAGEStack, classes: int) -> None:
    """Draw each layer as ``nn.Linear`` does, then draw its weight again from Xavier's uniform law."""
    for weight, bias in zip(stack.weights, stack.biases, strict=True):
        linear = nn.Linear(*weight.shape)
        weight.copy_(nn.init.xavier_uniform_(linear.weight, gain=_GAIN).T)
        bias.copy_(linear.bias)


def _draw_attention(stack: GATStack, classes: int) -> None:
    """As ``_draw_means`` with Xavier's normal law, followed by both attention vectors of every head."""
    for layer in stack.layers:
        linear = nn.Linear(*layer.weight.shape, bias=False)
        layer.weight.copy_(nn.init.xavier_normal_(linear.weight, gain=_GAIN).T)
        for vectors in (layer.to_sender, layer.to_receiver):
            vectors.copy_(_xavier_normal(1, *vectors.shape)[0])


def _xavier_normal(*shape: int) -> Tensor:
    return nn.init.xavier_normal_(torch.empty(shape), gain=_GAIN)


_DRAWS: dict[type[Encoder], Callable[[Any, int], None]] = {
    GCNStack: _draw_convolutions,
    SAGEStack: _draw_means,
    GATStack: _draw_attention,
}
