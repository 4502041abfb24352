"""Bring your own: encoder, objective and perturbation stand where ours stand."""

import inspect

import numpy as np
import pytest
import torch
from sklearn.base import clone
from torch import nn

from signnap import SIGNNAP, DropEdge, Encoder, InfoNCE, Method, Objective, Terms, load_method
from signnap.errors import SignnapError
from signnap.graph import as_dense

GCN, GIN = (getattr(pytest.importorskip("torch_geometric.nn"), name) for name in ("GCN", "GIN"))
SMALL = {"negatives": 16, "temperature": 0.5, "iterations": 4}


@pytest.fixture
def own():
    """A PyG model with dropout and batch norm."""
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
    with pytest.raises(SignnapError, match="was trained with an encoder of your own: pass it as backbone to SIGNNAP"):
        SIGNNAP.load(tmp_path / "run")
    longer = SIGNNAP(own, **SMALL | {"iterations": 9}).fit(small_graph, out=tmp_path / "run", resume=True)
    assert same_weights(longer, SIGNNAP(own, **SMALL | {"iterations": 9}).fit(small_graph))
    again = SIGNNAP.load(tmp_path / "run", backbone=own)
    assert np.array_equal(again.transform(small_graph), longer.transform(small_graph))


def test_an_encoder_that_sizes_itself(small_graph, same_weights, tmp_path):
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
        return Terms(loss, {"apart": loss}, torch.zeros(()))

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


# -- what is recorded of them ----------------------------------------------------------------------------------------


class Scaled(nn.Module):
    """Prints nothing of its scale."""

    def __init__(self, scale):
        super().__init__()
        self.scale, self.linear = scale, nn.Linear(12, 8)

    def forward(self, x, edge_index):
        return self.scale * self.linear(x)


class Keep:
    """Prints nothing at all."""

    def __init__(self, share):
        self.share = share

    def __call__(self, view, generator):
        chance = torch.rand(view.stored.shape, generator=generator)
        return view.with_entries(view.stored * (chance < self.share))


class Weighted(Agree):
    def __init__(self, weight):
        super().__init__()
        self.weight = weight


@pytest.mark.parametrize(
    ("name", "kind", "found"),
    [
        ("backbone", Scaled, "scale = 1.0, not scale = 2.0"),
        ("backbone", lambda scale: lambda features: Scaled(scale), "scale = 1.0, not scale = 2.0"),
        ("objective", Weighted, "weight = 1.0, not weight = 2.0"),
        ("perturbation", Keep, "share = 1.0, not share = 2.0"),
    ],
)
def test_a_run_goes_on_with_its_own_parts_only(name, kind, found, small_graph, tmp_path):
    sizes = SMALL | ({} if name == "backbone" else {"dim": 8})
    SIGNNAP(**{name: kind(1.0)}, **sizes).fit(small_graph, out=tmp_path)
    longer = sizes | {"iterations": 6}
    with pytest.raises(SignnapError, match=rf"was trained with another {name} \({found}\): cannot resume"):
        SIGNNAP(**{name: kind(2.0)}, **longer).fit(small_graph, out=tmp_path, resume=True)
    SIGNNAP(**{name: kind(1.0)}, **longer).fit(small_graph, out=tmp_path, resume=True)


def test_settings_that_a_part_takes_the_place_of_are_told(small_graph, caplog):
    with caplog.at_level("INFO", "signnap"):
        SIGNNAP(**SMALL, dim=8, perturbation=DropEdge(0.5), drop_edge=0.9).fit_seeds(small_graph, [0, 1])
        SIGNNAP(**SMALL, dim=8, perturbation=DropEdge(0.5)).fit(small_graph)
        SIGNNAP(objective=InfoNCE(negatives=4), iterations=1, negatives=8, temperature=0.5).fit(small_graph)
    assert caplog.messages == [
        "signnap has no use for drop_edge: the perturbation is your own",
        "signnap has no use for negatives, temperature: the objective is your own",
    ]


