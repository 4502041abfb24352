"""Bring your own: encoder, objective and perturbation stand where ours stand."""

import inspect

import numpy as np
import pytest
import torch
from sklearn.base import clone
from torch import nn

from signnap import SIGNNAP, DropEdge, Encoder, InfoNCE, Objective, Terms
from signnap.errors import SignnapError
from signnap.graph import as_dense

SMALL = {"negatives": 16, "temperature": 0.5, "iterations": 4}


@pytest.fixture
def own():
    """A PyG model with dropout and batch norm."""
    from torch_geometric.nn import GIN

    with torch.random.fork_rng():
        torch.manual_seed(0)
        return GIN(12, 8, num_layers=2, dropout=0.5, norm="batch_norm")


# -- encoders --------------------------------------------------------------------------------------------------------


def test_a_pyg_encoder(own, small_graph, same_weights):
    before = {name: value.clone() for name, value in own.state_dict().items()}
    model = SIGNNAP(own, **SMALL).fit(small_graph)
    assert model.settings_.backbone == "custom"
    assert model.transform(small_graph).shape == (40, 8)
    assert all(torch.equal(value, before[name]) for name, value in own.state_dict().items())  # trained as a copy
    assert not same_weights(model, model.untrained(small_graph))
    torch.manual_seed(5)  # what the user draws elsewhere does not matter
    assert same_weights(SIGNNAP(own, **SMALL).fit(small_graph), model)
    assert same_weights(clone(SIGNNAP(own, **SMALL)).fit(small_graph), model)


def test_a_pyg_encoder_is_kept_and_resumed(own, small_graph, tmp_path, same_weights):
    SIGNNAP(own, **SMALL).fit(small_graph, out=tmp_path / "run")
    with pytest.raises(SignnapError, match="was trained with an encoder of your own: pass the module as backbone"):
        SIGNNAP.load(tmp_path / "run")
    longer = SIGNNAP(own, **SMALL | {"iterations": 9}).fit(small_graph, out=tmp_path / "run", resume=True)
    assert same_weights(longer, SIGNNAP(own, **SMALL | {"iterations": 9}).fit(small_graph))
    again = SIGNNAP.load(tmp_path / "run", backbone=own)
    assert np.array_equal(again.transform(small_graph), longer.transform(small_graph))


def test_an_encoder_that_sizes_itself(small_graph, same_weights, tmp_path):
    from torch_geometric.nn import GCN

    def unsized():
        with torch.random.fork_rng():
            torch.manual_seed(0)
            return GCN(-1, 8, num_layers=2)

    outside = torch.get_rng_state()
    model = SIGNNAP(unsized(), **SMALL).fit(small_graph)
    assert torch.equal(torch.get_rng_state(), outside)
    torch.manual_seed(77)
    assert same_weights(SIGNNAP(unsized(), **SMALL).fit(small_graph), model)
    model.save(tmp_path)
    loaded = SIGNNAP.load(tmp_path, backbone=unsized())
    assert np.array_equal(loaded.transform(small_graph), model.transform(small_graph))


def test_an_encoder_that_takes_views(small_graph):
    class Mean(Encoder):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(12, 5)

        def forward(self, view):
            return view.random_walk(self.linear(as_dense(view.x)))

    assert SIGNNAP(Mean(), **SMALL).fit(small_graph).transform(small_graph).shape == (40, 5)


def test_an_encoder_sees_dropped_edges_and_no_labels(small_graph):
    seen = []

    class Spy(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(12, 8)

        def forward(self, x, edge_index):
            seen.append((self.training, tuple(x.shape), edge_index.shape[1]))
            return self.linear(x)

    SIGNNAP(Spy(), **SMALL, loop_value=0.0).fit(small_graph)
    training = [edges for trained, shape, edges in seen if trained and shape == (40, 12)]
    assert training == [int(0.7 * 2 * small_graph.num_edges)] * 8  # two views in each of four iterations


# -- objectives ------------------------------------------------------------------------------------------------------


class Agree(Objective):
    """Mean squared distance between the views, with a counter as state."""

    def __init__(self):
        super().__init__()
        self.register_buffer("updates", torch.zeros(()))

    def prepare(self, num_nodes, dim, generator):
        self.sizes = num_nodes, dim

    def forward(self, z1, z2, generator):
        assert self.sizes == tuple(z1.shape)
        loss = (z1 - z2).square().mean()
        return Terms(loss, loss, loss, torch.zeros(()))

    def update(self, z1, z2, terms):
        assert not z1.requires_grad
        self.updates += 1


def test_an_objective_of_one_s_own(small_graph, tmp_path, same_weights):
    objective = Agree()
    model = SIGNNAP(objective=objective, dim=8, **SMALL).fit(small_graph, out=tmp_path / "run")
    assert model.settings_.objective == "custom"
    assert model.outcome_.numbers["loss"] < 1
    assert objective.updates == 0  # trained with a copy
    assert torch.load(tmp_path / "run" / "state.pt")["modules"]["objective.updates"] == 4
    longer = SIGNNAP(objective=Agree(), dim=8, **SMALL | {"iterations": 9}).fit(
        small_graph, out=tmp_path / "run", resume=True
    )
    assert torch.load(tmp_path / "run" / "state.pt")["modules"]["objective.updates"] == 9
    assert same_weights(longer, SIGNNAP(objective=Agree(), dim=8, **SMALL | {"iterations": 9}).fit(small_graph))
    assert SIGNNAP.load(tmp_path / "run").transform(small_graph).shape == (40, 8)


def test_a_ready_objective_equals_its_name(small_graph, same_weights):
    named = SIGNNAP(objective="infonce", dim=8, **SMALL).fit(small_graph)
    ready = SIGNNAP(objective=InfoNCE(16, 0.5, 0.5, named.settings_.share), dim=8, **SMALL).fit(small_graph)
    assert same_weights(named, ready)


# -- perturbations ---------------------------------------------------------------------------------------------------


def test_a_perturbation_of_one_s_own(small_graph, same_weights):
    calls = []

    def nothing(view, generator):
        assert isinstance(generator, torch.Generator)
        assert view.stored.count_nonzero() == view.pattern.num_entries
        calls.append(view)
        return view

    model = SIGNNAP(perturbation=nothing, dim=8, **SMALL).fit(small_graph)
    assert len(calls) == 8
    assert same_weights(model, SIGNNAP(drop_edge=0.0, dim=8, **SMALL).fit(small_graph))
    assert same_weights(
        SIGNNAP(perturbation=DropEdge(0.3), dim=8, **SMALL).fit(small_graph), SIGNNAP(dim=8, **SMALL).fit(small_graph)
    )


def test_help_lists_every_setting():
    shown = str(inspect.signature(SIGNNAP))
    assert shown.startswith("(backbone='gcn', *, ")
    for name in ("dim=None", "drop_edge=None", "seed=None", "perturbation=None", "preset='paper'"):
        assert name in shown
