"""MVGRL: the invariants of spec §4.5, and its loss against torch's own bilinear form and cross-entropy."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits

from dense import agree, source_of
from signnap.graph import as_dense
from signnap.methods.mvgrl import MVGRL, CrossCritic
from signnap.methods.settings import resolve
from signnap.train.run import Run


def critic_of(dim=4, scale=1.0, seed=0):
    """A critic whose weights are not small and whose bias is not zero."""
    critic = CrossCritic(dim).double()
    for parameter in critic.parameters():
        parameter.data = scale * torch.randn(parameter.shape, generator=source_of(seed), dtype=torch.float64)
    return critic


def readings(nodes=7, dim=4, seed=0):
    """Two readings of a graph, and two of a copy."""
    shape = (2, 2, nodes, dim)
    return torch.randn(shape, generator=source_of(seed), dtype=torch.float64).requires_grad_()


def test_the_settings_of_the_authors():
    for dataset in (None, "pubmed", "amazon_photo"):
        found = resolve({"method": "cmv"}, dataset=dataset)
        assert (found.dim, found.iterations, found.patience) == (512, 3000, 20)
        assert (found.lr, found.weight_decay, found.alpha, found.hops) == (0.001, 0.0, 0.2, 20)


def test_settings_reach_the_encoder(small_graph):
    encoder = MVGRL(dim=8, alpha=0.5, hops=3).task(small_graph).encoder
    assert (encoder.diffusion.alpha, encoder.diffusion.hops) == (0.5, 3)
    assert encoder.edges.weight.shape == encoder.diffusion.weight.shape == (12, 8)


# -- the loss --------------------------------------------------------------------------------------------------------


def test_the_loss_is_the_cross_entropy_of_all_scores():
    z, critic = readings(), critic_of()
    (h1, h2), (h3, h4) = z
    form = nn.Bilinear(4, 4, 1).double()
    form.weight, form.bias = nn.Parameter(critic.weight[None].detach()), nn.Parameter(critic.bias[None].detach())
    s1, s2 = (h.mean(dim=0).sigmoid().expand(7, 4) for h in (h1, h2))
    scores = torch.cat([form(h2, s1), form(h1, s2), form(h4, s1), form(h3, s2)])[:, 0]
    target = torch.tensor([1.0] * 14 + [0.0] * 14, dtype=torch.float64)
    terms = critic(*z, source_of(0))
    wanted = binary_cross_entropy_with_logits(scores, target)
    torch.testing.assert_close(terms.total, wanted)
    (mine,), (twin,) = (torch.autograd.grad(loss, [z], retain_graph=True) for loss in (terms.total, wanted))
    torch.testing.assert_close(mine, twin)
    torch.testing.assert_close(terms.parts["loss_1"], binary_cross_entropy_with_logits(scores[:14], target[:14]))
    torch.testing.assert_close(terms.parts["loss_2"], binary_cross_entropy_with_logits(scores[14:], target[14:]))
    mine, twin = (
        torch.autograd.grad(terms.total, [critic.weight, critic.bias], retain_graph=True),
        torch.autograd.grad(wanted, [form.weight, form.bias]),
    )
    torch.testing.assert_close(mine, (twin[0][0], twin[1][0]))


def test_a_critic_of_zeros_is_at_chance():
    critic = critic_of(scale=0.0)
    assert critic(*readings(), source_of(0)).total.item() == pytest.approx(math.log(2), rel=1e-12)
    assert critic.chance() == pytest.approx(math.log(2), rel=1e-12)


@given(st.integers(0, 10**6), st.floats(0, 100))
def test_no_critic_beats_chance_where_nothing_is_corrupted(seed, scale):
    z = readings(seed=seed)[0]
    assert critic_of(scale=scale, seed=seed)(z, z, source_of(0)).total.item() >= math.log(2) * (1 - 1e-12)


def test_the_order_of_the_two_readings_does_not_matter():
    z, critic = readings(), critic_of()
    torch.testing.assert_close(critic(*z.flip(1), source_of(0)).total, critic(*z, source_of(0)).total)


def test_the_critic_begins_small_and_without_bias():
    found = dict(CrossCritic.drawn(50, seed=0).named_parameters())
    assert set(found) == {"weight", "bias"} and found["bias"].item() == 0
    like = nn.init.xavier_uniform_(torch.empty(1, 50, 50))
    assert found["weight"].abs().max().item() == pytest.approx(like.abs().max().item(), rel=0.01)
    assert not torch.equal(found["weight"], CrossCritic.drawn(50, seed=1).weight)


# -- the task --------------------------------------------------------------------------------------------------------


def test_the_copy_is_the_graph_with_permuted_features(small_graph):
    task = MVGRL(dim=8).task(small_graph)
    order = torch.randperm(40, generator=source_of(1))
    z, shuffled = task.embed(order)
    swapped = task.view.with_features(as_dense(task.view.x)[order])
    for found, view in ((z, task.view), (shuffled, swapped)):
        wanted = torch.stack(task.encoder.finish(task.encoder.products(view), view))
        agree(found, wanted, task.encoder.parameters(), rtol=1e-4, atol=1e-5)
    assert not torch.allclose(z, shuffled)


def test_every_iteration_draws_another_permutation(small_graph):
    task = MVGRL(dim=8).task(small_graph)
    twin = task.generators["views"].clone_state()
    orders = [torch.randperm(40, generator=twin) for _ in range(3)]
    losses = [task.step().total for _ in orders]
    for order, loss in zip(orders, losses, strict=True):
        torch.testing.assert_close(loss, task.objective(*task.embed(order), source_of(0)).total)
    assert len({loss.item() for loss in losses}) == 3


def test_the_critic_is_trained_along_and_the_numbers_are_those_of_the_embedding(small_graph):
    task = MVGRL(dim=8).task(small_graph)
    before = [parameter.detach().clone() for parameter in task.modules.parameters()]
    Run(task, lr=0.01, weight_decay=0.0).advance()
    assert not any(map(torch.equal, before, task.modules.parameters()))
    z = task.encoder(task.view).detach()
    genuine, _ = task.embed(torch.arange(40))
    torch.testing.assert_close(genuine.sum(dim=0), z)
    found = task.describe(task.step(), task.encoder)
    assert set(found) == {"uniformity", "effective_rank", "norm"} and np.isfinite(list(found.values())).all()
    assert found["norm"] == pytest.approx(z.norm(dim=1).mean().item())


def test_training_learns_to_tell_shuffled_features():
    model = MVGRL(dim=16, hops=5, iterations=50, lr=0.01).fit("synthetic")
    assert model.outcome_.numbers["loss"] < 0.9 * math.log(2)
