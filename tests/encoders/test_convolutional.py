"""Stacks of the usual graph convolution against the same layers of PyG (spec §4.4 to §5.1)."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.stats
import torch
from torch import nn
from torch.func import functional_call

from dense import agree, asymmetric_view, matrix, permuted, source_of
from signnap import SIGNNAP, ConvolutionalStack, FeatureNoise
from signnap.encoders import conv
from signnap.encoders.wrap import build_encoder
from signnap.errors import SignnapError
from signnap.graph import Graph, SparseFeatures, as_dense, multiply
from signnap.graph import feature_ops as features
from signnap.ops.dropout import dropout

#: the arguments after the number of features, and the layers they should make; numbers are widths of a convolution
STACKS = {
    "grace": ({"widths": [8, 4], "activate_last": True}, [(5, 8), nn.ReLU, (8, 4), nn.ReLU]),
    "gca": (
        {"widths": [8, 4], "activation": "rrelu", "activate_last": True},
        [(5, 8), lambda: AsTheyCallIt(), (8, 4), lambda: AsTheyCallIt()],
    ),
    "bgrl": (
        {"widths": [8, 4], "activation": "prelu", "activate_last": True, "momentum": 0.01},
        [(5, 8), lambda: norm(8), nn.PReLU, (8, 4), lambda: norm(4), nn.PReLU],
    ),
    "g-bt": (
        {"widths": [8, 4], "activation": "prelu", "momentum": 0.01},
        [(5, 8), lambda: norm(8), nn.PReLU, (8, 4)],
    ),
    "dgi": ({"widths": [8], "activation": "prelu", "activate_last": True}, [(5, 8), nn.PReLU]),
    "dgi, two layers": (
        {"widths": [8, 8], "activation": "prelu", "slope_per_unit": True},
        [(5, 8), lambda: nn.PReLU(8), (8, 8)],
    ),
    "cca-ssg": ({"widths": [8, 8]}, [(5, 8), nn.ReLU, (8, 8)]),
    "cca-ssg, no edges": (
        {"widths": [8, 8], "momentum": 0.1, "propagate": False},
        [lambda: nn.Linear(5, 8), lambda: nn.BatchNorm1d(8), nn.ReLU, lambda: nn.Linear(8, 8)],
    ),
    "three layers": ({"widths": [8, 3, 2], "activation": "elu"}, [(5, 8), nn.ELU, (8, 3), nn.ELU, (3, 2)]),
    "linear": ({"widths": [8, 4], "activation": "none", "activate_last": True}, [(5, 8), (8, 4)]),
}
stacks = pytest.mark.parametrize("name", STACKS)
WITH_NORM = [name for name, (arguments, _) in STACKS.items() if arguments.get("momentum") == 0.01]


class AsTheyCallIt(nn.Module):
    """RReLU as a function: without ``training=True`` it draws no slopes."""

    def forward(self, x):
        return nn.functional.rrelu(x)


def norm(width):
    return nn.BatchNorm1d(width, momentum=0.01)


def stack(name, in_dim=5):
    """The encoder, its biases, slopes and batch norm moved away from where they start."""
    torch.manual_seed(0)
    encoder = ConvolutionalStack(in_dim, **STACKS[name][0])
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter += 0.3 * torch.randn_like(parameter) * (parameter.dim() == 1)
    return encoder


class Twin(nn.Module):
    """The layers of PyG and torch one after the other, computing with the parameters of one of our encoders."""

    def __init__(self, name):
        super().__init__()
        GCNConv = pytest.importorskip("torch_geometric.nn").GCNConv
        self.parts = nn.ModuleList(
            GCNConv(*part) if isinstance(part, tuple) else part() for part in STACKS[name][1]
        ).double()

    def forward(self, x, edge_index):
        for part in self.parts:
            x = part(x, edge_index) if hasattr(part, "propagate") else part(x)
        return x

    def like(self, encoder, view):
        """The embedding with the encoder's parameters, to which gradients flow."""
        kinds = (conv.SymmetricConvolution, nn.BatchNorm1d, nn.PReLU)
        ours = [part for part in encoder.modules() if isinstance(part, kinds)]
        learners = [(number, part) for number, part in enumerate(self.parts) if list(part.parameters())]
        named = {}
        for (number, part), own in zip(learners, ours, strict=True):
            if isinstance(own, conv.SymmetricConvolution):
                weight = "weight" if isinstance(part, nn.Linear) else "lin.weight"
                named |= {f"parts.{number}.{weight}": own.weight.t(), f"parts.{number}.bias": own.bias}
            else:
                assert type(part) is type(own)
                named |= {f"parts.{number}.{key}": value for key, value in own.named_parameters()}
        shapes = lambda pairs: {key: value.shape for key, value in pairs}
        assert shapes(named.items()) == shapes(self.named_parameters())
        return functional_call(self, named, (view.x, view.edge_index()))


