"""DGI: the invariants of spec §4.4, and its encoder of two graphs at once against each encoded by itself."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits

from dense import agree, asymmetric_view, permuted, source_of
from signnap import ConvolutionalStack
from signnap.graph import SparseFeatures, as_dense
from signnap.methods.dgi import DGI, Critic, encode_shuffled
from signnap.methods.settings import resolve
from signnap.ops.geometry import spread
from signnap.train.run import Run
from sizes import Sizes

CHANCE = 2 * math.log(2)


def stack(features=5, dtype=torch.float64, seed=0):
    """DGI's encoder with slopes and biases that are not all the same."""
    encoder = (
        DGI(dim=4, hidden=6)
        .build_encoder(resolve({"method": "dgi", "dim": 4, "hidden": 6}), Sizes(9, features, 0))
        .to(dtype)
    )
    source = source_of(seed)
    for parameter in encoder.parameters():
        parameter.data = torch.randn(parameter.shape, generator=source, dtype=dtype)
    return encoder


def shuffle(n, seed=1):
    return torch.randperm(n, generator=source_of(seed))


def critic_of(weight):
    critic = Critic(len(weight))
    critic.weight = nn.Parameter(weight)
    return critic


def test_the_settings_of_the_paper_s_comparison():
    for dataset in (None, "pubmed", "amazon_photo"):
        found = resolve({"method": "dgi"}, dataset=dataset)
        assert (found.dim, found.hidden, found.iterations) == (512, 512, 300)
        assert (found.lr, found.weight_decay) == (0.001, 0.0)


def test_two_layers_with_one_slope_per_unit_between_them():
    encoder = DGI().build_encoder(resolve({"method": "dgi"}), Sizes(9, 7, 0))
    assert isinstance(encoder, ConvolutionalStack)
    assert [tuple(layer.weight.shape) for layer in encoder.layers] == [(7, 512), (512, 512)]
    (slopes,) = encoder.layers[0].then
    assert isinstance(slopes, nn.PReLU) and slopes.weight.shape == (512,)
    assert len(encoder.layers[1].then) == 0


def test_the_critic_begins_uniform_and_has_no_bias():
    ((name, weight),) = Critic(400).named_parameters()
    assert name == "weight" and weight.shape == (400, 400)
    assert 0.0499 < weight.max() <= 0.05 and -0.05 <= weight.min() < -0.0499
    assert weight.std().item() == pytest.approx(0.05 / math.sqrt(3), rel=0.02)


# -- the loss --------------------------------------------------------------------------------------------------------


def test_one_layer_has_its_authors_critic(small_graph):
    """Xavier's bound for a tensor of 1×d×d numbers is √(6 / (d² + d)), and there is a bias."""
    critic = DGI(layers=1, dim=50, iterations=1).run(small_graph).task.objective
    assert set(dict(critic.named_parameters())) == {"weight", "bias"} and critic.bias == 0
    bound = (6 / (50 * 50 + 50)) ** 0.5
    assert 0.99 * bound < critic.weight.abs().max() <= bound
    z, probe = torch.randn(4, 50), torch.randn(50)
    with torch.no_grad():
        critic.bias.fill_(3.0)
    torch.testing.assert_close(critic.score(z, probe), z @ probe + 3)
    assert set(dict(DGI(layers=2, dim=8, iterations=1).run(small_graph).task.objective.named_parameters())) == {
        "weight"
    }


def test_the_loss_is_the_sum_of_two_means_of_cross_entropy():
    z, other, weight = (torch.randn(n, 4, generator=source_of(n), dtype=torch.float64) for n in (9, 8, 4))
    summary = torch.sigmoid(sum(z) / len(z))
    scores = [torch.stack([row @ weight @ summary for row in rows]) for rows in (z, other)]
    wanted = [binary_cross_entropy_with_logits(s, torch.full_like(s, t)) for s, t in zip(scores, (1, 0), strict=True)]
    terms = critic_of(weight)(z, other, source_of(0))
    torch.testing.assert_close(torch.stack([*terms.parts.values()]), torch.stack(wanted))
    torch.testing.assert_close(terms.total, sum(terms.parts.values()))


