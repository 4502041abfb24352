"""scikit-learn's manners: parameters as attributes, what pipelines and frames ask for, and the options of ``fit``."""

import copy
import inspect
import pickle
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from torch import nn

from signnap import SIGNNAP, Graph, load_method, method_class
from signnap.errors import SignnapError
from signnap.registry import METHODS

SMALL = {"dim": 8, "negatives": 16, "iterations": 3}
QUICK = {**SMALL, "hidden": 8, "projector": 8, "temperature": 0.5}


def quick(name):
    kind = method_class(name)
    small = {k: v for k, v in QUICK.items() if k in kind.parameters()}
    return kind(**small | ({"split": "per-class:5:5"} if kind.uses_labels else {}))


def test_parameters_are_attributes(small_graph):
    model = SIGNNAP("sage", dim=8)
    assert (model.backbone, model.dim, model.lr, model.preset) == ("sage", 8, None, "paper")
    model.dim, model.negatives, model.iterations = 4, 16, 2
    assert model.get_params()["dim"] == 4 and model.fit(small_graph).transform(small_graph).shape == (40, 4)
    with pytest.raises(AttributeError, match="SIGNNAP has no attribute 'dims'"):
        print(model.dims)
    with pytest.raises(SignnapError, match="method is 'dgi', but this is 'signnap'"):
        model.method = "dgi"


def test_subclasses_have_attributes_of_their_own(small_graph):
    class Mine(SIGNNAP):
        def __init__(self, note="none", **settings):
            self.before = 1
            super().__init__(**settings)
            self.note = note

    model = Mine(note="mine", **SMALL).fit(small_graph)
    assert (model.note, model.before, model.dim) == ("mine", 1, 8) and "note" not in model.get_params()
    assert copy.deepcopy(model).note == "mine"


@pytest.mark.parametrize("name", METHODS)
def test_no_parameter_hides_behind_something_else(name):
    kind = method_class(name)
    assert not [each for each in kind.parameters() if hasattr(kind, each)]


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_are_whole(copied, small_graph):
    model = SIGNNAP(**SMALL).fit(small_graph)
    twin = copied(model)
    assert twin.get_params() == model.get_params() and twin.dim == 8
    assert np.array_equal(twin.transform(small_graph), model.transform(small_graph))
    twin.dim = 4
    assert model.dim == 8


def test_what_is_stated_is_shown():
    for name in ("signnap", "untrained"):
        first, *rest = inspect.signature(method_class(name)).parameters.values()
        assert (first.name, first.kind, first.default) == ("backbone", first.POSITIONAL_OR_KEYWORD, "gcn")
        assert {p.kind for p in rest} == {first.KEYWORD_ONLY} and rest[-1].default == "paper"
    assert all(p.kind == p.KEYWORD_ONLY for p in inspect.signature(method_class("dgi")).parameters.values())
    assert method_class("untrained")("sage").backbone == "sage"


@pytest.mark.parametrize("name", METHODS)
def test_columns_have_the_names_of_embedding_files(name, small_graph):
    model = quick(name)
    with pytest.raises(SignnapError, match="is not fitted yet"):
        model.get_feature_names_out()
    width = model.fit_transform(small_graph).shape[1]
    assert model.get_feature_names_out().tolist() == [f"e{number}" for number in range(width)]


def test_data_frames(small_graph, monkeypatch):
    frame = lambda z, index, columns: (z, index, [*columns])
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=frame))
    model = clone(make_pipeline(SIGNNAP(**SMALL)).set_output(transform="pandas")[0])
    z, index, columns = model.fit_transform(small_graph)
    assert z.shape == (40, 8) and index is small_graph.ids and columns == [f"e{number}" for number in range(8)]
    assert np.array_equal(model.set_output(transform="default").transform(small_graph), z)
    with pytest.raises(SignnapError, match=r"^transform is 'polar': expected default or pandas$"):
        model.set_output(transform="polar")


def test_copies_keep_their_output(small_graph, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=lambda z, index, columns: "a frame"))
    model = SIGNNAP(**SMALL).set_output(transform="pandas")
    assert [each.transform(small_graph) for each in model.fit_seeds(small_graph, [0, 1])] == ["a frame"] * 2
    assert model.untrained(small_graph).transform(small_graph) == "a frame"
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(SignnapError, match=r"^transform is 'pandas', which is not installed$"):
        model.set_output(transform="pandas")


class Touchy(nn.Module):
    """Needs two nodes and an edge."""

    def __init__(self):
        super().__init__()
        self.linear, self.norm = nn.LazyLinear(8), nn.BatchNorm1d(8, track_running_stats=False)

    def forward(self, x, edge_index):
        return self.norm(self.linear(x)) + edge_index[0].max()


def test_an_encoder_of_ones_own_is_asked_for_its_width(small_graph):
    model = SIGNNAP(Touchy(), negatives=16, iterations=2).fit(small_graph)
    assert len(model.get_feature_names_out()) == 8


# -- the options of fit, and what is loaded --------------------------------------------------------------------------


