"""The weights with which the code of SIGNNAP's authors begins, number by number.

All their commands have the same encoder seed (spec §2.5), so every encoder of the paper began with these weights. What
came after them, dropout above all, depends on the device that they trained on and cannot be drawn again.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from .. import rng
from ..contracts import Encoder
from ..errors import SignnapError
from .gat import GATStack
from .gcn import GCNStack, GraphConvolution
from .sage import SAGEStack

SEED = 42
_GAIN = math.sqrt(2)


@torch.no_grad()
def redraw(encoder: Encoder, classes: int) -> None:
    """Give a backbone of the paper the weights that the authors' code draws for a graph with so many classes."""
    if type(encoder) not in _DRAWS:
        raise SignnapError(f"the authors have no {type(encoder).__name__}: expected a backbone of the paper")
    with rng.as_default(torch.Generator().manual_seed(SEED)):
        _DRAWS[type(encoder)](encoder, classes)


def _draw_convolutions(stack: GCNStack, classes: int) -> None:
    """The input layer, an output layer for classes that is thrown away, and the others."""
    first, *rest = stack.convolutions
    _draw_convolution(first)
    GraphConvolution(len(first.bias), classes)
    for convolution in rest:
        _draw_convolution(convolution)


def _draw_convolution(convolution: Any) -> None:
    """The weight of neighbours, that of the node itself, the bias: each from U(±1/√out)."""
    width, bound = len(convolution.bias), 1 / math.sqrt(len(convolution.bias))
    drawn = [torch.empty(len(convolution.weight), width).uniform_(-bound, bound) for _ in range(2)]
    convolution.weight.copy_(torch.cat(drawn, dim=1))
    convolution.bias.uniform_(-bound, bound)


def _draw_means(stack: SAGEStack, classes: int) -> None:
    """Layer by layer a linear map as torch draws it, whose weight is then drawn again."""
    for weight, bias in zip(stack.weights, stack.biases, strict=True):
        linear = nn.Linear(*weight.shape)
        weight.copy_(nn.init.xavier_uniform_(linear.weight, gain=_GAIN).T)
        bias.copy_(linear.bias)


def _draw_attention(stack: GATStack, classes: int) -> None:
    """Layer by layer the same with a normal law, and both attention vectors of every head."""
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