def test_a_critic_of_zeros_is_at_chance():
    z, other = torch.randn(2, 9, 4, generator=source_of(0), dtype=torch.float64)
    critic = critic_of(torch.zeros(4, 4, dtype=torch.float64))
    assert critic(z, other, source_of(0)).total.item() == pytest.approx(CHANCE, rel=1e-12)
    assert critic.chance() == pytest.approx(CHANCE, rel=1e-12)


@given(st.integers(0, 10**6), st.floats(0, 100))
def test_no_critic_beats_chance_where_nothing_is_corrupted(seed, scale):
    source = source_of(seed)
    weight = scale * torch.randn(4, 4, generator=source, dtype=torch.float64)
    z, same = encode_shuffled(stack(seed=seed), asymmetric_view(), torch.arange(9))
    assert critic_of(weight)(z, same, source).total.item() >= CHANCE * (1 - 1e-12)


def test_huge_scores_stay_finite():
    z = torch.full((3, 4), 1e4)
    terms = critic_of(torch.eye(4))(z, z, source_of(0))
    assert terms.parts["loss_1"] == 0 and terms.parts["loss_2"].item() == pytest.approx(4e4)


# -- the two embeddings ----------------------------------------------------------------------------------------------


def test_the_copy_is_the_graph_with_permuted_features():
    encoder, view, order = stack(), asymmetric_view(), shuffle(9)
    z, shuffled = encode_shuffled(encoder, view, order)
    agree(z, encoder(view), encoder.parameters())
    agree(shuffled, encoder(view.with_features(view.x[order])), encoder.parameters())
    assert not torch.allclose(z, shuffled)


def test_renumbered_nodes_renumber_both_embeddings():
    encoder, view, order, nodes = stack(), asymmetric_view(), shuffle(9), shuffle(9, seed=2)
    z, shuffled = encode_shuffled(encoder, view, order)
    # New node i is old node nodes[i], which had the features of old node order[nodes[i]].
    renumbered = encode_shuffled(encoder, permuted(view, nodes), nodes.argsort()[order[nodes]])
    torch.testing.assert_close(renumbered, (z[nodes], shuffled[nodes]))


def test_sparse_features_are_the_same_as_dense_ones(small_graph):
    view = small_graph.view()
    dense = view.with_features(as_dense(view.x))
    sparse = view.with_features(SparseFeatures.from_scipy(dense.x.numpy()))
    encoder, order = stack(12, torch.float32), shuffle(40)
    pairs = zip(encode_shuffled(encoder, sparse, order), encode_shuffled(encoder, dense, order), strict=True)
    for found, wanted in pairs:
        agree(found, wanted, encoder.parameters(), rtol=1e-4, atol=1e-4)


# -- the task --------------------------------------------------------------------------------------------------------


def test_every_iteration_draws_another_permutation(small_graph):
    task = DGI(dim=8, hidden=8).task(small_graph)
    twin = task.generators["views"].clone_state()
    orders = [torch.randperm(40, generator=twin) for _ in range(3)]
    losses = [task.step().total for _ in orders]
    for order, loss in zip(orders, losses, strict=True):
        wanted = task.objective(*encode_shuffled(task.encoder, task.view, order), source_of(0)).total
        torch.testing.assert_close(loss, wanted)
    assert len({loss.item() for loss in losses}) == 3


def test_the_critic_is_trained_along_and_the_numbers_are_those_of_the_clean_graph(small_graph):
    task = DGI(dim=8, hidden=8).task(small_graph)
    before = task.objective.weight.detach().clone()
    assert set(task.modules) == {"encoder", "objective"}
    Run(task, lr=0.01, weight_decay=0.0).advance()
    assert not torch.equal(task.objective.weight, before)
    found = task.describe(task.step(), task.encoder)
    assert found == spread(task.encoder(task.view).detach()) and np.isfinite(list(found.values())).all()


def test_training_learns_to_tell_shuffled_features():
    model = DGI(dim=16, hidden=16, iterations=150, lr=0.01).fit("synthetic")
    assert model.outcome_.numbers["loss"] < 0.9 * CHANCE
