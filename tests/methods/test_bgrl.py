"""BGRL: its loss, the target that follows, and counting on after an interruption (spec §4.9)."""

import math
from dataclasses import asdict

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from signnap.methods.bgrl import BGRL, Prediction
from signnap.methods.settings import resolve
from signnap.train.run import Run
from signnap.train.run_folder import RunFolder

SMALL = {"dim": 8, "hidden": 16, "iterations": 6}


@pytest.fixture
def task(small_graph):
    return BGRL(**SMALL).task(small_graph)


def copied(module):
    return {name: value.clone() for name, value in module.state_dict().items()}


def prediction(dim, predictor=None):
    """The loss, with a predictor of one's own if wanted."""
    objective = Prediction()
    objective.prepare(5, dim, torch.Generator().manual_seed(0))
    if predictor is not None:
        objective.predictor = predictor
    return objective


# -- the loss --------------------------------------------------------------------------------------------------------


@given(st.integers(0, 1000), st.floats(0.01, 100))
def test_the_loss_is_that_of_the_formula_and_between_0_and_4(seed, scale):
    source = torch.Generator().manual_seed(seed)
    z1, z2, y1, y2 = scale * torch.randn(4, 5, 3, generator=source)
    objective = prediction(3)
    terms = objective(torch.cat([z1, z2]), torch.cat([y2, y1]), source)
    q1, q2 = objective.predictor(z1), objective.predictor(z2)
    cosines = lambda q, y: sum(q[i] @ y[i] / (q[i].norm() * y[i].norm()) for i in range(5)) / 5
    assert terms.total.item() == pytest.approx((2 - cosines(q1, y2) - cosines(q2, y1)).item(), abs=1e-5)
    assert terms.parts["loss_1"].item() == pytest.approx((1 - cosines(q1, y2)).item(), abs=1e-5)
    assert -1e-6 <= terms.total.item() <= 4 + 1e-6
    assert objective.chance() is None


@pytest.mark.parametrize(("factor", "loss"), [(1, 0), (3, 0), (-1, 4)])
def test_the_least_and_the_greatest_loss(factor, loss):
    q = torch.randn(10, 3, generator=torch.Generator().manual_seed(0))
    total = prediction(3, nn.Identity())(q, factor * q, torch.Generator()).total
    assert total.item() == pytest.approx(loss, abs=1e-6)


def test_the_predictor_learns_and_the_target_does_not():
    z, y = torch.randn(2, 10, 3, generator=torch.Generator().manual_seed(0)).requires_grad_().unbind()
    y.retain_grad()
    objective = prediction(3)
    objective(z, y, torch.Generator()).total.backward()
    assert y.grad is None and all(p.grad.abs().sum() > 0 for p in objective.parameters())
    assert [tuple(part.weight.shape) for part in objective.predictor] == [(512, 3), (1,), (3, 512)]


# -- the target ------------------------------------------------------------------------------------------------------


def test_the_target_has_its_own_draw_and_each_view_predicts_the_other(task, small_graph):
    online, target = task.encoder.layers[0].weight, task.target.encoder.layers[0].weight
    assert online.shape == target.shape and not torch.allclose(online, target)
    assert torch.equal(target, BGRL(**SMALL).task(small_graph).target.encoder.layers[0].weight)
    assert not torch.allclose(target, BGRL(**SMALL, seed=1).task(small_graph).target.encoder.layers[0].weight)
    seen = []
    encode = task.target.encoder.encode
    task.target.encoder.encode = lambda views: seen.append(encode(views)) or seen[-1]
    score = task.objective.forward
    task.objective.forward = lambda z, y, source: seen.append((z, y)) or score(z, y, source)
    z1, z2, _ = task.step().outputs
    (y1, y2), (z, y) = seen
    assert torch.equal(z, torch.cat([z1, z2])) and torch.equal(y, torch.cat([y2, y1]))


