"""How GRACE, GCA, G-BT and CCA-SSG are wired: settings reach views, encoder, loss and optimiser (spec §4.7 to §6)."""

import networkx as nx
import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy, normalize

from dense import matrix
from signnap import Graph
from signnap.graph import as_dense
from signnap.methods.bgrl import BGRL
from signnap.methods.contrastive import CCASSG, GCA, GRACE, GraphBarlowTwins
from signnap.methods.gcc import GCC
from signnap.methods.settings import resolve
from signnap.methods.supervised import DropEdgeSupervised
from sizes import Sizes

SMALL = {"dim": 8, "hidden": 16, "iterations": 3}
FOUR = pytest.mark.parametrize("kind", [GRACE, GCA, GraphBarlowTwins, CCASSG])
FIVE = pytest.mark.parametrize("kind", [GRACE, GCA, GraphBarlowTwins, CCASSG, BGRL])


def views_of(model, graph, steps=1):
    """The clean view, and the pairs of views that the encoder is given in so many steps."""
    task, seen = model.task(graph), []
    encode = task.encoder.encode
    task.encoder.encode = lambda views: seen.append(views) or encode(views)
    for _ in range(steps):
        task.step()
    return task.view, seen


def columns(view):
    """Which features are not masked."""
    return as_dense(view.x).any(dim=0)


# -- the views -------------------------------------------------------------------------------------------------------


@FIVE
def test_each_view_has_its_own_rates(kind, small_graph):
    rates = {"drop_edge": 0.0, "mask_features": 0.9, "drop_edge_2": 0.9, "mask_features_2": 0.0}
    clean, [(masked, dropped)] = views_of(kind(**SMALL, **rates), small_graph)
    assert torch.equal(masked.stored, clean.stored) and columns(masked).sum() < columns(clean).sum() == 12
    assert torch.equal(as_dense(dropped.x), as_dense(clean.x)) and len(dropped.present) < 0.5 * len(clean.present)


@FIVE
def test_every_entry_falls_by_itself(kind, small_graph):
    clean, pairs = views_of(kind(**SMALL, drop_edge=0.5, drop_edge_2=0.5), small_graph, steps=20)
    edges = matrix(clean.pattern, clean.stored).triu(1) != 0
    for views in zip(*pairs, strict=True):
        kept = [matrix(view.pattern, view.stored) != 0 for view in views]
        one_way = torch.stack([(there ^ there.t())[edges] for there in kept]).float().mean()
        assert one_way.item() == pytest.approx(0.5, abs=0.1)  # undirected: 0
        counts = torch.tensor([len(view.present) for view in views])
        assert len(counts.unique()) > 5  # exactly half of them: 1
        assert counts.float().mean().item() == pytest.approx(0.5 * len(clean.present), rel=0.2)


@pytest.fixture(scope="module")
def three_centres():
    """A star, a wheel and a clique: node 0 leads in PageRank, 7 in degree, 16 to 22 in the leading eigenvector.

    Every node has one feature, which is its own.
    """
    parts = nx.disjoint_union_all([nx.star_graph(6), nx.wheel_graph(9), nx.complete_graph(7)])
    return Graph.from_edges(*np.array(parts.edges).T, np.eye(23))


@pytest.mark.parametrize(
    ("centrality", "leaders"), [("degree", {7}), ("pagerank", {0}), ("eigenvector", set(range(16, 23)))]
)
def test_gca_spares_only_what_is_most_central(centrality, leaders, three_centres):
    rates = dict.fromkeys(["drop_edge", "drop_edge_2", "mask_features", "mask_features_2"], 0.5)
    clean, pairs = views_of(GCA(**SMALL, **rates, centrality=centrality), three_centres, steps=200)
    for views in zip(*pairs, strict=True):
        lost = sum(view.stored == 0 for view in views).bool().index_fill(0, clean.pattern.diagonal.long(), False)
        assert set(range(23)) - set(clean.pattern.rows[lost].tolist()) == leaders
        assert set(torch.stack([columns(view) for view in views]).all(dim=0).nonzero().flatten().tolist()) == leaders


