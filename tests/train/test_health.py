"""Collapse: each of its four forms is recognised, by numbers and in a real run, and a healthy run is left alone."""

import numpy as np
import pytest
import torch

from signnap import SIGNNAP, Graph, InfoNCE, method_class
from signnap.train.health import Collapsed, Health

SMALL = {"dim": 8, "negatives": 16}
GOOD = {"loss": 5.0, "norm": 0.3, "effective_rank": 6.0, "uniformity": -2.0}
NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("numbers", "sentence"),
    [
        ({"loss": NAN}, "the loss is nan and the mean norm 0.3 at iteration 40: try a lower lr or"),
        ({"loss": INF}, "the loss is inf"),
        ({"loss": -INF}, "the loss is -inf"),
        ({"norm": NAN}, "the mean norm nan"),
        ({"norm": INF}, "the mean norm inf"),
        ({"norm": 10001.0}, "the embeddings explode at iteration 40 (mean norm 1e+04): try the nce objective"),
        (
            {"effective_rank": 1.04, "uniformity": -9e-5},
            "all embeddings are the same at iteration 40 (effective rank 1.04): try",
        ),
        ({"effective_rank": 0.0, "uniformity": 0.0}, "all embeddings are the same"),
    ],
)
def test_what_is_wrong_is_said(numbers, sentence):
    found = Health().check(40, GOOD | numbers)
    assert sentence in found
    assert "try" in found and "\n" not in found


@pytest.mark.parametrize(
    "numbers",
    [
        {},
        {"norm": 9999.0},
        {"effective_rank": 1.0},  # one direction, but spread along it
        {"uniformity": 0.0},  # one direction, but of different lengths
        {"loss": 0.0},
    ],
)
def test_what_is_fine_is_not_disturbed(numbers):
    assert Health().check(40, GOOD | numbers) is None
    assert Health(chance=5.0).check(299, GOOD | numbers) is None


@pytest.mark.parametrize("numbers", [{"norm": 1e6}, {"effective_rank": 1.0, "uniformity": 0.0}])
def test_the_first_iteration_has_shown_nothing(numbers):
    assert Health().check(1, GOOD | numbers) is None
    assert Health().check(2, GOOD | numbers) is not None
    assert Health().check(1, GOOD | {"loss": NAN}) is not None


def test_stuck_at_chance():
    stuck = Health(chance=10.0)
    for iteration, loss in ((1, 10.0), (100, 10.009), (299, 9.991)):
        assert stuck.check(iteration, GOOD | {"loss": loss}) is None
    assert stuck.check(300, GOOD | {"loss": 9.991}) == (
        "the loss is still at chance at iteration 300 (9.991, chance 10.000): try a lower temperature, a higher lr, "
        "a lower weight_decay or the nce objective"
    )


@pytest.mark.parametrize("loss", [9.96, 10.04])
def test_a_loss_may_linger_near_chance_but_not_for_ever(loss):
    near = Health(chance=10.0)
    for iteration in (1, 300, 600, 999):
        assert near.check(iteration, GOOD | {"loss": loss}) is None
    assert "still at chance" in (near.check(1000, GOOD | {"loss": loss}) or "")


@pytest.mark.parametrize("loss", [9.94, 10.06])
def test_a_loss_may_pass_through_chance_but_not_stay_there(loss):
    moved = Health(chance=10.0)
    assert moved.check(20, GOOD | {"loss": loss}) is None
    assert moved.check(319, GOOD | {"loss": 10.0}) is None
    assert "still at chance" in (moved.check(320, GOOD | {"loss": 10.0}) or "")


def test_a_resumed_run_gets_the_same_patience():
    resumed = Health(chance=10.0)
    assert resumed.check(2020, GOOD | {"loss": 10.0}) is None
    assert resumed.check(2319, GOOD | {"loss": 10.0}) is None
    assert resumed.check(2320, GOOD | {"loss": 10.0}) is not None


# -- real runs -------------------------------------------------------------------------------------------------------


@pytest.fixture
def twins():
    """A graph whose nodes are all alike."""
    rng = np.random.default_rng(0)
    return Graph.from_edges(*rng.integers(0, 30, (2, 60)), np.ones((30, 4)), name="twins")


