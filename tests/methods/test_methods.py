"""One contract, every method: what comes out, by which seed, from which labels (none), and how it is kept."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from signnap import Graph, load_graph, load_method, make_split, method_class
from signnap.config import read_toml
from signnap.errors import SignnapError
from signnap.methods import capabilities
from signnap.registry import METHODS
from signnap.train.run_folder import RunFolder

QUICK = {"dim": 8, "hidden": 8, "projector": 8, "negatives": 16, "temperature": 0.5, "iterations": 6}
TRAINED = [name for name in METHODS if method_class(name).trains]


def quick(name, **settings):
    """A small model of this method."""
    kind = method_class(name)
    small = {k: v for k, v in QUICK.items() if k in kind.parameters()}
    return kind(**small | ({"split": "per-class:5:5"} if kind.uses_labels else {}) | settings)


@pytest.mark.parametrize("name", METHODS)
def test_finite_rows_in_the_graph_s_order_and_one_seed_one_result(name, small_graph, sparse_graph):
    for graph in (small_graph, sparse_graph):
        model = quick(name).fit(graph)
        z = model.transform(graph)
        assert z.shape[0] == graph.num_nodes and z.dtype == np.float32 and np.isfinite(z).all()
        assert torch.equal(model.embed(graph), torch.from_numpy(z))
        assert np.array_equal(quick(name).fit(graph).transform(graph), z)
        if not model.inductive or not model.equivariant:
            continue
        nodes = torch.randperm(graph.num_nodes, generator=torch.Generator().manual_seed(0))
        np.testing.assert_allclose(model.transform(graph.subgraph(nodes)), z[nodes.numpy()], atol=1e-5)


@pytest.mark.parametrize("name", [*TRAINED, "untrained"])
def test_another_seed_another_result(name, small_graph):
    assert not np.allclose(quick(name).fit_transform(small_graph), quick(name, seed=1).fit_transform(small_graph))


def weights_of(model, graph):
    """All weights with which training begins: those of the encoder, and of what is trained along."""
    return model.task(model.training_view(graph, model.settings_for(graph.name).split)).modules.state_dict()


@pytest.mark.parametrize("name", TRAINED)
def test_all_first_weights_are_those_of_the_seed(name, small_graph):
    one, again, other = (weights_of(quick(name, seed=seed), small_graph) for seed in (0, 0, 1))
    drawn = {part for part, value in one.items() if value.double().std(correction=0) > 0}
    assert all(torch.equal(one[part], again[part]) for part in drawn)
    assert {part for part in drawn if torch.equal(one[part], other[part])} == set()
    encoder = quick(name).untrained(small_graph).encoder_.state_dict()
    assert all(torch.equal(one[f"encoder.{part}"], value) for part, value in encoder.items())


@pytest.mark.parametrize("name", [*TRAINED, "untrained"])
def test_another_seed_another_start(name, small_graph):
    one, other = (quick(name, seed=seed).untrained(small_graph).transform(small_graph) for seed in (0, 1))
    assert not np.allclose(one, other)


@pytest.mark.parametrize("name", METHODS)
def test_seeds_together(name, small_graph, tmp_path):
    models = quick(name).fit_seeds(small_graph, [4, 2], out=tmp_path)
    for model, seed in zip(models, (4, 2), strict=True):
        alone = quick(name, seed=seed).fit(small_graph)
        assert np.array_equal(model.transform(small_graph), alone.transform(small_graph))
        kept = load_method(tmp_path / f"seed-{seed}")
        assert np.array_equal(kept.transform(small_graph), alone.transform(small_graph))


UNLABELLED = [name for name in METHODS if not method_class(name).uses_labels]


@pytest.mark.parametrize("name", UNLABELLED)
def test_labels_are_absent(name, small_graph, monkeypatch):
    kind, seen = method_class(name), []
    run, compute = kind.build_run, kind.compute_encoder
    if kind.trains:
        spy = lambda self, settings, graph: seen.append(graph.y) or run(self, settings, graph)
        monkeypatch.setattr(kind, "build_run", spy)
    else:
        spy = lambda self, settings, graph, report: seen.append(graph.y) or compute(self, settings, graph, report)
        monkeypatch.setattr(kind, "compute_encoder", spy)
    with_labels = quick(name).fit(small_graph).transform(small_graph)
    assert seen == [None]
    assert np.array_equal(quick(name).fit(small_graph.without_labels()).transform(small_graph), with_labels)


@pytest.mark.parametrize("name", METHODS)
def test_kept_loaded_and_told_apart(name, small_graph, tmp_path):
    model = quick(name).fit(small_graph, out=tmp_path / "run")
    config = read_toml(tmp_path / "run" / "config.toml")
    assert config["method"] == name and config["split"] == ("none" if name in UNLABELLED else "per-class:5:5")
    assert json.loads((tmp_path / "run" / "run.json").read_text())["finished"]
    loaded = load_method(tmp_path / "run")
    assert type(loaded) is type(model)
    assert np.array_equal(loaded.transform(small_graph), model.transform(small_graph))
    with pytest.raises(SignnapError, match="already holds a run"):
        quick(name).fit(small_graph, out=tmp_path / "run")
    other = next(n for n in METHODS if METHODS[n] is not METHODS[name])
    with pytest.raises(SignnapError):
        method_class(other).load(tmp_path / "run")


@pytest.mark.parametrize("name", TRAINED)
def test_resumed_runs_equal_whole_ones(name, small_graph, tmp_path):
    whole = quick(name, iterations=7).fit(small_graph)

    def stop(iteration, words):
        if iteration == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        quick(name, iterations=7).fit(small_graph, out=tmp_path, report=stop, save_every=0)
    assert RunFolder(tmp_path).load_state()["iteration"] == 3
    rest = quick(name, iterations=7).fit(small_graph, out=tmp_path, resume=True)
    assert np.array_equal(rest.transform(small_graph), whole.transform(small_graph))
    losses = [record["loss"] for record in RunFolder(tmp_path).read_metrics()]
    assert np.isfinite(losses).all()


@pytest.mark.parametrize("name", TRAINED)
def test_more_iterations_equal_a_whole_run_or_are_refused(name, small_graph, tmp_path):
    quick(name, iterations=4, schedule="constant").fit(small_graph, out=tmp_path)
    longer = quick(name, iterations=7, schedule="constant")
    if not method_class(name).extendable:
        with pytest.raises(SignnapError, match=f"cannot resume, since {name} depends on how many there will be$"):
            longer.fit(small_graph, out=tmp_path, resume=True)
        return
    whole = quick(name, iterations=7, schedule="constant").fit(small_graph)
    assert np.array_equal(
        longer.fit(small_graph, out=tmp_path, resume=True).transform(small_graph), whole.transform(small_graph)
    )


INDUCTIVE = [name for name in METHODS if method_class(name).inductive]


@pytest.mark.parametrize("name", [name for name in METHODS if name not in INDUCTIVE])
def test_transductive_methods_embed_their_own_graph_only(name, small_graph, sparse_graph):
    model = quick(name).fit(small_graph)
    with pytest.raises(SignnapError, match=f"{name} embeds only the graph that it was trained on"):
        model.transform(small_graph.subgraph(torch.arange(small_graph.num_nodes).flip(0)))
    with pytest.raises(SignnapError, match=f"{name} embeds only nodes that it was trained on"):
        quick(name, split="inductive:per-class:5:5").fit(small_graph)


@pytest.mark.parametrize("name", [name for name in INDUCTIVE if name in UNLABELLED])
def test_inductive_methods_see_the_training_nodes_only(name, small_graph):
    split = "inductive:per-class:5:5"
    seen = make_split(small_graph, split).training_graph(small_graph)
    model = quick(name, split=split).fit(small_graph)
    assert model.info_.num_nodes == seen.num_nodes < small_graph.num_nodes
    assert np.array_equal(model.transform(small_graph), quick(name).fit(seen).transform(small_graph))


@pytest.mark.parametrize("name", METHODS)
def test_scikit_learn_s_manners(name):
    model = quick(name, seed=3)
    twin = clone(model)
    assert twin.get_params() == model.get_params() and twin is not model
    with pytest.raises(SignnapError, match="unknown parameter 'seeed', did you mean 'seed'"):
        model.set_params(seeed=1)
    with pytest.raises(SignnapError, match="not fitted yet"):
        model.transform("synthetic")
    with pytest.raises(SignnapError, match="not fitted yet"):
        model.embed_view(load_graph("synthetic").view())
    with pytest.raises(SignnapError, match=f"this is '{name}'"):
        model.set_params(method="another")


@pytest.mark.parametrize("name", METHODS)
def test_a_step_of_a_pipeline(name, small_graph):
    model, labels = quick(name), small_graph.y.numpy()
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    pipeline = make_pipeline(model, StandardScaler())
    assert type(model).__name__ in repr(pipeline)
    z = StandardScaler().fit_transform(quick(name).fit_transform(small_graph))
    for y in (None, labels, labels[::-1]):  # whoever has labels puts them into the graph
        assert np.array_equal(pipeline.fit_transform(small_graph, y), z)
    check_is_fitted(model)


@pytest.mark.parametrize("name", METHODS)
def test_labels_beside_the_graph_are_ignored(name, small_graph):
    z, labels = quick(name).fit_transform(small_graph), small_graph.y.numpy()[::-1].copy()
    assert np.array_equal(quick(name).fit(small_graph, labels).transform(small_graph), z)
    assert np.array_equal(quick(name).fit_transform(small_graph, labels), z)


def test_where_nothing_is_trained_there_is_nothing_to_profile(small_graph, tmp_path):
    with pytest.raises(SignnapError, match="raw has no iterations to profile"):
        quick("raw").fit(small_graph, out=tmp_path / "run", profile=True)
    with pytest.raises(SignnapError, match="none twice"):
        quick("raw").fit_seeds(small_graph, [1, 1], out=tmp_path / "runs")
    assert not list(tmp_path.iterdir())


def test_svd_keeps_what_it_can(small_graph):
    z = quick("svd", dim=12).fit_transform(small_graph)
    x = small_graph.view().x
    wanted = torch.linalg.svdvals(x if isinstance(x, torch.Tensor) else x.dense())
    np.testing.assert_allclose(np.linalg.norm(z, axis=0), wanted.numpy(), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", METHODS)
def test_whether_features_matter(name, small_graph):
    other = replace(small_graph, x=small_graph.x.flip(1) ** 2)
    one, two = (quick(name).fit_transform(graph) for graph in (small_graph, other))
    same = one.shape == two.shape and np.allclose(one, two, atol=1e-6)
    assert same != method_class(name).reads_features


def test_the_table_of_methods():
    rows = capabilities()
    assert [row["name"] for row in rows] == list(METHODS)
    for row in rows:
        assert set(row) == {"name", "uses_labels", "reads_features", "inductive", "memory", "time", "about"}
        assert row["about"].endswith(".") and "§" not in row["about"] and row["memory"] == "linear"
        assert row["time"] in ("linear", "quadratic")


class Largest(TorchDispatchMode):
    """Remembers how many bytes the largest tensor had that each operator returned."""

    def __init__(self):
        super().__init__()
        self.of = {}

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        found = operator(*args, **kwargs or {})
        for tensor in (leaf for leaf in tree_leaves(found) if isinstance(leaf, torch.Tensor)):
            sparse = tensor.layout != torch.strided
            size = tensor._nnz() * tensor.itemsize if sparse else tensor.untyped_storage().nbytes()
            self.of[str(operator)] = max(size, self.of.get(str(operator), 0))
        return found


def largest(name, nodes):
    """The same for the fit of a graph with so many nodes, and for embedding it."""
    rng = np.random.default_rng(0)
    x = rng.random((nodes, 10)).astype(np.float32)
    graph = Graph.from_edges(*rng.integers(0, nodes, (2, 3 * nodes)), x, y=torch.arange(nodes) % 3)
    small = {"iterations": 2, "walks": 1, "length": 8, "steps": 16, "size": 8, "positions": 4}
    model = quick(name, **{k: v for k, v in small.items() if k in method_class(name).parameters()})
    with Largest() as found:
        model.fit_transform(graph)
    return found.of


@pytest.mark.parametrize("name", [name for name in METHODS if method_class(name).memory == "linear"])
def test_memory_is_linear_where_a_method_says_so(name):
    nodes = 1200  # more than any tile or sample has rows; all pairs of the larger graph take 2400² bytes, or more
    once, twice = largest(name, nodes), largest(name, 2 * nodes)
    usual = max(once.values())
    grown = {of: (once.get(of), size) for of, size in twice.items() if size > 2.5 * once.get(of, usual)}
    assert {of: sizes for of, sizes in grown.items() if sizes[1] >= (2 * nodes) ** 2} == {}


@pytest.fixture
def double():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("name", METHODS)
def test_another_default_dtype_is_refused(name, small_graph, double):
    with pytest.raises(SignnapError, match=r"torch's default dtype is torch.float64: expected torch.float32"):
        quick(name).fit_transform(small_graph)
