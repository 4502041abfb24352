"""GraphSAGE with the "gcn" aggregator against the formula of spec §2.3."""

import math

import pytest
import scipy.stats
import torch

from dense import agree, asymmetric_view, matrix
from signnap.encoders.wrap import build_encoder
from signnap.ops.dropout import dropout


def stack(layers=2, p=0.0, dim=4):
    torch.manual_seed(0)
    return build_encoder("sage", in_dim=5, dim=dim, layers=layers, dropout=p).double()


def slow(encoder, view, p=0.0):
    """h_i = φ( W·(Σ_{j∈P(i)} x_j + x_i)/(|P(i)|+1) + b ), where P(i) holds i and whoever has an entry (j, i)."""
    stored, h = matrix(view.pattern, view.stored), view.x
    for number, (weight, bias) in enumerate(zip(encoder.weights, encoder.biases, strict=True), 1):
        h = dropout(h, p)
        rows = []
        for i in range(len(h)):
            senders = sorted({j for j in range(len(h)) if stored[j, i] != 0} | {i})
            rows.append((h[senders].sum(dim=0) + h[i]) / (len(senders) + 1) @ weight + bias)
        h = torch.stack(rows)
        if number < len(encoder.weights):
            h = torch.relu(h)
    return h


@pytest.mark.parametrize("layers", [1, 2, 3, 4, 5])
def test_looped_twin_at_any_depth(layers):
    view, encoder = asymmetric_view(), stack(layers)
    agree(encoder(view), slow(encoder, view), encoder.parameters())


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_dropout_acts_before_every_layer(layers):
    view, encoder = asymmetric_view(), stack(layers, p=0.5)
    torch.manual_seed(1)
    found = encoder(view)
    torch.manual_seed(1)
    agree(found, slow(encoder, view, 0.5), encoder.parameters())
    assert not torch.allclose(found, slow(encoder, view))
    assert torch.allclose(encoder.eval()(view), slow(encoder, view))


def test_stored_values_do_not_matter_only_which_entries_there_are():
    view, encoder = asymmetric_view(), stack()
    assert torch.equal(encoder(view.with_entries(5 * view.stored)), encoder(view))


def test_an_isolated_node_hears_only_itself():
    view, encoder = asymmetric_view(), stack(layers=1)
    assert torch.allclose(encoder(view)[-1], view.x[-1] @ encoder.weights[0] + encoder.biases[0])


def test_initial_weights():
    torch.manual_seed(0)
    encoder = build_encoder("sage", in_dim=300, dim=128, layers=2)
    for width, weight, bias in zip([300, 128], encoder.weights, encoder.biases, strict=True):
        assert weight.shape == (width, 128) and bias.shape == (128,)
        bounds = (math.sqrt(2) * math.sqrt(6 / (width + 128)), 1 / math.sqrt(width))
        for parameter, bound in zip((weight, bias), bounds, strict=True):
            scaled = parameter.detach().ravel().numpy() / bound
            assert abs(scaled).max() <= 1 + 1e-6
            assert scipy.stats.kstest(scaled, scipy.stats.uniform(-1, 2).cdf).pvalue > 1e-4
