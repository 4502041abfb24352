"""The twins with PyG compute the same methods as ours, so that their times can be compared."""

import pytest
import torch

from signnap import method_class, rng
from signnap.graph import as_dense
from signnap.train.loop import iterate

pytestmark = pytest.mark.usefixtures("pyg")
SAME_VIEWS = dict.fromkeys(("drop_edge", "drop_edge_2", "mask_features", "mask_features_2"), 0.0)
#: settings under which nothing but the shuffling of DGI is drawn, and what a twin forgets would be seen soon
SMALL = {
    "grace": {"dim": 8, "hidden": 16, "projector": 5, "weight_decay": 0.1, **SAME_VIEWS},
    "dgi": {"dim": 8, "hidden": 16},
    "bgrl": {"dim": 8, "hidden": 16, "iterations": 10, "lr": 0.01, "weight_decay": 0.1, **SAME_VIEWS},
}


@pytest.fixture
def twins(script):
    return script("twins")


def copy_weights(source, target):
    for theirs, ours in zip(target.parameters(), source.parameters(), strict=True):
        theirs.data.copy_(ours.data)


def copy_stack(source, target):
    for layer, convolution, then in zip(source.layers, target.convolutions, target.then, strict=True):
        convolution.lin.weight.data.copy_(layer.weight.data.t())
        convolution.bias.data.copy_(layer.bias.data)
        copy_weights(layer.then, then)


def alike(twins, name, graph, **changes):
    """Return a run of ours and the twin with the same weights."""
    model = method_class(name)(**SMALL[name] | changes)
    run, twin = model.run(graph), twins.TWINS[name](graph, model.settings_for(graph.name))
    objective = run.task.modules["objective"]
    copy_stack(run.task.modules["encoder"], twin.encoder)
    if name == "grace":
        copy_weights(objective.projector, twin.projector)
    if name == "dgi":
        twin.critic.data.copy_(objective.weight.data)
    if name == "bgrl":
        copy_weights(objective.predictor, twin.predictor)
        copy_stack(run.task.target.encoder, twin.target)
    return run, twin


@pytest.mark.parametrize("name", SMALL)
def test_epochs_have_the_same_losses(twins, small_graph, name):
    """The first loss depends on the weights only; later ones also on gradients, optimiser, rates and targets."""
    run, twin = alike(twins, name, small_graph)
    with rng.as_default(rng.generator(0, "views")):  # the shuffling of DGI
        theirs = [twin() for _ in range(4)]
    ours = [float(step.numbers["loss"]) for step in iterate(run, until=4)]
    assert theirs == pytest.approx(ours, rel=1e-5, abs=1e-5)
    assert len(set(theirs)) > 2  # it learns


def test_the_target_follows_as_ours_does(twins, small_graph):
    run, twin = alike(twins, "bgrl", small_graph)
    for _ in iterate(run, until=3):
        twin()
    ours = [layer.weight for layer in run.task.target.encoder.layers]
    theirs = [convolution.lin.weight.t() for convolution in twin.target.convolutions]
    torch.testing.assert_close(theirs, ours, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("activation", ["relu", "prelu"])
def test_activations_are_those_of_the_settings(twins, small_graph, activation):
    run, twin = alike(twins, "grace", small_graph, activation=activation)
    torch.testing.assert_close(twin.loss(), run.task.step().total, rtol=1e-5, atol=1e-5)


def test_views_lose_what_the_settings_say(twins, small_graph):
    settings = method_class("grace")(drop_edge=0.0, drop_edge_2=1.0, mask_features=1.0, mask_features_2=0.0)
    first, second = twins.GraceTwin(small_graph, settings.settings_for("small")).views()
    assert first[1].shape[1] == small_graph.pattern.edge_index().shape[1] > second[1].shape[1] == 0
    assert not first[0].any()
    torch.testing.assert_close(second[0], as_dense(small_graph.view().x))


def test_dgi_remembers_its_best_weights(twins, small_graph):
    _, twin = alike(twins, "dgi", small_graph, lr=0.1)
    losses = [twin() for _ in range(10)]
    assert twin.lowest == min(losses)
    assert twin.best.keys() == twin.encoder.state_dict().keys()
