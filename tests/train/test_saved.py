"""A state that a run cannot have saved is refused before anything of it is used, and every other one continues it."""

import json

import numpy as np
import pytest
import torch
from torch import nn

from signnap import SIGNNAP
from signnap.errors import SignnapError
from signnap.train.loop import iterate
from signnap.train.run_folder import RunFolder

SMALL = {"dim": 8, "negatives": 16, "temperature": 0.5}


def entry(**values):
    """Give the second parameter other values."""
    return lambda state: state["optimizer"]["state"][1].update(values)


def group(**values):
    return lambda state: state["optimizer"]["param_groups"][0].update(values)


def part(name, value):
    return lambda state: state.update({name: value})


FOREIGN = {
    "an average of another shape": entry(exp_avg=torch.zeros(3)),
    "a larger average": entry(exp_avg_sq=torch.zeros(10**6)),
    "whole numbers": entry(exp_avg=torch.zeros(8, dtype=torch.int64)),
    "no tensor": entry(exp_avg=None),
    "many steps": entry(step=torch.ones(5)),
    "no steps": entry(step=torch.zeros(())),
    "more steps than iterations": entry(step=torch.tensor(7.0)),
    "steps that are no number": entry(step=torch.tensor(torch.nan)),
    "one name more": entry(max_exp_avg_sq=torch.zeros(8)),
    "one name less": lambda state: state["optimizer"]["state"][1].pop("exp_avg"),
    "no entries": lambda state: state["optimizer"].update(state={}),
    "one entry more": lambda state: state["optimizer"]["state"].update({99: state["optimizer"]["state"][1]}),
    "an entry that is none": lambda state: state["optimizer"]["state"].update({1: 3}),
    "no group": lambda state: state["optimizer"].update(param_groups=[]),
    "two groups": lambda state: state["optimizer"].update(param_groups=2 * state["optimizer"]["param_groups"]),
    "fewer parameters": group(params=[0]),
    "betas": group(betas=5),
    "a rate in words": group(lr="x"),
    "another rate": group(lr=1e9),
    "many rates": group(lr=torch.ones(5)),
    "another decay": group(weight_decay=0.5),
    "an iteration in words": part("iteration", "x"),
    "many iterations": part("iteration", torch.ones(2)),
    "fewer than none": part("iteration", -5),
    "half an iteration": part("iteration", 2.5),
    "too many iterations": part("iteration", 10**30),
    "entries before the first iteration": part("iteration", 0),
    "no generators": part("generators", {}),
    "generators that are none": part("generators", None),
    "one generator less": lambda state: state["generators"].pop("layers"),
    "a short generator": lambda state: state["generators"].update(layers=torch.zeros(16, dtype=torch.uint8)),
    "a generator of numbers": lambda state: state["generators"].update(layers=state["generators"]["layers"].float()),
    "a best that is none": part("best", "garbage"),
    "a best that nobody wanted": part("best", {"lowest": torch.zeros(())}),
}


def expect_refused(folder, state, graph, **settings):
    torch.save(state, folder.state)
    folder.facts.write_text(json.dumps(folder.read_info().facts))  # without the hash of the state that was there
    with pytest.raises(SignnapError, match=r"state\.pt is the checkpoint of another run \(") as caught:
        SIGNNAP(**SMALL, **settings, iterations=8).fit(graph, out=folder.path, resume=True)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_state_that_does_not_fit(kind, small_graph, tmp_path):
    SIGNNAP(**SMALL, iterations=6).fit(small_graph, out=tmp_path)
    state = RunFolder(tmp_path).load_state()
    FOREIGN[kind](state)
    expect_refused(RunFolder(tmp_path), state, small_graph)


@pytest.mark.parametrize(
    "change",
    [
        lambda best: best.pop("lowest"),
        lambda best: best.update(waited=torch.tensor(-1)),
        lambda best: best.update(waited=torch.tensor(5)),
        lambda best: best.update(waited=torch.tensor(0.5)),
        lambda best: best.update(lowest="x"),
        lambda best: best.update({"encoder.convolutions.0.bias": torch.zeros(3)}),
        lambda best: best.clear(),
    ],
)
def test_a_best_iteration_that_does_not_fit(change, small_graph, tmp_path):
    SIGNNAP(**SMALL, patience=4, iterations=6).fit(small_graph, out=tmp_path)
    state = RunFolder(tmp_path).load_state()
    change(state["best"])
    expect_refused(RunFolder(tmp_path), state, small_graph, patience=4)


def test_a_state_from_before_there_was_a_best_iteration_continues(small_graph, start, snapshot, same):
    whole, first, second = (start(small_graph) for _ in range(3))
    list(iterate(whole, 6)), list(iterate(first, 3))
    state = snapshot(first)
    del state["best"]
    second.restore(state)
    list(iterate(second, 6))
    assert same(snapshot(second), snapshot(whole))


def test_how_an_average_lies_in_a_file_does_not_matter(small_graph, start, snapshot, same):
    """The optimiser takes what lies elsewhere, or all in one place, for as many numbers in a row."""
    whole, first, second = (start(small_graph) for _ in range(3))
    list(iterate(whole, 6)), list(iterate(first, 3))
    state = snapshot(first)
    for found in state["optimizer"]["state"].values():
        found["exp_avg"] = found["exp_avg"].t().contiguous().t() if found["exp_avg"].dim() == 2 else found["exp_avg"]
    second.restore(state)
    list(iterate(second, 6))
    assert same(snapshot(second), snapshot(whole))


def test_a_state_is_copied(small_graph, start, snapshot, same):
    first, second = start(small_graph), start(small_graph)
    list(iterate(first, 3))
    state, before = snapshot(first), snapshot(first)
    second.restore(state)
    list(iterate(second, 6))
    assert same(state, before)


class HalfUsed(nn.Module):
    """Has a layer that nothing goes through."""

    def __init__(self):
        super().__init__()
        self.unused, self.linear = nn.Linear(12, 3), nn.Linear(12, 8)

    def forward(self, x, edge_index):
        return self.linear(x)


def test_parameters_without_gradients_have_no_state(small_graph, tmp_path):
    model = HalfUsed()
    settings = {"negatives": 16, "temperature": 0.5}
    SIGNNAP(model, **settings, iterations=3).fit(small_graph, out=tmp_path)
    resumed = SIGNNAP(model, **settings, iterations=6).fit(small_graph, out=tmp_path, resume=True)
    whole = SIGNNAP(model, **settings, iterations=6).fit(small_graph)
    assert np.array_equal(resumed.transform(small_graph), whole.transform(small_graph))


def test_a_scheduled_rate_is_that_of_the_iteration(small_graph, start, snapshot, same):
    """On a GPU the rate of a schedule is saved as a tensor."""
    whole, first, second = (start(small_graph, schedule="linear:0.5", iterations=6) for _ in range(3))
    list(iterate(whole, 6)), list(iterate(first, 3))
    state = snapshot(first)
    group(lr=torch.tensor(0.25))(state)
    second.restore(state)
    list(iterate(second, 6))
    assert same(snapshot(second), snapshot(whole))