def test_a_name_is_no_part_of_one_s_own(own, small_graph, tmp_path):
    SIGNNAP(own, **SMALL).fit(small_graph, out=tmp_path)
    with pytest.raises(SignnapError, match=r"^backbone is 'gcn': expected the part of your own that the model was"):
        SIGNNAP.load(tmp_path, backbone="gcn")


def test_which_parts_a_model_is_loaded_with(own, small_graph, tmp_path):
    SIGNNAP(dim=8, **SMALL).fit(small_graph).save(tmp_path / "named")
    with pytest.raises(SignnapError, match="named was trained with the backbone gcn: it takes none of your own"):
        SIGNNAP.load(tmp_path / "named", backbone=own)
    with pytest.raises(SignnapError, match="unknown part 'dim'"):
        SIGNNAP.load(tmp_path / "named", dim=99)
    SIGNNAP(own, objective=Agree(), perturbation=Keep(0.5), **SMALL).fit(small_graph, out=tmp_path / "own")
    loaded = load_method(tmp_path / "own", backbone=own)
    loaded.transform(small_graph)
    for name, part in (("objective", Agree()), ("perturbation", Keep(0.5))):
        with pytest.raises(SignnapError, match=f"had an? {name} of your own: pass it as {name} to train again"):
            loaded.fit(small_graph)
        loaded.set_params(**{name: part})
    loaded.fit(small_graph)


def test_every_seed_draws_its_own_weights_where_a_function_makes_the_encoder(small_graph, tmp_path, same_weights):
    def encoder(features):
        return GIN(features, 8, num_layers=2)

    outside = torch.get_rng_state()
    model = SIGNNAP(encoder, **SMALL)
    first, second = (each.untrained(small_graph) for each in model.fit_seeds(small_graph, [0, 1]))
    assert not same_weights(first, second)
    assert same_weights(first, SIGNNAP(encoder, **SMALL).untrained(small_graph))
    fitted = clone(model).fit(small_graph, out=tmp_path)
    assert same_weights(SIGNNAP.load(tmp_path, backbone=encoder), fitted)
    assert torch.equal(torch.get_rng_state(), outside)
    with pytest.raises(SignnapError, match="the backbone made a str for 12 features: expected a Module"):
        SIGNNAP(lambda features: "gin", **SMALL).fit(small_graph)


def test_an_untrained_encoder_that_sizes_itself_repeats_itself(small_graph, same_weights):
    lazy = GCN(-1, 8, num_layers=2)
    outside = torch.get_rng_state()
    first = SIGNNAP(lazy, **SMALL).untrained(small_graph)
    assert torch.equal(torch.get_rng_state(), outside)
    torch.manual_seed(77)
    assert same_weights(first, SIGNNAP(lazy, **SMALL).untrained(small_graph))


# -- what has to come out of them ------------------------------------------------------------------------------------


class Returns(nn.Module):
    """An encoder that returns what is made of an embedding."""

    def __init__(self, change):
        super().__init__()
        self.change, self.linear = change, nn.Linear(12, 8)

    def forward(self, x, edge_index):
        return self.change(self.linear(x))


class Found(Objective):
    """An objective that returns what is made of a loss."""

    def __init__(self, change):
        super().__init__()
        self.change = change

    def forward(self, z1, z2, generator):
        return self.change((z1 - z2).square().mean())


def written(view, generator):
    view.stored.mul_(torch.rand(view.stored.shape, generator=generator) > 0.3)
    return view


