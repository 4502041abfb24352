"""GraphMAE: the invariants of spec §5.2, and its narrow way to the loss against the wide one of the formulas."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn.functional import cosine_similarity, leaky_relu

from dense import asymmetric_view, matrix, source_of
from signnap.encoders.gat import GATStack
from signnap.errors import SignnapError
from signnap.graph import SparseFeatures, as_dense
from signnap.methods.graphmae import GraphMAE, Mask, Rebuilding, draw_mask
from signnap.methods.settings import resolve
from signnap.rng import as_default
from signnap.train.loop import iterate
from sizes import Sizes

#: No dropout: the twins need no draws of their own, and nothing but the mask is random.
STILL = {"dropout": 0.0, "attention_dropout": 0.0}


def settings(**changes):
    return resolve({"method": "graphmae", "dim": 8, "heads": 2} | changes)


def task_on(view, **changes):
    """A task in double precision whose parameters, biases and slopes are all random."""
    chosen = settings(**changes)
    task = Rebuilding(chosen, view, GraphMAE().build_encoder(chosen, Sizes(9, view.x.shape[1], 0)))
    source = source_of(3)
    for parameter in task.modules.double().parameters():
        parameter.data = torch.randn(parameter.shape, generator=source, dtype=torch.float64) / 2
    return task


def loss_of(task, mask, monkeypatch):
    monkeypatch.setattr("signnap.methods.graphmae.draw_mask", lambda *given: mask)
    return task.step().total


def some_mask(nodes=9, share=0.5, replaced=0.3, seed=0):
    return draw_mask(nodes, share, replaced, source_of(seed))


# -- settings and sizes ----------------------------------------------------------------------------------------------


def test_the_authors_settings():
    names = ("dim", "heads", "mask_nodes", "replace_nodes", "sharpness", "weight_decay", "iterations")
    wanted = {
        "cora": (512, 4, 0.5, 0.05, 3.0, 2e-4, 1500),
        "citeseer": (512, 2, 0.5, 0.1, 1.0, 2e-5, 300),
        "pubmed": (1024, 4, 0.75, 0.0, 3.0, 1e-5, 1000),
        None: (1024, 4, 0.75, 0.0, 3.0, 1e-5, 1000),
    }
    for dataset, numbers in wanted.items():
        found = resolve({"method": "graphmae"}, dataset=dataset)
        assert tuple(getattr(found, name) for name in names) == numbers
        assert (found.layers, found.dropout, found.attention_dropout) == (2, 0.2, 0.1)
        assert (found.lr, found.schedule, found.decoupled_decay) == (0.001, "cosine:0", False)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"mask_nodes": 1.5}, "mask_nodes is 1.5: expected a number from 0 to 1"),
        ({"replace_nodes": -0.1}, "replace_nodes is -0.1: expected a number from 0 to 1"),
        ({"attention_dropout": 2.0}, "attention_dropout is 2.0: expected a number from 0 to 1"),
        ({"sharpness": 0.5}, "sharpness is 0.5: expected a finite number of at least 1"),
    ],
)
def test_settings_that_make_no_sense(changes, words):
    with pytest.raises(SignnapError, match=words):
        settings(**changes)


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_every_layer_has_a_bias_and_ends_in_a_slope(layers):
    encoder = GraphMAE().build_encoder(settings(layers=layers), Sizes(9, 7, 0))
    assert isinstance(encoder, GATStack) and len(encoder.layers) == layers
    for layer in encoder.layers:
        assert isinstance(layer.then, nn.PReLU) and layer.then.weight.shape == (1,)
        assert layer.bias.shape == (8,) and layer.to_sender.shape == (2, 4) and layer.dropout == 0.1
    assert encoder.dropout == 0.2


def test_the_decoder_is_a_map_without_bias_and_one_head(small_graph):
    task = GraphMAE(dim=8).task(small_graph)
    bridge, layer = task.decoder.bridge, task.decoder.layer
    assert bridge.weight.shape == (8, 8) and bridge.bias is None
    assert layer.weight.shape == (8, 12) and layer.to_sender.shape == (1, 12) and layer.bias.shape == (12,)
    assert not task.token.features.any() and task.token.features.shape == (1, 12)


# -- the mask --------------------------------------------------------------------------------------------------------


@given(st.integers(1, 40), st.floats(0, 1), st.floats(0, 1), st.integers(0, 10**6))
def test_exactly_so_many_nodes_are_hidden_and_replaced(nodes, share, replaced, seed):
    mask = draw_mask(nodes, share, replaced, source_of(seed))
    assert torch.cat([mask.hidden, mask.kept]).sort().values.equal(torch.arange(nodes))
    assert len(mask.hidden) == max(1, int(share * nodes + 1e-9))
    assert len(mask.donors) == int(replaced * len(mask.hidden) + 1e-9)
    assert nodes == 1 or (mask.donors != mask.hidden[: len(mask.donors)]).all()
    assert ((mask.donors >= 0) & (mask.donors < nodes)).all()


def test_counts_in_tenths_are_not_rounded_down():
    mask = draw_mask(100, 0.29, 1.0, source_of(0))
    assert len(mask.hidden) == len(mask.donors) == 29


def test_every_node_is_hidden_as_often_and_every_other_node_donates():
    masks = [draw_mask(5, 0.4, 0.5, source_of(seed)) for seed in range(3000)]
    hidden = torch.cat([mask.hidden for mask in masks]).bincount(minlength=5)
    assert (hidden - 1200).abs().max() < 120  # more than four standard deviations
    first, donors = torch.stack([torch.stack([mask.hidden[0], mask.donors[0]]) for mask in masks]).t()
    for node in range(5):
        found = donors[first == node].bincount(minlength=5)
        assert found[node] == 0 and (np.delete(found.numpy(), node) > 90).all()


# -- the loss, narrow and wide ---------------------------------------------------------------------------------------


def wide_attention(layer, h, view):
    """Per head: the product as wide as it is, and the softmax over all pairs of nodes that are connected."""
    product = h @ layer.weight
    kept, out = matrix(view.pattern, view.incoming.double()) != 0, []
    for wide, sender, receiver in zip(
        product.chunk(len(layer.to_sender), dim=1), layer.to_sender, layer.to_receiver, strict=True
    ):
        scores = leaky_relu((wide @ receiver)[:, None] + (wide @ sender)[None, :], 0.2)
        out.append(scores.masked_fill(~kept, -torch.inf).softmax(dim=1) @ wide)
    return torch.cat(out, dim=1) + layer.bias


def wide_loss(task, mask):
    """Spec §5.2, (2) to (4): mask the features, encode, set to zero again, rebuild all features, compare."""
    view, replaced = task.view, len(mask.donors)
    x = as_dense(view.x).double()
    shown = x.clone()
    shown[mask.hidden[:replaced]] = x[mask.donors]
    shown = shown.index_put((mask.hidden[replaced:],), task.token.features.expand(len(mask.hidden) - replaced, -1))
    h = shown
    for layer in task.encoder.layers:
        h = layer.then(wide_attention(layer, h, view))
    h = task.decoder.bridge(h)
    h = h * torch.ones(len(h), 1, dtype=h.dtype).index_fill_(0, mask.hidden, 0)
    rebuilt = wide_attention(task.decoder.layer, h, view)[mask.hidden]
    return ((1 - cosine_similarity(rebuilt, x[mask.hidden], dim=1)) ** task.settings.sharpness).mean()


@pytest.mark.parametrize("features", [3, 30])
@pytest.mark.parametrize("replaced", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("share", [0.5, 1.0])
def test_the_loss_of_the_formulas(features, replaced, share, monkeypatch):
    task = task_on(asymmetric_view(features=features), **STILL)
    mask = some_mask(share=share, replaced=replaced)
    found, wanted = loss_of(task, mask, monkeypatch), wide_loss(task, mask)
    torch.testing.assert_close(found, wanted)
    for name, parameter in task.modules.named_parameters():
        mine, twin = (
            torch.autograd.grad(loss, parameter, retain_graph=True, allow_unused=True, materialize_grads=True)[0]
            for loss in (found, wanted)
        )
        torch.testing.assert_close(mine, twin, msg=lambda words, name=name: f"{name}: {words}")
        # Hidden nodes read the decoder's zeros of themselves, so that nothing there depends on who listens.
        unused = {"decoder.layer.to_receiver"} | ({"token.features"} if replaced == 1 else set())
        assert share == 1 or twin.any() == (name not in unused), name


def test_sparse_features_are_the_same_as_dense_ones(small_graph, monkeypatch):
    view = small_graph.view()
    dense = view.with_features(as_dense(view.x))
    sparse = view.with_features(SparseFeatures.from_scipy(dense.x.numpy()))
    encoder = GraphMAE().build_encoder(settings(**STILL), Sizes(40, 12, 0))
    tasks = [Rebuilding(settings(**STILL), v, encoder) for v in (sparse, dense)]
    losses = [loss_of(task, some_mask(40), monkeypatch) for task in tasks]
    torch.testing.assert_close(*losses, rtol=1e-5, atol=1e-5)
    grads = [torch.autograd.grad(t, list(k.modules.parameters())) for t, k in zip(losses, tasks, strict=True)]
    torch.testing.assert_close(*grads, rtol=1e-3, atol=1e-5)


# -- the invariants --------------------------------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.sampled_from([1.0, 2.5, 3.0]))
def test_the_loss_is_from_zero_to_two_to_the_gamma(seed, sharpness):
    task = task_on(asymmetric_view(seed=seed), sharpness=sharpness, seed=seed, replace_nodes=0.3)
    assert 0 <= task.step().total.item() <= 2**sharpness


def test_what_a_hidden_node_hides_is_only_the_target(monkeypatch):
    mask, view = some_mask(replaced=0.0), asymmetric_view()
    x = view.x.clone()
    x[mask.hidden[0]] = torch.randn(5, generator=source_of(7), dtype=x.dtype)
    tasks = [task_on(v, **STILL) for v in (view, view.with_features(x))]
    for parts in zip(*(t.decoder(t.embed(mask), mask, t.view) for t in tasks), strict=True):
        assert torch.equal(*parts)
    first, second = (loss_of(task, mask, monkeypatch) for task in tasks)
    assert first != second
    x[mask.kept[0]] += 1
    other = task_on(view.with_features(x), **STILL)
    assert not torch.equal(other.embed(mask), tasks[0].embed(mask))


def test_a_replaced_node_shows_another_one_s_features():
    view, mask = asymmetric_view(), Mask(torch.tensor([4, 6]), torch.tensor([0, 1, 2, 3, 5, 7, 8]), torch.tensor([2]))
    task = task_on(view, **STILL)
    shown = view.x.clone()
    shown[4], shown[6] = view.x[2], task.token.features.detach()[0]
    torch.testing.assert_close(task.embed(mask), task.encoder(view.with_features(shown)))


def test_the_decoder_reads_zeros_where_nodes_hide():
    task, mask = task_on(asymmetric_view()), some_mask()
    h = task.decoder.remask(task.embed(mask), mask)
    assert not h[mask.hidden].any() and h[mask.kept].any(dim=1).all()


def test_a_share_of_replaced_nodes_that_rounds_to_none(small_graph):
    model = GraphMAE(dim=8, mask_nodes=0.1, replace_nodes=0.2, iterations=3).fit(small_graph)
    assert np.isfinite(model.transform(small_graph)).all()
    few, none = (task_on(asymmetric_view(), replace_nodes=share) for share in (0.1, 0.0))
    assert few.step().total == none.step().total


def test_nodes_without_features_cost_one(monkeypatch):
    view = asymmetric_view()
    for x in (torch.zeros_like(view.x), view.x.index_fill(0, torch.tensor([3, 5]), 0)):
        task = task_on(view.with_features(x))
        mask = Mask(torch.tensor([3, 5]), torch.tensor([0, 1, 2, 4, 6, 7, 8]), torch.tensor([], dtype=torch.int64))
        loss = loss_of(task, mask, monkeypatch)
        assert loss == 1
        loss.backward()
        assert all(p.grad is None or not p.grad.any() for p in task.modules.parameters())


def test_lonely_hidden_nodes_spoil_nothing(small_graph):
    """Before the first step all that can be rebuilt of node 39, which has no neighbours, is nothing at all."""
    task = GraphMAE(dim=8, mask_nodes=1.0).task(small_graph)
    step = task.step()
    step.total.backward()
    assert step.total == 1 and all(p.grad is None or p.grad.isfinite().all() for p in task.modules.parameters())


# -- the task --------------------------------------------------------------------------------------------------------


def test_every_iteration_hides_other_nodes_and_drops_anew(small_graph, monkeypatch):
    task, found = GraphMAE(dim=8).task(small_graph), []
    embed = task.embed
    monkeypatch.setattr(task, "embed", lambda mask: found.append(embed(mask)) or found[-1])
    twin = task.generators["views"].clone_state()
    for _ in range(3):
        before = task.generators["layers"].get_state()
        task.step()
        mask = draw_mask(40, 0.75, 0.0, twin)
        with as_default(source_of(0).set_state(before)):
            assert torch.equal(found[-1], embed(mask))
        assert not torch.equal(task.generators["layers"].get_state(), before)
    assert torch.equal(task.generators["views"].get_state(), twin.get_state())


def test_dropout_acts_on_token_features_attention_and_decoder():
    view, mask = asymmetric_view(), some_mask()
    for rates in ({"dropout": 0.5, "attention_dropout": 0.0}, {"dropout": 0.0, "attention_dropout": 0.5}):
        task = task_on(view, **rates)
        z = task.embed(mask)
        assert not torch.allclose(task.embed(mask), z)
        assert not torch.allclose(task.decoder(z, mask, view)[0], task.decoder(z, mask, view)[0])
        task.modules.eval()
        z = task.embed(mask)
        assert torch.equal(task.embed(mask), z)
    task = task_on(view, dropout=0.5)
    product, mask, weight = (
        torch.zeros(9, 8, dtype=torch.float64),
        some_mask(replaced=0.0),
        task.encoder.layers[0].weight,
    )
    first, second = (task.token(product, weight, mask)[mask.hidden] for _ in range(2))
    assert (first == first[0]).all() and not torch.equal(first, second), "one draw for all tokens"


def test_the_embedding_is_the_encoder_s_of_all_features(small_graph):
    model = GraphMAE(dim=8, iterations=3).fit(small_graph)
    wanted = model.encoder_.eval()(small_graph.view())
    np.testing.assert_allclose(model.transform(small_graph), wanted.detach().numpy())


def test_training_learns_to_rebuild():
    losses = [GraphMAE(dim=16, iterations=n, lr=0.01).fit("synthetic").outcome_.numbers["loss"] for n in (1, 30)]
    assert losses[1] < 0.7 * losses[0]


def test_the_decoders_bias_is_kicked_once_and_then_stays(small_graph):
    """Nodes whose whole neighbourhood is hidden are rebuilt as the bias alone: as nothing, while that is zero."""
    model = GraphMAE(dim=8, heads=2, mask_nodes=0.9, iterations=1000, seed=1)
    run = model.run(small_graph)
    layer, found = run.task.decoder.layer, []
    for _ in iterate(run, 60):
        found.append((layer.bias.detach().clone(), layer.weight.detach().clone()))
    (first, _), (kicked, before), (later, after) = found[0], found[30], found[59]
    assert first.abs().max() == pytest.approx(run.lr, rel=1e-3)
    assert kicked.abs().max() > 2 * run.lr
    assert (later - kicked).abs().max() < run.lr  # freely, it would have gone about as far as the weights
    assert (after - before).abs().max() > 5 * run.lr