PROVOKED = {
    "loss": (lambda graph, twins: (graph, {"lr": 1e20, "iterations": 20}), "the mean norm nan"),
    "explosion": (
        lambda graph, twins: (
            graph,
            {"objective": InfoNCE(16, 0.1, normalize=False), "lr": 3.0, "weight_decay": 0.0, "iterations": 100},
        ),
        "the embeddings explode .* try the nce objective, normalised infonce,",
    ),
    "constant": (lambda graph, twins: (twins, {"dropout": 0.0, "iterations": 20}), "all embeddings are the same"),
    "constant, dropout": (lambda graph, twins: (twins, {"iterations": 20}), "all embeddings are the same"),
    "chance": (
        lambda graph, twins: (graph, {"objective": "infonce", "temperature": 1e4, "iterations": 320}),
        "the loss is still at chance",
    ),
    "chance, nce": (
        lambda graph, twins: (graph, {"temperature": 1e4, "iterations": 320}),
        "the loss is still at chance .* try a lower temperature, a higher lr or a lower weight_decay;",
    ),
}


@pytest.mark.parametrize("kind", PROVOKED)
def test_a_run_that_collapses_says_so(kind, small_graph, twins):
    choose, sentence = PROVOKED[kind]
    graph, settings = choose(small_graph, twins)
    with pytest.raises(Collapsed, match=sentence) as caught:
        SIGNNAP(**SMALL | settings).fit(graph)
    assert str(caught.value).startswith("training collapsed: ")
    assert str(caught.value).endswith("; --keep-going (stop_on_collapse=False) trains on regardless")


def test_a_collapse_says_what_can_become_of_its_folder(small_graph, tmp_path):
    wild = SIGNNAP(**SMALL, lr=1e20, iterations=20)
    with pytest.raises(Collapsed) as caught:
        wild.fit(small_graph, out=tmp_path)
    ways_out = "--resume --keep-going (resume=True, stop_on_collapse=False) trains on regardless"
    assert str(caught.value).endswith(f"; {ways_out}, other settings need another folder")
    assert wild.fit(small_graph, out=tmp_path, resume=True, stop_on_collapse=False).outcome_.iteration == 20


@pytest.mark.parametrize("kind", ["loss", "constant"])
def test_a_collapse_can_be_ignored(kind, small_graph, twins):
    graph, settings = PROVOKED[kind][0](small_graph, twins)
    model = SIGNNAP(**SMALL | settings).fit(graph, stop_on_collapse=False)
    assert model.outcome_.iteration == settings["iterations"]


@pytest.mark.parametrize("stop", [True, False])
def test_one_node_is_no_collapse(stop, caplog):
    caplog.set_level("INFO", "signnap")
    lonely = Graph.from_edges([], [], np.ones((1, 4)), name="lonely")
    model = SIGNNAP(**SMALL, iterations=20, dropout=0.0).fit(lonely, stop_on_collapse=stop)
    assert model.outcome_.iteration == 20
    assert caplog.messages == []


@pytest.mark.parametrize("objective", ["nce", "infonce"])
def test_a_healthy_run_is_not_stopped(objective, small_graph):
    model = SIGNNAP(**SMALL, objective=objective, iterations=320).fit(small_graph)
    assert model.outcome_.iteration == 320
    assert torch.isfinite(torch.from_numpy(model.transform(small_graph))).all()


@pytest.mark.parametrize(
    ("settings", "advice"),
    [
        (None, ": try the nce objective, a lower lr, a lower weight_decay, fewer layers or a lower drop_edge"),
        ({}, ""),
        ({"lr": 0.1, "weight_decay": 1e-5}, ": try a lower lr or a lower weight_decay"),
        ({"lr": 0.1, "objective": "infonce", "layers": 2}, ": try the nce objective, a lower lr or fewer layers"),
        ({"lr": 0.1, "objective": "nce", "layers": 1, "weight_decay": 0.0, "drop_edge": 0.0}, ": try a lower lr"),
    ],
)
def test_advice_concerns_settings_that_there_are_and_values_that_they_do_not_have(settings, advice):
    same = {"loss": 1.0, "norm": 1.0, "effective_rank": 1.0, "uniformity": 0.0}
    assert Health(settings=settings).check(2, same).endswith(f"(effective rank 1.00){advice}")


@pytest.mark.parametrize("name", ["bgrl", "g-bt"])
@pytest.mark.parametrize("normalize", [False, True])
def test_batch_norm_may_take_its_time(name, normalize):
    """Far from zero, with its averages at zero, it gives all nodes nearly the same embedding."""
    rng = np.random.default_rng(0)
    places = np.c_[rng.normal(48, 0.1, 400), rng.normal(11, 0.1, 400)]
    graph = Graph.from_edges(*rng.integers(0, 400, (2, 2000)), places.astype(np.float32))
    model = method_class(name)(iterations=60, dim=32, hidden=64, normalize_features=normalize).fit(graph)
    assert model.outcome_.collapsed is None
