"""What is logged about the embeddings: those that a run gives, looked at without a trace."""

import pytest
import torch
from torch import nn
from torch.nn.functional import dropout

from signnap import SIGNNAP, method_class
from signnap.ops.geometry import spread


@pytest.mark.parametrize("method", ["signnap", "bgrl", "supervised", "graphmae", "gcc"])
def test_the_numbers_are_those_of_what_the_run_gives(method, small_graph):
    kind = method_class(method)
    wanted = {"dim": 8, "hidden": 8, "negatives": 16, "heads": 2, "split": "per-class:5:5", "patience": 0, "batch": 40}
    used = {k: v for k, v in wanted.items() if k in kind.parameters() and (k != "split" or kind.uses_labels)}
    model = kind(**used, iterations=4).fit(small_graph)
    found = {name: model.outcome_.numbers[name] for name in ("uniformity", "effective_rank", "norm")}
    if method == "gcc":  # those of a batch: length one without dropout's noise, and not all the same
        assert found["norm"] == pytest.approx(1, abs=1e-5) and found["effective_rank"] > 1.05
    else:
        assert found == spread(torch.from_numpy(model.transform(small_graph)))


def test_with_patience_they_are_those_of_the_best_weights(small_graph):
    kind = method_class("supervised")
    model = kind(dim=8, iterations=30, lr=1.0, patience=5, split="per-class:5:5").fit(small_graph)
    assert model.outcome_.iteration == 30 and model.outcome_.numbers["norm"] == pytest.approx(
        spread(torch.from_numpy(model.transform(small_graph)))["norm"]
    )


@pytest.mark.parametrize("method", ["signnap", "bgrl", "graphmae"])
def test_to_look_leaves_no_trace(method, small_graph, snapshot, same):
    kind = method_class(method)
    used = {k: v for k, v in {"dim": 8, "hidden": 8, "negatives": 16}.items() if k in kind.parameters()}
    run = kind(**used).run(small_graph)
    step = run.advance()
    before, outside = snapshot(run), torch.get_rng_state()
    modes = [module.training for module in run.task.modules.modules()]
    run.task.describe(step, run.encoder)
    assert same(snapshot(run), before) and torch.equal(torch.get_rng_state(), outside)
    assert [module.training for module in run.task.modules.modules()] == modes and all(modes)


def test_an_encoder_that_draws_without_dropout_leaves_no_trace_either(small_graph):
    class Noisy(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(12, 8)

        def forward(self, x, edge_index):
            return dropout(self.layer(x))  # in training or not

    run = SIGNNAP(Noisy(), negatives=16).run(small_graph)
    step, outside = run.advance(), torch.get_rng_state()
    first = run.task.describe(step, run.encoder)
    assert run.task.describe(step, run.encoder) == first and torch.equal(torch.get_rng_state(), outside)