def test_options_are_those_of_fit(small_graph):
    options = inspect.signature(SIGNNAP.fit_seeds).parameters
    stated = {
        name for name, each in inspect.signature(SIGNNAP.fit).parameters.items() if each.kind == each.KEYWORD_ONLY
    }
    assert (
        {"out", "resume", "progress"} < stated == {n for n, each in options.items() if each.kind == each.KEYWORD_ONLY}
    )
    with pytest.raises(TypeError, match=r"fit\(\) got an unexpected keyword argument 'resum'"):
        SIGNNAP(**SMALL).fit(small_graph, resum=True)


@pytest.mark.parametrize("shown", [False, True])
def test_progress_is_shown_where_it_is_wanted(shown, small_graph, capsys):
    told = []
    SIGNNAP(**SMALL).fit(small_graph, progress=shown, report=lambda iteration, words="": told.append(iteration))
    out, err = capsys.readouterr()
    assert out == "" and told == [1, 2, 3]
    assert err.startswith("iteration 3/3  ") == shown and len(err.splitlines()) == shown


def test_a_run_of_another_method(small_graph, tmp_path):
    dgi = quick("dgi").fit(small_graph, out=tmp_path / "run")
    for options in ({}, {"backbone": torch.nn.Linear(2, 2)}):
        with pytest.raises(SignnapError, match=r"run is a run of the method dgi: use load_method$"):
            SIGNNAP.load(tmp_path / "run", **options)
    assert np.array_equal(load_method(tmp_path / "run").transform(small_graph), dgi.transform(small_graph))


# -- methods that do not train ---------------------------------------------------------------------------------------


def test_a_method_that_does_not_train_keeps_as_much(small_graph, tmp_path):
    kind, own = method_class("untrained"), torch.nn.Linear(12, 4)

    class Own(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.own = own

        def forward(self, x, edge_index):
            return self.own(x)

    model = kind(Own()).fit(small_graph, out=tmp_path / "run")
    assert model.info_.facts["backbone"].startswith("Own(") and model.info_.finished
    assert np.array_equal(kind.load(tmp_path / "run", Own()).transform(small_graph), model.transform(small_graph))
    with pytest.raises(SignnapError, match="a run is resumed from its folder: give out as well"):
        kind().fit(small_graph, resume=True)
    with pytest.raises(SignnapError, match="untrained has no iterations to profile"):
        kind().fit(small_graph, profile=True, out=tmp_path / "other")
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("shown", [False, True])
def test_how_far_a_method_is_that_does_not_train(shown, small_graph, capsys, monkeypatch):
    monkeypatch.setattr("signnap.methods.arwmf._COLUMNS", 15)  # three blocks of 40 nodes
    told, model = [], method_class("arwmf")(dim=4, passes=2)
    model.fit_seeds(small_graph, [0, 1], progress=shown, report=lambda done, words="": told.append(done))
    assert told == list(range(1, 13)) and model.num_steps(model.settings_for(None), 40) == 6
    err = capsys.readouterr().err
    assert err.startswith("block 12/12  ") == shown and len(err.splitlines()) == shown


def test_a_folder_is_held_while_a_method_that_does_not_train_computes(small_graph, tmp_path, monkeypatch):
    kind, found = method_class("raw"), []
    compute = kind.compute_encoder

    def interrupted(self, settings, graph, report):
        monkeypatch.setattr(kind, "compute_encoder", compute)
        with pytest.raises(SignnapError, match="is being written by another process"):
            kind().fit(small_graph, out=tmp_path / "run")
        found.append(True)
        raise KeyboardInterrupt

    monkeypatch.setattr(kind, "compute_encoder", interrupted)
    with pytest.raises(KeyboardInterrupt):
        kind().fit(small_graph, out=tmp_path / "run")
    assert found and not (tmp_path / "run").exists()


@pytest.mark.parametrize("seeds", [5, None, [[1], [2]]])
def test_seeds_that_are_none(seeds, small_graph):
    with pytest.raises(SignnapError, match=r"^the encoder seeds are .*: expected a list of whole numbers$"):
        SIGNNAP(**SMALL).fit_seeds(small_graph, seeds)


def test_seeds_may_come_one_by_one(small_graph):
    models = SIGNNAP(**SMALL).fit_seeds(small_graph, (seed for seed in (3, 1)))
    assert [model.settings_.seed for model in models] == [3, 1]


def test_tasks_and_runs_take_what_load_graph_takes():
    assert SIGNNAP(**SMALL).task("synthetic").view.pattern.num_nodes == 3000
    assert SIGNNAP(**SMALL).run("synthetic").task.view.pattern.num_nodes == 3000


def test_one_class_cannot_be_told_from_others():
    rng = np.random.default_rng(0)
    edges, x = rng.integers(0, 60, (2, 150)), rng.random((60, 4))
    alike = Graph.from_edges(*edges, x, y=torch.zeros(60, dtype=torch.long), name="alike")
    with pytest.raises(SignnapError, match=r"^all training nodes of alike have one class: supervised needs at least"):
        method_class("supervised")(dim=8, iterations=2, split="per-class:5:5").fit(alike)
