"""The slow twins compute the same as our code."""

import math
from functools import partial

import pytest
import torch

from signnap import NCE, SIGNNAP, rng
from signnap.encoders.wrap import build_encoder
from signnap.graph import as_dense
from signnap_paper.benchmarks import bench as measured
from signnap_paper.benchmarks.bench import training_step
from signnap_paper.benchmarks.twins import (
    DenseGraceStep,
    PerAnchorStep,
    PlainGCN,
    dense_grace_loss,
    scatter_propagation,
)


def test_plain_gcn_is_our_gcn(small_graph):
    view = small_graph.view()
    ours, plain = (
        build_encoder("gcn", in_dim=small_graph.num_features, dim=8).eval(),
        PlainGCN(small_graph.num_features, 8),
    )
    for number, layer in enumerate(ours.convolutions):
        plain.neighbours[number].data, plain.own[number].data = layer.weight.data.chunk(2, dim=1)
        plain.bias[number].data = layer.bias.data
    dense = torch.zeros(40, 40)
    dense[view.pattern.rows.long(), view.pattern.indices.long()] = view.random_walk.values
    x = as_dense(view.x)
    hidden = torch.relu(plain._layer(0, x, dense.to_sparse()))
    torch.testing.assert_close(plain._layer(1, hidden, dense.to_sparse()), ours(view))


def test_per_anchor_loss_is_the_nce_of_the_same_negatives(small_graph, monkeypatch):
    """The fast objective with the twin's index matrix gives the same loss."""
    twin = PerAnchorStep(small_graph, dim=8, negatives=16)
    z = torch.randn(40, 8) * 0.1
    index = torch.randint(40, (40, 17))
    index[:, 0] = torch.arange(40)
    objective = NCE(negatives=16, negatives_group=1)
    objective.prepare(40, 8, rng.generator(0, "bank"))
    objective.bank.first, objective.bank.second = twin.banks
    monkeypatch.setattr("signnap.objectives.nce.draw_negatives", lambda *_: index[:, 1:].int())
    fast = objective(z, z, rng.generator(0, "negatives"))
    torch.testing.assert_close(twin._loss(0, z, twin.banks[1], index), fast.parts["loss_1"])
    torch.testing.assert_close(twin._loss(1, z, twin.banks[0], index), fast.parts["loss_2"])


def test_shared_loss_is_a_loop_over_anchors_and_candidates(small_graph):
    """The NCE formula one number at a time, and the fast objective when all anchors share a draw."""
    twin = PerAnchorStep(small_graph, dim=8, negatives=16, shared=True)
    z, index = torch.randn(40, 8) * 0.1, twin._drawn(40)
    assert index.shape == (16,)
    bank = twin.banks[1]
    raised = [[math.exp(float(z[i] @ bank[j]) / 0.1) for j in (i, *index.tolist())] for i in range(40)]
    constant, c = 40 * sum(map(sum, raised)) / (40 * 17), 16 / 40
    total = 0.0
    for own, *others in raised:
        total -= math.log(own / constant / (own / constant + c))
        for other in others:
            total -= math.log(c / (other / constant + c))
    assert float(twin._loss(0, z, bank, index)) == pytest.approx(total / 40, rel=1e-5)


def test_shared_and_own_negatives_agree_where_all_draw_the_same(small_graph):
    shared, own = (PerAnchorStep(small_graph, dim=8, negatives=16, shared=shared) for shared in (True, False))
    z, index = torch.randn(40, 8) * 0.1, torch.randint(40, (16,))
    spread = torch.cat([torch.arange(40)[:, None], index.expand(40, 16)], dim=1)
    losses = [step._loss(0, z, shared.banks[0], drawn) for step, drawn in ((shared, index), (own, spread))]
    torch.testing.assert_close(*losses)


@pytest.mark.gpu
@pytest.mark.parametrize("shared", [False, True])
def test_the_prototype_works_where_the_graph_is(small_graph, shared):
    step = PerAnchorStep(small_graph.to("cuda"), dim=8, negatives=16, shared=shared)
    assert step().is_cuda
    assert all(bank.is_cuda for bank in step.banks)


def test_scatter_is_our_propagation(small_graph, pyg):
    operator = small_graph.view().random_walk
    h = torch.randn(40, 5)
    slow = scatter_propagation(small_graph.pattern.edge_index(loops=True), operator.values, h)
    torch.testing.assert_close(slow, operator(h))


def test_grace_of_indifferent_embeddings_is_log_2n_minus_1():
    same = torch.nn.functional.normalize(torch.ones(40, 4))
    assert float(dense_grace_loss(same, same, 0.3)) == pytest.approx(math.log(79))


@pytest.mark.parametrize("twin", [PerAnchorStep, partial(PerAnchorStep, shared=True), DenseGraceStep])
def test_twins_take_steps(small_graph, twin):
    if twin is DenseGraceStep:
        pytest.importorskip("torch_geometric")
    step = twin(small_graph, dim=4)
    before = [p.clone() for group in step.optimizer.param_groups for p in group["params"]]
    assert math.isfinite(step())
    after = [p for group in step.optimizer.param_groups for p in group["params"]]
    assert any(not torch.equal(a, b) for a, b in zip(before, after, strict=True))


def test_our_step_is_an_iteration_of_training(small_graph):
    settings = {"dim": 4, "negatives": 8}
    step = training_step(small_graph, **settings)
    for iterations in (1, 2, 3):
        fitted = SIGNNAP(**settings, iterations=iterations).fit(small_graph, device="cpu")
        assert float(step().numbers["loss"]) == fitted.info_.facts["loss"]


def test_side_by_side_alternates_and_takes_medians(monkeypatch):
    calls, times = [], {"ours": iter([*[7.0] * 3, *[1.0] * 17]), "twin": iter([5.0, 3.0])}

    def seconds(action):
        action()
        return next(times[calls[-1]])

    monkeypatch.setattr(measured, "_seconds", seconds)
    found = measured._side_by_side(lambda: calls.append("ours"), lambda: calls.append("twin"), rounds=2)
    assert calls == ["ours", "twin", *["ours"] * 10, "twin", *["ours"] * 10, "twin"]
    assert found == (1.0, 4.0)
