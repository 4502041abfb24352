"""SIGNNAP with scikit-learn's manners: what it returns, what it may see, and what it refuses."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.base import clone

from signnap import SIGNNAP, Graph, load_graph, make_split
from signnap.encoders.init import redraw
from signnap.encoders.wrap import build_encoder
from signnap.errors import SignnapError
from signnap.graph import SparseFeatures, as_dense
from signnap.registry import ENCODERS

# -- fit and transform -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backbone", ENCODERS)
@pytest.mark.parametrize("settings", [{}, {"objective": "infonce", "noise": "gaussian:0.01", "mask_features": 0.2}])
def test_shapes_and_kinds(backbone, settings, small_graph, sparse_graph, fitted):
    for graph in (small_graph, sparse_graph):
        model = fitted(graph, backbone, temperature=0.5, **settings)
        z = model.transform(graph)
        assert z.shape == (graph.num_nodes, 8)
        assert z.dtype == np.float32
        assert np.isfinite(z).all()
        assert np.array_equal(model.transform(graph), z)  # no dropout, no perturbation


def test_fit_transform_is_fit_and_transform(small_graph, fitted):
    z = SIGNNAP(dim=8, negatives=16, iterations=4).fit_transform(small_graph)
    assert np.array_equal(z, fitted(small_graph).transform(small_graph))


def test_seeds(small_graph, fitted, same_weights):
    assert same_weights(fitted(small_graph), fitted(small_graph))
    assert not same_weights(fitted(small_graph), fitted(small_graph, seed=1))
    model = SIGNNAP(dim=8, negatives=16, iterations=4)
    assert same_weights(model.fit(small_graph), fitted(small_graph))
    first = model.encoder_
    assert same_weights(model.fit(small_graph), fitted(small_graph)) and model.encoder_ is not first


@pytest.mark.parametrize("backbone", ENCODERS)
def test_seeds_trained_together_are_those_trained_alone(backbone, small_graph, fitted, same_weights, tmp_path):
    model = SIGNNAP(backbone, dim=8, negatives=16, iterations=4)
    together = model.fit_seeds(small_graph, [3, 1, 4], out=tmp_path)
    assert [m.settings_.seed for m in together] == [3, 1, 4] and not hasattr(model, "encoder_")
    for each in together:
        alone = fitted(small_graph, backbone, seed=each.settings_.seed)
        assert same_weights(each, alone) and each.outcome_.numbers == alone.outcome_.numbers
        assert same_weights(SIGNNAP.load(tmp_path / f"seed-{each.settings_.seed}"), alone)


def test_seeds_share_the_graph_and_its_features(small_graph, sparse_graph):
    for graph in (small_graph, sparse_graph):
        views = [SIGNNAP(seed=seed).task(graph).view for seed in range(2)]
        assert views[0].x is views[1].x and views[0].pattern is views[1].pattern


@pytest.mark.parametrize("seeds", [[], [1, 1]])
def test_seeds_are_some_and_distinct(seeds, small_graph):
    with pytest.raises(SignnapError, match="expected at least one, and none twice"):
        SIGNNAP().fit_seeds(small_graph, seeds)


def test_training_improves_the_loss(small_graph, fitted):
    start, end = fitted(small_graph, iterations=1).outcome_, fitted(small_graph, iterations=150).outcome_
    assert end.numbers["loss"] < 0.9 * start.numbers["loss"]
    assert end.numbers["mutual_information_bound"] > start.numbers["mutual_information_bound"]


def test_a_graph_never_seen(small_graph, fitted):
    model = fitted(small_graph)
    rng = np.random.default_rng(3)
    other = Graph.from_edges(*rng.integers(0, 9, (2, 20)), rng.random((9, 12)), name="other")
    z = model.transform(other)
    assert z.shape == (9, 8)
    rows, cols = small_graph.pattern.to_scipy().nonzero()
    more, further = other.pattern.to_scipy().nonzero()
    x = torch.cat([as_dense(small_graph.x), as_dense(other.x)])
    both = Graph.from_edges([*rows, *(more + 40)], [*cols, *(further + 40)], x, name="both")
    assert model.transform(both) == pytest.approx(np.concatenate([model.transform(small_graph), z]), abs=1e-5)


def test_order_of_nodes_is_the_graph_s(small_graph, fitted):
    model = fitted(small_graph)
    order = torch.randperm(40, generator=torch.Generator().manual_seed(0))
    z = model.transform(small_graph)
    assert model.transform(small_graph.subgraph(order)) == pytest.approx(z[order.numpy()], abs=1e-5)


def test_the_given_graph_is_not_changed(small_graph, fitted):
    before = small_graph.fingerprint()
    fitted(small_graph, noise="uniform:0.5").transform(small_graph)
    assert small_graph.fingerprint() == before
    assert small_graph.y is not None


def test_other_libraries_graphs(fitted):
    Data = pytest.importorskip("torch_geometric.data").Data
    ring = torch.arange(12)
    data = Data(x=torch.eye(12), edge_index=torch.stack([ring, ring.roll(1)]))
    assert fitted(data).transform(data).shape == (12, 8)


# -- what training may see -------------------------------------------------------------------------------------------


class Untouchable(torch.Tensor):
    """Labels that complain when anything is computed from them."""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        raise AssertionError(f"{function} looked at the labels")


def test_labels_are_never_looked_at(small_graph, fitted, same_weights):
    guarded = replace(small_graph, y=small_graph.y.as_subclass(Untouchable))
    with pytest.raises(AssertionError, match="looked at the labels"):
        _ = guarded.num_classes
    model = fitted(guarded)
    assert same_weights(model, fitted(small_graph))
    assert same_weights(model, fitted(small_graph.without_labels()))
    assert np.array_equal(model.transform(guarded), model.transform(small_graph))


def test_labels_do_not_even_reach_the_task(small_graph, monkeypatch, fitted):
    seen = []
    run = SIGNNAP.build_run
    spy = lambda self, settings, graph: seen.append(graph) or run(self, settings, graph)
    monkeypatch.setattr(SIGNNAP, "build_run", spy)
    graph = replace(small_graph, classes=("a", "b", "c"), given_split={"train": torch.arange(3)})
    fitted(graph)
    assert [(g.y, g.classes, g.given_split) for g in seen] == [(None, (), None)]


def test_inductive_training_sees_the_training_nodes_only(small_graph, fitted, same_weights):
    split = "inductive:random:0.5:0.2"
    parts = make_split(small_graph, split)
    train = parts.train.numpy()
    hidden = np.setdiff1d(np.arange(40), train)
    rows, cols = small_graph.pattern.to_scipy().nonzero()
    kept = np.isin(rows, train) & np.isin(cols, train)
    x = as_dense(small_graph.x).numpy().copy()
    x[hidden] = 9
    more = np.random.default_rng(0).choice(hidden, 30), np.random.default_rng(1).choice(40, 30)
    source, target = np.concatenate([rows[kept], more[0]]), np.concatenate([cols[kept], more[1]])
    other = Graph.from_edges(source, target, x, y=small_graph.y, name="small")
    assert other.fingerprint() != small_graph.fingerprint()

    model = fitted(small_graph, split=split)
    assert same_weights(model, fitted(other, split=split))
    assert same_weights(model, fitted(parts.training_graph(small_graph)))
    assert not same_weights(model, fitted(small_graph))
    assert model.info_.num_nodes == len(train)
    assert model.transform(small_graph).shape == (40, 8)


@pytest.mark.parametrize("backbone", ENCODERS)
def test_sparse_features_stay_sparse(backbone, sparse_graph, monkeypatch, fitted):
    def dense(*_):
        raise AssertionError("sparse features were made dense")

    monkeypatch.setattr(SparseFeatures, "dense", dense)
    model = fitted(sparse_graph, backbone, temperature=0.5, mask_features=0.2)
    model.transform(sparse_graph)


# -- graphs at the edge ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backbone", ENCODERS)
@pytest.mark.parametrize("objective", ["nce", "infonce"])
@pytest.mark.parametrize("share", [0, 1, 64])
def test_one_node(backbone, objective, share, fitted):
    lonely = Graph.from_edges([], [], np.ones((1, 3)), name="lonely")
    z = fitted(lonely, backbone, objective=objective, share=share).transform(lonely)
    assert z.shape == (1, 8) and np.isfinite(z).all()


@pytest.mark.parametrize("backbone", ENCODERS)
def test_no_edges(backbone, fitted):
    loose = Graph.from_edges([], [], np.random.default_rng(0).random((20, 5)), name="loose")
    assert np.isfinite(fitted(loose, backbone, temperature=0.5).transform(loose)).all()


def test_no_features(tmp_path, fitted):
    (tmp_path / "edges.csv").write_text("a,b\nb,c\nc,d\nd,b\nx,y\n")
    (tmp_path / "other.csv").write_text("1,2\n2,3\n")
    model = fitted(tmp_path / "edges.csv")
    assert model.transform(tmp_path / "edges.csv").shape == (6, 8)
    assert model.transform(tmp_path / "other.csv").shape == (3, 8)  # structural features are the same for all graphs


@pytest.mark.parametrize("backbone", ENCODERS)
@pytest.mark.parametrize("scale", [1, 100])
def test_defaults_stay_finite_on_a_small_graph(backbone, scale, small_graph):
    graph = replace(small_graph, x=scale * as_dense(small_graph.x))
    settings = {} if scale == 1 else {"normalize_features": False}
    model = SIGNNAP(backbone, iterations=40, **settings).fit(graph)
    assert np.isfinite(model.transform(graph)).all()


def test_fewer_nodes_than_negatives(small_graph, fitted):
    for share in (0, 1, 64):
        assert np.isfinite(fitted(small_graph, negatives=100, share=share).transform(small_graph)).all()


# -- scikit-learn's manners, and what is refused ---------------------------------------------------------------------


def test_params(small_graph):
    model = SIGNNAP("sage", dim=8, lr=0.01)
    params = model.get_params()
    assert (params["backbone"], params["dim"], params["lr"], params["layers"]) == ("sage", 8, 0.01, None)
    assert model.set_params(dim=4, objective="infonce") is model
    assert repr(model) == "SIGNNAP(dim=4, lr=0.01, backbone='sage', objective='infonce', preset='paper')"
    twin = clone(model)
    assert twin is not model and twin.get_params() == model.get_params()
    assert twin.settings_for("pubmed") == model.settings_for("pubmed")
    assert not hasattr(clone(model.set_params(negatives=16, iterations=1).fit(small_graph)), "encoder_")


def test_numpy_numbers_are_numbers():
    settings = SIGNNAP(dim=np.int64(8), lr=np.float32(0.5), normalize_features=np.bool_(False)).settings_for(None)
    assert (settings.dim, settings.lr, settings.normalize_features) == (8, 0.5, False)
    assert type(settings.dim) is int


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"dims": 3}, "unknown parameter 'dims', did you mean 'dim'? Known: "),
        ({"dim": [3]}, "the settings: dim is [3]: expected a whole number"),
        ({"backbone": "jknt"}, "unknown backbone 'jknt', did you mean 'jknet'?"),
        ({"backbone": 3}, "backbone is 3: expected a name, or a Module of your own"),
        ({"objective": torch.nn.Linear}, "objective is <class"),
        ({"preset": "papr"}, "unknown preset 'papr', did you mean 'paper'?"),
        ({"preset": None}, "unknown preset None. Known: paper"),
        ({"backbone": "gat", "dim": 10}, "dim is 10 with 8 heads: expected a multiple of the number of heads"),
        ({"noise": "gausian:1"}, "unknown noise 'gausian', did you mean 'gaussian'?"),
        ({"noise": "gaussian:big"}, "noise is 'gaussian:big': expected a kind and a scale such as gaussian:0.01"),
        ({"drop_law": "exat"}, "unknown law of edge dropping 'exat', did you mean 'exact'?"),
        ({"split": "inductive:halves"}, "cannot read the split 'inductive:halves': expected paper, public"),
        ({"split": "random:0.5:0.2"}, "split is 'random:0.5:0.2': expected none, or inductive:SPLIT"),
    ],
)
def test_what_cannot_be_trained_is_one_sentence_and_leaves_no_folder(arguments, sentence, small_graph, tmp_path):
    with pytest.raises(SignnapError) as caught:
        SIGNNAP(**{"iterations": 1} | arguments).fit(small_graph, out=tmp_path / "run")
    assert str(caught.value).startswith(sentence)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_not_fitted_yet(small_graph, tmp_path):
    for call in (lambda m: m.transform(small_graph), lambda m: m.save(tmp_path), lambda m: m.view(small_graph)):
        with pytest.raises(SignnapError, match=r"^this SIGNNAP is not fitted yet: call fit first$"):
            call(SIGNNAP())


def test_other_features_are_refused(small_graph, fitted):
    model = fitted(small_graph)
    other = Graph.from_edges([0], [1], np.ones((3, 5)), name="other")
    with pytest.raises(SignnapError, match=r"^the model was trained on 12 features, but other has 5$"):
        model.transform(other)
    named = replace(small_graph, feature_names=tuple("abcdefghijkl"))
    model = fitted(named)
    assert model.transform(named) == pytest.approx(model.transform(small_graph))  # no names, no complaint
    with pytest.raises(SignnapError, match=r"^the model was trained on column 'b', which small does not have$"):
        model.transform(replace(named, feature_names=tuple("acxdefghijkl")))


def test_the_embedded_graph_by_name(fitted):
    model = fitted("synthetic")
    assert model.info_.graph == "synthetic"
    assert model.transform("synthetic").shape == (load_graph("synthetic").num_nodes, 8)


def test_how_to_learn_reaches_the_run(small_graph):
    settings = {"lr": 0.25, "weight_decay": 0.125, "decoupled_decay": True, "clip": 0.5, "patience": 7}
    run = SIGNNAP(dim=8, negatives=16, **settings).run(small_graph)
    assert type(run.optimizer) is torch.optim.AdamW
    assert [(group["lr"], group["weight_decay"]) for group in run.optimizer.param_groups] == [(0.25, 0.125)]
    assert run.clip == 0.5 and run.best.patience == 7
    plain = SIGNNAP(dim=8, negatives=16).run(small_graph)
    assert type(plain.optimizer) is torch.optim.Adam and plain.clip == 0 and plain.best is None


def test_another_graph_is_read_as_the_training_graph_was(small_graph, fitted):
    model = fitted(small_graph)
    other = replace(small_graph, name="facebook")  # which would be trained with other values of edges and loops
    assert torch.equal(model.view(other).stored, model.view(small_graph).stored)
    assert np.array_equal(model.transform(other), model.transform(small_graph))


# -- the first weights -------------------------------------------------------------------------------------------------


def test_a_run_may_begin_a_rounding_away(small_graph):
    drawn, nudged = (SIGNNAP(dim=8, seed=3, init=init).untrained(small_graph) for init in ("seed", "nudged"))
    for before, after in zip(drawn.encoder_.parameters(), nudged.encoder_.parameters(), strict=True):
        assert torch.equal(after, torch.nextafter(before, torch.full_like(before, torch.inf)))


def test_a_run_may_begin_with_the_authors_weights(small_graph, fitted, same_weights, tmp_path):
    begun = [SIGNNAP(dim=8, init="authors:3", seed=seed).untrained(small_graph) for seed in range(2)]
    expected = build_encoder("gcn", in_dim=small_graph.num_features, dim=8)
    redraw(expected, 3)
    assert all(map(torch.equal, begun[0].encoder_.state_dict().values(), expected.state_dict().values()))
    assert same_weights(*begun) and not same_weights(begun[0], SIGNNAP(dim=8).untrained(small_graph))
    trained = [fitted(small_graph, init="authors:3", seed=seed) for seed in range(2)]
    assert not same_weights(*trained)  # views, negatives and dropout are still the seed's
    trained[1].save(tmp_path / "run")
    assert same_weights(SIGNNAP.load(tmp_path / "run"), trained[1])
