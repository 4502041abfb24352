"""GCN, ResGCN and JKNet against the formulas of spec §2.3 on a view whose edges have directions."""

import math

import pytest
import scipy.stats
import torch

from dense import agree, asymmetric_view, matrix
from signnap.encoders.gcn import GCNStack
from signnap.encoders.wrap import build_encoder
from signnap.ops.dropout import dropout

JOINS = {"gcn": "plain", "resgcn": "residual", "jknet": "dense"}


def stack(name, layers=3, dim=4, p=0.0, in_dim=5):
    torch.manual_seed(0)
    return build_encoder(name, in_dim=in_dim, dim=dim, layers=layers, dropout=p).double()


def mean_over_rows(view):
    """Â: row i averages over its own entries (i, j) and itself."""
    looped = matrix(view.pattern, view.stored) + torch.eye(view.pattern.num_nodes, dtype=torch.float64)
    return looped / looped.sum(dim=1, keepdim=True)


def slow(name, encoder, view, p=0.0):
    """h1 = Drop(GC(X)); then per layer plain, h2 = Drop(GC(h1)) + h1, or [Drop(GC(h1)) ‖ h1]; nothing on the last."""
    average, h = mean_over_rows(view), view.x
    handed_on = None
    for number, layer in enumerate(encoder.convolutions, 1):
        weight, own_weight = layer.weight.chunk(2, dim=1)
        out = average @ (h @ weight) + h @ own_weight + layer.bias
        if number == len(encoder.convolutions):
            return out
        new = dropout(torch.relu(out), p)
        if handed_on is None or name == "gcn":
            h = new
        else:
            h = new + handed_on if name == "resgcn" else torch.cat([new, handed_on], dim=1)
        handed_on = h
    raise AssertionError("no layers")


@pytest.mark.parametrize("layers", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("name", JOINS)
def test_dense_twin_at_any_depth(name, layers):
    view, encoder = asymmetric_view(), stack(name, layers)
    agree(encoder(view), slow(name, encoder, view), encoder.parameters())
    assert encoder(view).shape == (9, 4)


@pytest.mark.parametrize("name", JOINS)
def test_dropout_acts_between_layers_only(name):
    view, encoder = asymmetric_view(), stack(name, p=0.5)
    torch.manual_seed(1)
    found = encoder(view)
    torch.manual_seed(1)
    agree(found, slow(name, encoder, view, 0.5), encoder.parameters())
    assert not torch.allclose(found, slow(name, encoder, view))
    one = stack(name, layers=1, p=0.9)
    assert torch.allclose(one(view), slow(name, one, view)), "neither the features nor the output are dropped"


@pytest.mark.parametrize("name", JOINS)
def test_outside_training_nothing_is_dropped(name):
    view, encoder = asymmetric_view(), stack(name, p=0.5).eval()
    assert torch.allclose(encoder(view), slow(name, encoder, view))
    assert torch.equal(encoder(view), encoder(view))


def test_the_direction_of_an_entry():
    """Entry (i, j) lets row i hear node j, and not the other way round."""
    view, encoder = asymmetric_view(), stack("gcn", layers=1)
    stored = matrix(view.pattern, view.stored)
    i, j = ((stored != 0) & (stored.t() == 0)).nonzero()[0].tolist()
    moved = view.x.clone()
    moved[j] += 1
    changed = (encoder(view) - encoder(view.with_features(moved))).abs().sum(dim=1) > 1e-9
    assert changed[i]
    assert changed.nonzero().squeeze(1).tolist() == sorted({j} | set(stored[:, j].nonzero().squeeze(1).tolist()))


def test_a_residual_layer_of_zeros_is_not_there():
    view, deep, flat = asymmetric_view(), stack("resgcn", layers=3), stack("gcn", layers=2)
    for parameter in deep.convolutions[1].parameters():
        torch.nn.init.zeros_(parameter)
    flat.load_state_dict(
        {
            name.replace("convolutions.2", "convolutions.1"): value
            for name, value in deep.state_dict().items()
            if "convolutions.1" not in name
        }
    )
    assert torch.allclose(deep(view), flat(view))


def test_jknet_puts_new_features_first():
    view, encoder = asymmetric_view(), stack("jknet", dim=4)
    last = encoder.convolutions[2]
    assert last.weight.shape == (8, 2 * 4)
    with torch.no_grad():
        last.weight[:4] = 0
    before = encoder(view)
    for parameter in encoder.convolutions[1].parameters():
        torch.nn.init.uniform_(parameter)
    assert torch.allclose(encoder(view), before), "the middle layer no longer matters"


def test_over_constant_features_without_own_weight_all_nodes_agree():
    view, encoder = asymmetric_view(), stack("gcn", layers=2)
    for layer in encoder.convolutions:
        layer.weight.data[:, layer.weight.shape[1] // 2 :] = 0
    z = encoder(view.with_features(torch.ones_like(view.x)))
    assert torch.allclose(z, z[:1].expand_as(z))


@pytest.mark.parametrize("name", JOINS)
def test_initial_weights(name):
    torch.manual_seed(0)
    encoder = build_encoder(name, in_dim=300, dim=128, layers=3)
    widths = {"gcn": [300, 128, 128], "resgcn": [300, 128, 128], "jknet": [300, 128, 256]}[name]
    assert isinstance(encoder, GCNStack) and encoder.join == JOINS[name]
    assert [tuple(layer.weight.shape) for layer in encoder.convolutions] == [(width, 256) for width in widths]
    for parameter in encoder.parameters():
        scaled = parameter.detach().ravel() * math.sqrt(128)
        assert scaled.abs().max() <= 1 + 1e-6
        assert scipy.stats.kstest(scaled.numpy(), scipy.stats.uniform(-1, 2).cdf).pvalue > 1e-4
    weight, own_weight = encoder.convolutions[0].weight.chunk(2, dim=1)
    assert not torch.equal(weight, own_weight)