def statistics(module):
    """Running means and variances of every batch norm."""
    parts = [part for part in module.modules() if isinstance(part, nn.BatchNorm1d)]
    return [buffer for part in parts for buffer in (part.running_mean, part.running_var, part.num_batches_tracked)]


def two_views():
    """Two views that share their features, and only those."""
    view = asymmetric_view()
    dropped = torch.rand(view.stored.shape, generator=source_of(1)) < 0.4
    return [view, view.with_entries(view.stored.masked_fill(dropped, 0))]


@stacks
def test_layers_of_pyg_in_training(name):
    view, encoder, twin = asymmetric_view(), stack(name).double(), Twin(name)
    torch.manual_seed(1)
    found = encoder(view)
    torch.manual_seed(1)
    agree(found, twin.like(encoder, view), encoder.parameters())


@stacks
@pytest.mark.parametrize("shared", [True, False])
def test_several_views_are_encoded_one_after_the_other(name, shared):
    encoder, twin, views = stack(name).double(), Twin(name), two_views()
    if not shared:
        views[1] = views[1].with_features(2 * views[1].x)
    found, wanted = encoder.encode(views), [twin.like(encoder, view) for view in views]
    agree(torch.cat(found), torch.cat(wanted), encoder.parameters())
    assert len(statistics(encoder)) == len(statistics(twin))
    for mine, other in zip(statistics(encoder), statistics(twin), strict=True):
        torch.testing.assert_close(mine, other)


@stacks
def test_outside_training_nothing_is_drawn_and_nothing_moves(name):
    encoder, twin, views = stack(name).double(), Twin(name), two_views()
    for part in (encoder.encode, lambda views: [twin.like(encoder, view) for view in views]):
        part(views)  # batch norm has seen something
    encoder.eval(), twin.eval()
    state, before = torch.get_rng_state(), [t.clone() for t in statistics(encoder)]
    found = encoder(views[0])
    agree(found, twin.like(encoder, views[0]), encoder.parameters())
    assert torch.equal(encoder(views[0]), found)
    for together, view in zip(encoder.encode(views), views, strict=True):
        torch.testing.assert_close(together, encoder(view))
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(a, b) for a, b in zip(before, statistics(encoder), strict=True))


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("p", [0.0, 0.5])
def test_gcn_as_it_was_published(layers, p):
    """sym(Ã) ReLU(sym(Ã) X W₀ + b₀) W₁ + b₁, with dropout on the input of every layer (spec §3.1)."""
    gcn_norm = pytest.importorskip("torch_geometric.nn.conv.gcn_conv").gcn_norm
    view, n = asymmetric_view(), 9
    (source, target), weights = gcn_norm(view.edge_index(), num_nodes=n, dtype=torch.float64)
    operator = torch.zeros(n, n, dtype=torch.float64).index_put_((target, source), weights, accumulate=True)
    encoder = build_encoder("gcn-original", in_dim=5, dim=8, layers=layers, dropout=p, out_dim=3).double()
    torch.nn.init.normal_(encoder.layers[-1].bias)
    torch.manual_seed(1)
    found = encoder(view)
    torch.manual_seed(1)
    h = view.x
    for number, layer in enumerate(encoder.layers, 1):
        h = operator @ (dropout(h, p) @ layer.weight) + layer.bias
        h = h.relu() if number < layers else h
    agree(found, h, encoder.parameters())
    assert [layer.weight.shape[1] for layer in encoder.layers] == [8] * (layers - 1) + [3]


@pytest.mark.parametrize("name", WITH_NORM)
def test_running_statistics_follow_one_view_after_the_other(name):
    encoder, views = stack(name).double(), two_views()
    encoder.encode(views)
    mean, variance, seen = statistics(encoder)[:3]
    wanted_mean, wanted_variance = torch.zeros(8).double(), torch.ones(8).double()
    for view in views:
        first = encoder.layers[0]
        h = matrix(view.pattern, view.symmetric.values) @ view.x @ first.weight + first.bias
        wanted_mean = 0.99 * wanted_mean + 0.01 * h.mean(dim=0)
        wanted_variance = 0.99 * wanted_variance + 0.01 * h.var(dim=0)
    torch.testing.assert_close(mean, wanted_mean)
    torch.testing.assert_close(variance, wanted_variance)
    assert seen == 2


@stacks
def test_renumbering_the_nodes_renumbers_the_embeddings(name):
    view, order = asymmetric_view(nodes=12), torch.randperm(12, generator=source_of(1))
    encoder = stack(name).double().train(name != "gca")
    assert torch.allclose(encoder(permuted(view, order)), encoder(view)[order])


