"""The first weights of the authors' code against that code's layers, written down as it makes them."""

import math

import pytest
import torch
from torch import nn

from signnap.encoders.init import redraw
from signnap.encoders.wrap import build_encoder
from signnap.errors import SignnapError

FEATURES, CLASSES = 5, 3


class Convolution:
    """A layer of the GCN family: three parameters, each drawn as soon as all have a shape."""

    def __init__(self, before, after):
        self.weight, self.self_weight, self.bias = (
            torch.empty(*s) for s in ((before, after), (before, after), (after,))
        )
        for parameter in (self.weight, self.self_weight, self.bias):
            parameter.uniform_(-1 / math.sqrt(after), 1 / math.sqrt(after))

    def parameters(self):
        return [torch.cat([self.weight, self.self_weight], dim=1), self.bias]


class Mean:
    """A layer of GraphSAGE: a linear map, whose weight is reset."""

    def __init__(self, before, after):
        self.fc = nn.Linear(before, after)
        nn.init.xavier_uniform_(self.fc.weight, gain=nn.init.calculate_gain("relu"))


class Attention:
    """A layer of GAT: a linear map and two attention vectors, all reset at the end."""

    def __init__(self, before, heads, width):
        self.fc = nn.Linear(before, heads * width, bias=False)
        self.left, self.right = torch.empty(1, heads, width), torch.empty(1, heads, width)
        for parameter in (self.fc.weight, self.left, self.right):
            nn.init.xavier_normal_(parameter, gain=nn.init.calculate_gain("relu"))

    def parameters(self):
        return [self.fc.weight.T, self.left[0], self.right[0]]


def slow(backbone, dim):
    """The parameters in our order, made in theirs."""
    torch.manual_seed(42)
    if backbone == "sage":
        layers = [Mean(FEATURES, dim), Mean(dim, dim)]
        return [layer.fc.weight.T for layer in layers] + [layer.fc.bias for layer in layers]
    if backbone == "gat":
        layers = [Attention(FEATURES, 2, dim // 2), Attention(dim, 2, dim // 2)]
        return [each for layer in layers for each in layer.parameters()]
    layers = [Convolution(FEATURES, dim)]
    Convolution(dim, CLASSES)  # their constructor makes this output layer, and then another one in its place
    if backbone != "gcn":
        layers.append(Convolution(dim, dim))
    layers.append(Convolution(2 * dim if backbone == "jknet" else dim, dim))
    return [each for layer in layers for each in layer.parameters()]


def built(backbone, dim=16):
    return build_encoder(
        backbone, in_dim=FEATURES, dim=dim, layers=3 if backbone in ("resgcn", "jknet") else 2, heads=2
    )


@pytest.mark.parametrize("backbone", ["gcn", "resgcn", "jknet", "sage", "gat"])
def test_the_same_numbers_in_the_same_places(backbone):
    encoder = built(backbone)
    redraw(encoder, CLASSES)
    for ours, theirs in zip(encoder.parameters(), slow(backbone, 16), strict=True):
        assert torch.equal(ours, theirs)
        assert ours.requires_grad and ours.is_leaf


def test_they_begin_with_what_torch_has_always_drawn_for_this_seed():
    """Torch promises nothing about other versions; these four are what people have long seen it print."""
    encoder = built("gcn", dim=4)
    redraw(encoder, CLASSES)
    drawn = (encoder.convolutions[0].weight[0, :4] / 0.5 + 1) / 2
    assert drawn.tolist() == pytest.approx([0.8823, 0.9150, 0.3829, 0.9593], abs=5e-5)


def test_classes_matter_where_a_layer_for_them_is_thrown_away():
    first, second = built("gcn"), built("gcn")
    redraw(first, 3)
    redraw(second, 4)
    assert torch.equal(first.convolutions[0].weight, second.convolutions[0].weight)
    assert not torch.equal(first.convolutions[1].weight, second.convolutions[1].weight)


def test_nobody_else_notices():
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    encoder = built("gcn")
    torch.manual_seed(1)
    redraw(encoder, CLASSES)
    assert torch.equal(torch.rand(3), expected)


def test_other_encoders_are_refused():
    encoder = build_encoder("gcn-original", in_dim=FEATURES, dim=4)
    with pytest.raises(
        SignnapError, match=r"^the authors have no ConvolutionalStack: expected a backbone of the paper$"
    ):
        redraw(encoder, CLASSES)