def test_dropedge_keeps_exactly_seven_tenths_in_training_and_all_in_validation(small_graph):
    model = DropEdgeSupervised(dim=8, split="per-class:5:5")
    task, seen = model.task(model.training_view(small_graph, "per-class:5:5")), []
    task.modules["encoder"].register_forward_pre_hook(lambda encoder, inputs: seen.append(len(inputs[0].present)))
    for _ in range(5):
        task.step()
    stored = len(task.view.present)
    assert seen == [stored, 7 * stored // 10] * 5


# -- the encoder -----------------------------------------------------------------------------------------------------


def described(encoder):
    """The shape of every convolution, and what follows it."""
    return [part for layer in encoder.layers for part in (tuple(layer.weight.shape), *map(type, layer.then))]


@pytest.mark.parametrize(
    ("kind", "settings", "wanted"),
    [
        (GRACE, {}, [(12, 16), nn.PReLU, (16, 8), nn.PReLU]),
        (GCA, {"activation": "rrelu"}, [(12, 16), nn.LeakyReLU, (16, 8), nn.LeakyReLU]),
        (GraphBarlowTwins, {}, [(12, 16), nn.BatchNorm1d, nn.PReLU, (16, 8)]),
        (CCASSG, {}, [(12, 16), nn.ReLU, (16, 8)]),
        (CCASSG, {"propagate": False}, [(12, 16), nn.BatchNorm1d, nn.ReLU, (16, 8)]),
        (CCASSG, {"layers": 3, "activation": "elu"}, [(12, 16), nn.ELU, (16, 16), nn.ELU, (16, 8)]),
    ],
)
def test_layers_of_the_spec(kind, settings, wanted):
    model = kind(**SMALL, **settings)
    assert described(model.build_encoder(model.settings_for(None), Sizes(40, 12, 0))) == wanted


def test_running_statistics_of_g_bt_move_by_a_hundredth_per_view(small_graph):
    task = GraphBarlowTwins(**SMALL, drop_edge=0, drop_edge_2=0, mask_features=0, mask_features_2=0).task(small_graph)
    task.modules.train()
    first = task.encoder.layers[0]
    entering = task.view.symmetric(as_dense(task.view.x) @ first.weight) + first.bias
    task.step()
    wanted = (1 - 0.99**2) * entering.mean(dim=0)  # both views are the clean one
    torch.testing.assert_close(first.then[0].running_mean, wanted, rtol=1e-4, atol=1e-7)


@FOUR
def test_embeddings_are_what_the_encoder_says_and_of_length_one_in_grace_and_gca(kind, small_graph):
    model = kind(**SMALL).fit(small_graph)
    with torch.no_grad():
        h = model.encoder_.eval()(model.view(small_graph))
    z = torch.from_numpy(model.transform(small_graph))
    assert not torch.allclose(h.norm(dim=1), torch.ones(40), atol=0.01)
    torch.testing.assert_close(z, normalize(h, dim=1) if kind in (GRACE, GCA) else h)


# -- the loss and the optimiser --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [GRACE, GCA])
def test_projections_are_told_apart_at_the_temperature(kind, small_graph):
    task = kind(**SMALL, projector=5, temperature=0.3).task(small_graph)
    assert [tuple(part.weight.shape) for part in task.objective.projector[::2]] == [(5, 8), (8, 5)]
    step = task.step()
    w = normalize(task.objective.projector(torch.cat(step.outputs[:2])), dim=1)
    scores = (w @ w.t() / 0.3).fill_diagonal_(-torch.inf)
    torch.testing.assert_close(step.total, cross_entropy(scores, torch.arange(80).roll(40)))


def test_whitening_weighs_the_second_term_of_cca_ssg(small_graph):
    zero, one, two = (CCASSG(**SMALL, whitening=w).task(small_graph).step().numbers for w in (0.0, 0.5, 1.0))
    assert zero["loss_1"] == one["loss_1"] == two["loss_1"] == zero["loss"]
    assert zero["loss_2"] == 0 < one["loss_2"] and two["loss_2"].item() == pytest.approx(2 * one["loss_2"].item())
    assert two["loss"].item() == pytest.approx((two["loss_1"] + two["loss_2"]).item())


@pytest.mark.parametrize("kind", [GRACE, CCASSG, BGRL, GCC])
def test_no_gradient_is_longer_than_clip(kind, small_graph):
    def length(clip):
        run = kind(**SMALL, clip=clip).run(small_graph)
        run.advance()
        return torch.cat([p.grad.flatten() for p in run.task.modules.parameters() if p.grad is not None]).norm().item()

    free = length(0.0)
    assert length(0.1 * free) == pytest.approx(0.1 * free, rel=1e-3)
    assert length(10 * free) == pytest.approx(free, rel=1e-3)


# -- the authors' settings (spec §6) ---------------------------------------------------------------------------------

GRAPHS = ("amazon_computers", "amazon_photo", "coauthor_cs", "coauthor_physics")
#: what the table says of each of these graphs, in this order
GCA_TABLE = {
    "lr": (0.01, 0.1, 5e-4, 0.01), "dim": (128, 256, 256, 128), "hidden": (256, 512, 512, 256),
    "projector": (128, 64, 256, 64), "activation": ("rrelu", "relu", "rrelu", "rrelu"),
    "drop_edge": (0.6, 0.3, 0.3, 0.4), "drop_edge_2": (0.3, 0.5, 0.2, 0.1),
    "mask_features": (0.2, 0.1, 0.3, 0.1), "mask_features_2": (0.3, 0.1, 0.4, 0.4),
    "temperature": (0.2, 0.3, 0.4, 0.5), "iterations": (2000, 2000, 1000, 1500), "weight_decay": (1e-5,) * 4,
}  # fmt: skip
CCA_DROP, CCA_MASK, BARLOW_DROP, BARLOW_MASK = (
    (0.3, 0.3, 0.2, 0.5), (0.1, 0.2, 0.2, 0.5), (0.4, 0.1, 0.5, 0.5), (0.1, 0.3, 0.2, 0.2),
)  # fmt: skip
ADAMW = {"weight_decay": (1e-5,) * 4, "decoupled_decay": (True,) * 4, "schedule": ("cosine:0.1",) * 4}
TABLE = {
    "gca": GCA_TABLE,
    "grace": GCA_TABLE,
    "bgrl": {
        "hidden": (256, 256, 512, 256), "dim": (128, 128, 256, 128), "lr": (5e-4, 1e-4, 1e-5, 1e-5),
        "drop_edge": (0.5, 0.4, 0.3, 0.4), "drop_edge_2": (0.4, 0.1, 0.2, 0.1),
        "mask_features": (0.2, 0.1, 0.3, 0.1), "mask_features_2": (0.1, 0.2, 0.4, 0.4),
        "activation": ("prelu",) * 4, "iterations": (10000,) * 4, **ADAMW,
    },
    "g-bt": {
        "dim": (128, 256, 256, 128), "hidden": (256, 512, 512, 256), "lr": (5e-4, 1e-4, 1e-5, 1e-5),
        "drop_edge": BARLOW_DROP, "drop_edge_2": BARLOW_DROP,
        "mask_features": BARLOW_MASK, "mask_features_2": BARLOW_MASK,
        "activation": ("prelu",) * 4, "iterations": (1000,) * 4, **ADAMW,
    },
    "cca-ssg": {
        "whitening": (5e-4, 1e-3, 1e-3, 1e-3), "iterations": (50, 50, 50, 100), "lr": (1e-3,) * 4,
        "drop_edge": CCA_DROP, "drop_edge_2": CCA_DROP, "mask_features": CCA_MASK, "mask_features_2": CCA_MASK,
        "dim": (512,) * 4, "hidden": (512,) * 4, "layers": (2,) * 4, "activation": ("relu",) * 4,
        "weight_decay": (0.0,) * 4, "decoupled_decay": (False,) * 4, "propagate": (True, True, False, True),
    },
}  # fmt: skip


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("method", TABLE)
def test_the_authors_settings(method, graph):
    wanted = {name: values[GRAPHS.index(graph)] for name, values in TABLE[method].items()}
    found = resolve({"method": method}, dataset=graph)
    assert {name: getattr(found, name) for name in wanted} == wanted


@pytest.mark.parametrize(
    ("method", "graph", "wanted"),
    [
        ("gca", None, (0.01, 256, 512, "prelu", 0.3, 0.4, 0.1, 0.0, 3000, 32, 0.4, "degree")),
        ("grace", "pubmed", (0.001, 256, 512, "relu", 0.4, 0.1, 0.0, 0.2, 1500, 256, 0.7)),
        ("cca-ssg", "pubmed", (0.001, 512, 512, "relu", 0.5, 0.5, 0.3, 0.3, 100, 1e-3)),
    ],
)
def test_below_the_table(method, graph, wanted):
    shared = ["lr", "dim", "hidden", "activation", "drop_edge", "drop_edge_2", "mask_features", "mask_features_2"]
    own = {"cca-ssg": ["whitening"], "grace": ["projector", "temperature"]}
    own["gca"] = [*own["grace"], "centrality"]
    found = resolve({"method": method}, dataset=graph)
    assert tuple(getattr(found, name) for name in [*shared, "iterations", *own[method]]) == wanted
