"""Learning rates: shapes, warm-up, what reaches the optimiser, and that a resumed run goes on where it was."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signnap.errors import SignnapError
from signnap.train.loop import iterate
from signnap.train.schedules import rate_factor


@given(st.sampled_from(["cosine", "linear"]), st.floats(0, 0.9), st.integers(1, 500))
def test_from_nothing_to_one_and_back(shape, warm, iterations):
    factor = rate_factor(f"{shape}:{warm}", iterations)
    values = [factor(t) for t in range(iterations + 1)]
    assert all(0 <= value <= 1 for value in values) and values[-1] == pytest.approx(0, abs=1e-12)
    top = math.ceil(warm * iterations)
    assert values[:top] == sorted(values[:top]) and values[top:] == sorted(values[top:], reverse=True)
    assert values[0] == (0 if warm else 1)


def test_shapes():
    cosine = rate_factor("cosine:0.1", 1000)
    assert [cosine(t) for t in (0, 50, 100, 550)] == pytest.approx([0, 0.5, 1, 0.5])
    assert cosine(325) == pytest.approx((1 + math.cos(math.pi / 4)) / 2)
    assert rate_factor("constant", 10) is None


@pytest.mark.parametrize("schedule", ["", "cosine", "cosine:1", "cosine:-0.1", "cosine:x", "step:0.1", "linear:nan"])
def test_schedules_that_are_none(schedule):
    with pytest.raises(SignnapError, match="expected constant, or cosine or linear with the share of warm-up"):
        rate_factor(schedule, 10)


def test_the_optimiser_gets_the_rate_of_every_iteration(small_graph, start):
    run = start(small_graph, lr=0.5, schedule="linear:0.5", iterations=4)
    seen = [run.optimizer.param_groups[0]["lr"] for _ in iterate(run, 4)]
    assert seen == [0, 0.25, 0.5, 0.25]


def test_a_resumed_run_goes_on_with_its_rate(small_graph, start, snapshot, same):
    options = {"schedule": "cosine:0.25", "iterations": 8, "decoupled_decay": True}
    whole, first, second = (start(small_graph, **options) for _ in range(3))
    list(iterate(whole, 8)), list(iterate(first, 5))
    second.restore(snapshot(first))
    list(iterate(second, 8))
    assert same(snapshot(second), snapshot(whole))
