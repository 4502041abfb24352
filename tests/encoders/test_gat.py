"""GAT, heads concatenated and without bias, against the formulas of spec §2.3."""

import math

import pytest
import scipy.stats
import torch
from torch.nn.functional import elu, leaky_relu

from dense import agree, asymmetric_view, entries, matrix, source_of
from signnap.encoders.gat import GATLayer, GATStack
from signnap.encoders.wrap import build_encoder
from signnap.errors import SignnapError
from signnap.ops.dropout import dropout


def stack(layers=2, p=0.0, dim=6, heads=3):
    torch.manual_seed(0)
    return build_encoder("gat", in_dim=5, dim=dim, layers=layers, dropout=p, heads=heads).double()


def slow_layer(layer, h, view, p, attention_p):
    """Per head and node i: softmax over P(i) of LeakyReLU(a_l·W x_j + a_r·W x_i), then the weighted sum of W x_j."""
    heads, width = layer.to_sender.shape
    stored, n = matrix(view.pattern, view.stored), len(h)
    wide = (dropout(h, p) @ layer.weight).view(n, heads, width)
    # One mask value per entry and head, in the order of the pattern, so that both sides draw the same numbers.
    mask = matrix(view.pattern, dropout(torch.ones(view.pattern.num_entries, heads, dtype=h.dtype), attention_p))
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
        h = slow_layer(layer, h if number == 0 else elu(h), view, p, p)
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


# -- the relatives: a bias, another activation, dropout of attention at its own rate -----------------------------------


def relative(layers=2, p=0.0, attention_p=0.0, **options):
    """A stack as GraphMAE has it, with slopes and biases that are not all the same."""
    options = {"activation": "prelu", "activate_last": True, "bias": True} | options
    encoder = GATStack(5, 6, layers, p, 3, attention_dropout=attention_p, **options).double()
    for number, parameter in enumerate(encoder.parameters()):
        parameter.data = torch.randn(parameter.shape, generator=source_of(number), dtype=torch.float64)
    return encoder


def slow_relative(encoder, view, p=0.0, attention_p=0.0, activate_last=True):
    h = view.x
    for number, layer in enumerate(encoder.layers, 1):
        h = slow_layer(layer, h, view, p, attention_p) + layer.bias
        if activate_last or number < len(encoder.layers):
            h = torch.where(h > 0, h, layer.then.weight * h)
    return h


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("activate_last", [True, False])
def test_bias_and_slope_after_every_layer(layers, activate_last):
    view, encoder = asymmetric_view(), relative(layers, activate_last=activate_last)
    agree(encoder(view), slow_relative(encoder, view, activate_last=activate_last), encoder.parameters())
    slopes = [name for name, _ in encoder.named_parameters() if "then" in name]
    assert len(slopes) == (layers if activate_last else layers - 1)


@pytest.mark.parametrize("rates", [(0.5, 0.0), (0.0, 0.5), (0.5, 0.25)])
def test_attention_is_dropped_at_a_rate_of_its_own(rates):
    view, encoder = asymmetric_view(), relative(2, *rates)
    torch.manual_seed(1)
    found = encoder(view)
    torch.manual_seed(1)
    agree(found, slow_relative(encoder, view, *rates), encoder.parameters())


def test_gat_as_its_authors_have_it_is_ours_with_biases():
    sizes = {"in_dim": 5, "dim": 6, "layers": 2, "dropout": 0.0, "heads": 3}
    ours, theirs = (build_encoder(name, **sizes).double() for name in ("gat", "gat-original"))
    theirs.load_state_dict(ours.state_dict(), strict=False)
    view = asymmetric_view()
    assert torch.equal(theirs(view), ours(view))
    added = {name for name, _ in theirs.named_parameters()} - {name for name, _ in ours.named_parameters()}
    assert added == {"layers.0.bias", "layers.1.bias"}
    torch.nn.init.ones_(theirs.layers[1].bias)
    torch.testing.assert_close(theirs(view), ours(view) + 1)


def test_new_biases_are_zero_and_the_product_may_be_given():
    fresh = GATStack(5, 6, 2, 0.0, 3, bias=True)
    assert all(not layer.bias.any() and layer.bias.shape == (6,) for layer in fresh.layers)
    view, encoder = asymmetric_view(), relative()
    product = encoder.begin(view)
    torch.testing.assert_close(product, view.x @ encoder.layers[0].weight)
    assert torch.equal(encoder.finish(product, view), encoder(view))
    assert not torch.allclose(encoder.finish(product + 1, view), encoder(view))


def test_attention_may_average_rows_before_their_product():
    """Of a single head: Σ a·(h W) = (Σ a·h) W, with scores that are as narrow."""
    torch.manual_seed(0)
    view, layer = asymmetric_view(), GATLayer(5, 1, 30, 0.0).double()
    narrow = layer.attend(view.x @ (layer.weight @ layer.directions()), view.x, view) @ layer.weight
    agree(narrow, layer(view.x @ layer.weight, view), layer.parameters())


def test_an_unknown_activation():
    with pytest.raises(SignnapError, match="unknown activation 'prelo', did you mean 'prelu'"):
        GATStack(5, 6, 2, 0.0, 3, activation="prelo")


def test_heads_must_share_the_width_evenly():
    with pytest.raises(SignnapError, match="dim is 10 with 4 heads: expected a multiple of the number of heads"):
        build_encoder("gat", in_dim=5, dim=10, heads=4)
