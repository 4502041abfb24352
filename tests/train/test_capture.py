"""What a recorded iteration needs of a model: everything stays where it is."""

import pytest
import torch

from signnap import InfoNCE, method_class
from signnap.registry import METHODS
from signnap.train.loop import addresses, iterate, replaced

SMALL = {"dim": 8, "hidden": 8, "projector": 8, "negatives": 16, "temperature": 0.5}
TRAINED = [name for name in METHODS if method_class(name).trains]


def replaced_by(run):
    """What a third iteration replaces."""
    iterations = iterate(run, 3, capture=False)
    next(iterations), next(iterations)
    before = addresses(run.task.modules)
    next(iterations)
    return replaced(before, run.task.modules)


@pytest.mark.parametrize("name", TRAINED)
def test_methods_change_their_state_in_place(name, small_graph):
    kind = method_class(name)
    settings = {k: v for k, v in SMALL.items() if k in kind.parameters()}
    model = kind(**settings | ({"split": "per-class:5:5"} if kind.uses_labels else {}))
    seen = model.training_view(small_graph, model.settings_for(small_graph.name).split)
    assert replaced_by(model.run(seen)) == []


class Moves(InfoNCE):
    """An objective of one's own with a state that it replaces."""

    def __init__(self, how):
        super().__init__(negatives=16, temperature=0.5)
        self.register_buffer("centre", torch.zeros(8))
        self.how, self.seen = how, 0

    def update(self, z1, z2, terms):
        super().update(z1, z2, terms)
        if self.how == "a tensor":
            self.centre = 0.9 * self.centre + 0.1 * z1.mean(dim=0)
        else:
            self.seen += 1


@pytest.mark.parametrize(("how", "name"), [("a tensor", "objective.centre"), ("a number", "objective.seen")])
def test_a_state_that_is_replaced_is_noticed(how, name, small_graph, start):
    assert replaced_by(start(small_graph, objective=Moves(how))) == [name]