def wordy_view(noise=False):
    rng = np.random.default_rng(0)
    x = rng.random((12, 6)) * (rng.random((12, 6)) < 0.15)
    view = Graph.from_edges(*rng.integers(0, 11, (2, 20)), sp.csr_matrix(x)).view()
    assert isinstance(view.x, SparseFeatures)
    return FeatureNoise("gaussian", 1.0)(view, source_of(0)) if noise else view


@stacks
@pytest.mark.parametrize("noise", [False, True])
def test_the_layout_of_features_makes_no_difference(name, noise):
    view, encoder = wordy_view(noise), stack(name, 6).eval()  # batch norm in training magnifies rounding errors
    dense = view.with_features(as_dense(view.x))
    agree(encoder(view), encoder(dense), encoder.parameters(), atol=1e-5, rtol=1e-4)


@stacks
def test_features_stay_as_they_are_and_are_multiplied_once(name, monkeypatch):
    seen = []
    monkeypatch.setattr(features, "multiply", lambda x, weight: (seen.append(x), multiply(x, weight))[1])
    encoder, view, noisy = stack(name, 6), wordy_view(), wordy_view(noise=True)
    halved = view.with_entries(view.stored / 2)
    encoder.encode([view, halved])
    encoder.encode([view, noisy, halved])
    assert [x is own for x, own in zip(seen, [view.x, view.x, noisy.x], strict=True)] == [True] * 3


@stacks
def test_finite_everywhere_and_every_parameter_is_reached(name):
    bare = Graph.from_edges([], [], np.zeros((12, 6))).view()
    for view in (bare, bare.with_features(torch.ones(12, 6)), wordy_view()):
        encoder = stack(name, 6)
        z = encoder(view)
        assert z.shape == (12, STACKS[name][0]["widths"][-1]) and z.isfinite().all()
        z.sin().sum().backward()
        assert all(p.grad is not None and p.grad.isfinite().all() for p in encoder.parameters())


def test_initial_weights():
    torch.manual_seed(0)
    encoder = ConvolutionalStack(300, [256, 128], "prelu", activate_last=True, momentum=0.01)
    for layer, (before, width) in zip(encoder.layers, [(300, 256), (256, 128)], strict=True):
        scaled = layer.weight.detach().ravel().numpy() / math.sqrt(6 / (before + width))
        assert layer.weight.shape == (before, width) and abs(scaled).max() <= 1 + 1e-6
        assert scipy.stats.kstest(scaled, scipy.stats.uniform(-1, 2).cdf).pvalue > 1e-4
        assert torch.equal(layer.bias, torch.zeros(width))
        assert [type(part) for part in layer.then] == [nn.BatchNorm1d, nn.PReLU]
        assert torch.equal(layer.then[1].weight, torch.tensor([0.25]))


def same(left, right):
    """Equal parameters and statistics, to the last bit."""
    pairs = zip(left.state_dict().items(), right.state_dict().items(), strict=True)
    return all(a == b and torch.equal(x, y) for (a, x), (b, y) in pairs)


@pytest.mark.parametrize("name", ["gca", "bgrl", "dgi, two layers"])
def test_as_the_backbone_of_signnap(name, small_graph, tmp_path):
    encoder = stack(name, 12)
    fit = lambda seed: SIGNNAP(encoder, negatives=16, iterations=4, seed=seed).fit(small_graph)
    model = fit(1)
    assert model.settings_.backbone == "custom"
    assert same(model.encoder_, fit(1).encoder_) and not same(model.encoder_, fit(2).encoder_)
    assert same(encoder, stack(name, 12)), "a copy was trained"
    if name == "bgrl":
        assert statistics(model.encoder_)[2] == 8, "two views in each of four iterations"
    model.save(tmp_path)
    loaded = SIGNNAP.load(tmp_path, backbone=ConvolutionalStack(12, **STACKS[name][0]))
    assert same(loaded.encoder_, model.encoder_)
    assert np.array_equal(loaded.transform(small_graph), model.transform(small_graph))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"widths": []}, r"the widths are \[\] after 5 features: expected at least one of each"),
        ({"widths": [8, 0]}, r"the widths are \[8, 0\] after 5 features"),
        ({"widths": [8], "activation": "prelo"}, "unknown activation 'prelo', did you mean 'prelu'"),
        ({"widths": [8], "momentum": 1.5}, "the momentum of batch norm is 1.5: expected a number between 0 and 1"),
    ],
)
def test_bad_input(arguments, sentence):
    with pytest.raises(SignnapError, match=sentence):
        ConvolutionalStack(5, **arguments)


def test_batch_norm_needs_two_nodes_to_learn():
    lonely = Graph.from_edges([], [], np.ones((1, 5))).view()
    with pytest.raises(SignnapError, match="batch norm cannot learn from a graph of one node: expected at least two"):
        stack("bgrl")(lonely)
    assert stack("bgrl").eval()(lonely).isfinite().all()
    assert stack("cca-ssg")(lonely).isfinite().all()