ENTRIES = r"a float32 tensor of shape \(\d+,\), 0 if dropped"


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        (
            {"backbone": Returns(lambda z: (z, z))},
            "the encoder returned a tuple: expected a float32 tensor with 40 rows",
        ),
        ({"backbone": Returns(lambda z: z[:, 0])}, r"the encoder returned a float32 tensor of shape \(40,\)"),
        ({"backbone": Returns(lambda z: z[:, :0])}, r"the encoder returned a float32 tensor of shape \(40, 0\)"),
        ({"backbone": Returns(lambda z: z[:9])}, r"the encoder returned a float32 tensor of shape \(9, 8\)"),
        ({"backbone": Returns(lambda z: z.double())}, r"the encoder returned a float64 tensor of shape \(40, 8\)"),
        ({"perturbation": lambda view, generator: None}, "the perturbation returned nothing: expected a View"),
        ({"perturbation": "drop"}, "the perturbation is 'drop': expected a function of a view and a generator"),
        ({"perturbation": lambda view, generator: view.with_entries(view.stored > 0)}, f"expected {ENTRIES}"),
        ({"perturbation": lambda view, generator: view.with_entries(view.stored[1:])}, f"expected {ENTRIES}"),
        ({"perturbation": written}, "the perturbation wrote to the view that it was given: expected a changed copy"),
        (
            {"objective": Found(lambda loss: loss)},
            r"returned a float32 tensor of shape \(\): expected Terms",
        ),
        (
            {"objective": Found(lambda loss: Terms(loss, {"apart": 1.0}))},
            "returned a float as apart: expected a tensor with",
        ),
        ({"objective": Found(lambda loss: Terms(loss, loss))}, r"of shape \(\) as parts: expected a dict of tensors"),
        (
            {"objective": Found(lambda loss: Terms(loss, {"loss": loss}))},
            "a part named loss: expected a name",
        ),
        ({"objective": Found(lambda loss: Terms(loss[None], {"total": loss}))}, r"of shape \(1,\) as total: expected"),
        (
            {"objective": Found(lambda loss: Terms(loss, mutual_information_bound=0.5))},
            "returned a float as mutual_information_bound: expected a tensor with one number",
        ),
        (
            {"objective": Found(lambda loss: Terms(loss.detach()))},
            "a total that does not depend on the emb",
        ),
        ({"objective": Agree}, "objective is <class .*Agree'>: expected a name, or an Objective of your own"),
        ({"backbone": "custom"}, "this model had an encoder of your own: pass it as backbone"),
        ({"backbone": 5}, "backbone is 5: expected a name, or a Module of your own"),
    ],
)
def test_parts_that_do_not_fit(parts, sentence, small_graph):
    with pytest.raises(SignnapError, match=sentence):
        SIGNNAP(**{"dim": 8} | SMALL | parts).fit(small_graph)


def test_what_is_kept_of_terms_has_no_gradients(small_graph):
    class Remembers(Agree):
        def forward(self, z1, z2, generator):
            loss = (z1 - z2).square().mean() + (0 if self.updates == 0 else (z1 - self.kept).square().mean())
            return Terms(loss, mutual_information_bound=loss, carry={"z": z1})

        def update(self, z1, z2, terms):
            super().update(z1, z2, terms)
            self.kept = terms.carry["z"]
            assert not (self.kept.requires_grad or terms.mutual_information_bound.requires_grad)

    SIGNNAP(objective=Remembers(), dim=8, **SMALL).fit(small_graph)


def test_resuming_needs_a_folder(small_graph):
    with pytest.raises(SignnapError, match="a run is resumed from its folder: give out as well"):
        SIGNNAP(dim=8, **SMALL).fit(small_graph, resume=True)


def test_a_method_without_settings_is_none():
    with pytest.raises(SignnapError, match="the method 'mine' has no settings: expected a line in METHODS"):
        type("Mine", (Method,), {"name": "mine"})


def test_help_lists_every_setting():
    shown = str(inspect.signature(SIGNNAP))
    assert shown.startswith("(backbone='gcn', *, ")
    for name in ("dim=None", "drop_edge=None", "seed=None", "perturbation=None", "preset='paper'"):
        assert name in shown
