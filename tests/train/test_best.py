"""Model choice: the weights of the lowest watched number, patience, and runs that end early."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from signnap import SIGNNAP
from signnap.errors import SignnapError
from signnap.interfaces import Step
from signnap.train.loop import iterate
from signnap.train.run import BestEncoder, Run
from signnap.train.run_folder import RunFolder


def obvious(numbers, patience):
    """Index of the lowest number (the later of equals) before the wait became too long, and when that was known."""
    lowest, at = math.inf, None
    for index, number in enumerate(numbers):
        if number <= lowest:
            lowest, at = number, index
        elif index - at >= patience:
            return at, index
    return at, None


@pytest.mark.parametrize("seed", range(8))
def test_twin(seed):
    numbers = np.random.default_rng(seed).integers(0, 30, 40).tolist()
    layer = nn.BatchNorm1d(1)
    for patience in (1, 3, 10):
        best, ends = BestEncoder(layer, patience), None
        for index, number in enumerate(numbers):
            layer.weight.data.fill_(index), layer.running_mean.fill_(index)
            best.consider(layer, torch.tensor(float(number)))
            if best.is_final() and ends is None:
                ends = index
        at, over = obvious(numbers, patience)
        assert (best.encoder.weight.item(), best.encoder.running_mean.item()) == (at, at) and ends == over
        assert best.lowest.item() == numbers[at] and not any(p.requires_grad for p in best.parameters())


class Valley:
    """A weight that walks over numbers it watches."""

    def __init__(self, watched):
        self.modules = nn.ModuleDict({"encoder": nn.Linear(1, 1, bias=False), "objective": nn.Identity()})
        self.modules["encoder"].weight.data.fill_(0)
        self.generators, self.allow_tf32, self.watched, self.at = {}, False, watched, 0

    def step(self):
        self.at += 1
        return Step(self.modules["encoder"].weight.sum(), {}, (), torch.tensor(self.watched[self.at - 1]))

    def advance(self, step):
        pass


def test_the_weights_are_those_that_the_number_was_computed_with():
    run = Run(Valley([3.0, 1.0, 2.0, 2.0, 0.0]), lr=1.0, weight_decay=0.0, patience=2)
    list(iterate(run, 4))
    assert run.is_final() and run.encoder.weight.item() == pytest.approx(-1, abs=1e-5)
    list(iterate(run, 5))  # too late
    assert run.encoder.weight.item() == pytest.approx(-1, abs=1e-5)
    patient = Run(Valley([3.0, 1.0, 2.0, 2.0, 0.0]), lr=1.0, weight_decay=0.0, patience=4)
    list(iterate(patient, 5))
    assert not patient.is_final() and patient.encoder.weight.item() == pytest.approx(-4, abs=1e-5)


def test_a_run_ends_when_its_patience_does_and_stays_ended(small_graph, tmp_path):
    options = {"dim": 8, "negatives": 16, "lr": 0.5, "patience": 3, "iterations": 400}
    model = SIGNNAP(**options).fit(small_graph, out=tmp_path / "run", stop_on_collapse=False)
    ended = model.info_.iterations
    assert model.info_.finished and ended < 400
    loaded = SIGNNAP.load(tmp_path / "run")
    assert np.array_equal(loaded.transform(small_graph), model.transform(small_graph))
    again = SIGNNAP(**options).fit(small_graph, out=tmp_path / "run", resume=True, stop_on_collapse=False)
    assert again.info_.iterations == ended
    assert np.array_equal(again.transform(small_graph), model.transform(small_graph))
    assert RunFolder(tmp_path / "run").load_state()["iteration"] == ended


def test_a_schedule_s_length_cannot_be_changed_later(small_graph, tmp_path):
    options = {"dim": 8, "negatives": 16, "schedule": "cosine:0"}
    SIGNNAP(**options, iterations=3).fit(small_graph, out=tmp_path / "run")
    with pytest.raises(SignnapError, match="was trained with iterations = 3, not 5"):
        SIGNNAP(**options, iterations=5).fit(small_graph, out=tmp_path / "run", resume=True)


def test_long_gradients_are_cut(small_graph):
    class Steep(Valley):
        def step(self):
            return Step(1000 * self.modules["encoder"].weight.sum(), {})

    run = Run(Steep([]), lr=1.0, weight_decay=0.0, clip=0.25)
    run.advance()
    assert run.task.modules["encoder"].weight.grad.norm().item() == pytest.approx(0.25, rel=1e-4)


def test_of_equal_numbers_the_later_one_wins():
    layer = nn.Linear(1, 1, bias=False)
    best = BestEncoder(layer, patience=2)
    for index, number in enumerate([2.0, 1.0, 3.0, 1.0, 3.0, 1.0]):  # a tie also ends the wait
        layer.weight.data.fill_(index)
        best.consider(layer, torch.tensor(number))
        assert not best.is_final()
    assert best.encoder.weight.item() == 5