def test_only_following_moves_the_target(task):
    run = Run(task, 0.01, 1e-5)
    trained = {id(p) for group in run.optimizer.param_groups for p in group["params"]}
    assert trained == {id(p) for part in (task.encoder, task.objective) for p in part.parameters()}
    before, share = copied(task.target.encoder), task.target.share()
    step = run.advance()
    assert all(p.grad is None for p in task.target.parameters())
    online = dict(task.encoder.named_parameters())
    for name, found in task.target.encoder.named_parameters():
        torch.testing.assert_close(found, before[name] + share * (online[name] - before[name]))
    assert task.target.iteration == 1 and 0 <= step.numbers["loss"] <= 4

    task.target.follow = lambda *_: None
    before = {name: p.clone() for name, p in task.target.encoder.named_parameters()}
    run.advance()
    assert all(torch.equal(p, before[name]) for name, p in task.target.encoder.named_parameters())


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_no_share_freezes_and_all_of_it_copies(task, share):
    Run(task, 0.01, 0.0).advance()
    expected = [p.clone() for p in (task.encoder if share else task.target.encoder).parameters()]
    buffers = [b.clone() for b in task.target.encoder.buffers()]
    task.target.follow(task.encoder, torch.tensor(share))
    assert all(torch.equal(a, b) for a, b in zip(task.target.encoder.parameters(), expected, strict=True))
    assert all(torch.equal(a, b) for a, b in zip(task.target.encoder.buffers(), buffers, strict=True))


def test_the_coefficient_goes_from_0_99_to_1(small_graph):
    target = BGRL(**SMALL | {"iterations": 100}).task(small_graph).target
    found = []
    for _ in range(101):
        found.append(1 - target.share().item())
        target.follow(target.encoder, target.share())
    wanted = [1 - 0.01 * (1 + math.cos(math.pi * t / 100)) / 2 for t in range(101)]
    assert found == pytest.approx(wanted, abs=1e-8)
    assert (found[0], found[50], found[100]) == pytest.approx((0.99, 0.995, 1.0), abs=1e-8)


def test_the_target_normalises_each_view_by_itself(task):
    task.modules.train()
    before = copied(task.target.encoder)
    task.step()
    moved = {name for name, value in task.target.encoder.state_dict().items() if not torch.equal(value, before[name])}
    assert moved == {name for name, _ in task.target.encoder.named_buffers()}


# -- the method ------------------------------------------------------------------------------------------------------


def test_an_interrupted_run_counts_on(small_graph, tmp_path):
    whole = BGRL(**SMALL).fit(small_graph, out=tmp_path / "whole")

    def stop(iteration, words):
        if iteration == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        BGRL(**SMALL).fit(small_graph, out=tmp_path / "parts", report=stop, save_every=0)
    assert RunFolder(tmp_path / "parts").load_state()["modules"]["target.iteration"] == 3
    rest = BGRL(**SMALL).fit(small_graph, out=tmp_path / "parts", resume=True)
    assert np.array_equal(rest.transform(small_graph), whole.transform(small_graph))
    one, other = (RunFolder(tmp_path / name).load_state()["modules"] for name in ("whole", "parts"))
    assert one["target.iteration"] == 6 and one.keys() == other.keys()
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_the_embedding_is_the_online_encoder_s_without_training_mode(small_graph):
    model = BGRL(**SMALL).fit(small_graph)
    z = model.transform(small_graph)
    assert not model.encoder_.training and np.array_equal(model.transform(small_graph), z)
    model.encoder_.train()
    with torch.no_grad():
        assert not np.allclose(model.encoder_(model.view(small_graph)).numpy(), z)


@pytest.mark.parametrize(
    ("dataset", "expected"),
    [
        ("amazon_computers", (256, 128, 5e-4, 0.5, 0.4, 0.2, 0.1)),
        ("amazon_photo", (256, 128, 1e-4, 0.4, 0.1, 0.1, 0.2)),
        ("coauthor_cs", (512, 256, 1e-5, 0.3, 0.2, 0.3, 0.4)),
        ("coauthor_physics", (256, 128, 1e-5, 0.4, 0.1, 0.1, 0.4)),
    ],
)
def test_the_authors_settings(dataset, expected):
    found = asdict(resolve({"method": "bgrl"}, dataset=dataset))
    names = ("hidden", "dim", "lr", "drop_edge", "drop_edge_2", "mask_features", "mask_features_2")
    assert tuple(found[name] for name in names) == expected
    assert (found["iterations"], found["weight_decay"]) == (10000, 1e-5)
