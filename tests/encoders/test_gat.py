"""GAT, heads concatenated and without bias, against the formulas of spec §2.3."""

import math

import pytest
import scipy.stats
import torch
from torch.nn.functional import elu, leaky_relu

from dense import agree, asymmetric_view, entries, matrix
from signnap.encoders import build_encoder
from signnap.errors import SignnapError
from signnap.graph import dropout


def stack(layers=2, p=0.0, dim=6, heads=3):
    torch.manual_seed(0)
    return build_encoder("gat", in_dim=5, dim=dim, layers=layers, dropout=p, heads=heads).double()


def slow_layer(layer, h, view, p):
    """Per head and node i: softmax over P(i) of LeakyReLU(a_l·W x_j + a_r·W x_i), then the weighted sum of W x_j."""
    heads, width = layer.to_sender.shape
    stored, n = matrix(view.pattern, view.stored), len(h)
    wide = (dropout(h, p) @ layer.weight).view(n, heads, width)
    # One mask value per entry and head, in the order of the pattern, so that both sides draw the same numbers.
    mask = matrix(view.pattern, dropout(torch.ones(view.pattern.num_entries, heads, dtype=h.dtype), p))
    out = []
    for i in range(n):
        senders = sorted({j for j in range(n) if stored[j, i] != 0} | {i})
        for head in range(heads):
            scores = torch.stack(
                [
                    leaky_relu(layer.to_sender[head] @ wide[j, head] + layer.to_receiver[head] @ wide[i, head], 0.2)
                    for j in senders
                ]
            )
            attention = scores.softmax(dim=0) * mask[i, senders, head]
            out.append(attention @ wide[senders, head])
    return torch.stack(out).view(n, heads * width)


def slow(encoder, view, p=0.0):
    h = view.x
    for number, layer in enumerate(encoder.layers):
        h = slow_layer(layer, h if number == 0 else elu(h), view, p)
    return h


@pytest.mark.parametrize("layers", [1, 2, 3, 5])
@pytest.mark.parametrize(("dim", "heads"), [(6, 3), (4, 1)])
def test_looped_twin_at_any_depth(layers, dim, heads):
    view, encoder = asymmetric_view(), stack(layers, dim=dim, heads=heads)
    agree(encoder(view), slow(encoder, view), encoder.parameters())
    assert encoder(view).shape == (9, dim)


@pytest.mark.parametrize("layers", [1, 2])
def test_dropout_acts_on_the_input_and_on_the_attention_of_every_layer(layers):
    view, encoder = asymmetric_view(), stack(layers, p=0.6)
    torch.manual_seed(1)
    found = encoder(view)
    torch.manual_seed(1)
    agree(found, slow(encoder, view, 0.6), encoder.parameters())
    assert not torch.allclose(found, slow(encoder, view))
    assert torch.allclose(encoder.eval()(view), slow(encoder, view))


def test_without_attention_vectors_it_is_the_plain_mean():
    view, encoder = asymmetric_view(), stack(layers=1)
    torch.nn.init.zeros_(encoder.layers[0].to_sender)
    torch.nn.init.zeros_(encoder.layers[0].to_receiver)
    kept = matrix(view.pattern, view.incoming.double())
    assert torch.allclose(encoder(view), kept / kept.sum(dim=1, keepdim=True) @ view.x @ encoder.layers[0].weight)


def test_attention_over_the_in_edges_of_a_node_sums_to_one():
    view, encoder = asymmetric_view(), stack(layers=1, dim=3, heads=3)
    torch.nn.init.ones_(encoder.layers[0].weight)
    constant = view.with_features(torch.full_like(view.x, 0.2))
    assert torch.allclose(encoder(constant), torch.ones(9, 3, dtype=torch.float64))


def test_a_dropped_entry_carries_nothing():
    view, encoder = asymmetric_view(), stack(layers=1)
    r, c = next((r, c) for k, r, c in entries(view.pattern) if r != c and view.stored[k] != 0)
    stored = matrix(view.pattern, view.stored).clone()
    stored[r, c] = 0
    dropped = view.with_entries(torch.stack([stored[r, c] for _, r, c in entries(view.pattern)]))
    changed = (encoder(view) - encoder(dropped)).abs().sum(dim=1) > 1e-9
    assert changed.nonzero().squeeze(1).tolist() == [c], "an entry (r, c) is a message from r to c"


def test_initial_weights_and_no_bias():
    torch.manual_seed(0)
    encoder = build_encoder("gat", in_dim=300, dim=64, layers=2, heads=8)
    names = {name for name, _ in encoder.named_parameters()}
    assert names == {f"layers.{n}.{part}" for n in (0, 1) for part in ("weight", "to_sender", "to_receiver")}
    for width, layer in zip([300, 64], encoder.layers, strict=True):
        assert layer.weight.shape == (width, 64) and layer.to_sender.shape == layer.to_receiver.shape == (8, 8)
        law = scipy.stats.norm(scale=math.sqrt(2) * math.sqrt(2 / (width + 64)))
        assert scipy.stats.kstest(layer.weight.detach().ravel().numpy(), law.cdf).pvalue > 1e-4
    drawn = [build_encoder("gat", in_dim=2, dim=64, layers=1, heads=8).layers[0] for _ in range(100)]
    for part in ("to_sender", "to_receiver"):
        values = torch.cat([getattr(layer, part).detach().ravel() for layer in drawn])
        assert values.std().item() == pytest.approx(0.2357, rel=0.04)
        assert scipy.stats.kstest(values.numpy(), scipy.stats.norm(scale=0.2357).cdf).pvalue > 1e-4


def test_heads_must_share_the_width_evenly():
    with pytest.raises(SignnapError, match="dim is 10 with 4 heads: expected a multiple of the number of heads"):
        build_encoder("gat", in_dim=5, dim=10, heads=4)
