"""GCC and our variant with features: the invariants of spec §4.6, its loss, its batches and what it embeds."""

import math

import networkx as nx
import numpy as np
import pytest
import torch
from torch.nn.functional import normalize

from dense import source_of
from signnap import Graph
from signnap.errors import SignnapError
from signnap.methods.gcc import GCC, AttributedGCC, InBatch
from signnap.methods.settings import resolve
from signnap.train.run import Run
from signnap.walks.restart import Neighbours

QUICK = {"dim": 8, "hidden": 8, "batch": 10, "steps": 24, "size": 12, "positions": 4}
BOTH = pytest.mark.parametrize("kind", [GCC, AttributedGCC])


def test_the_settings_of_the_paper_s_comparison():
    found = resolve({"method": "gcc"}, dataset="pubmed")
    assert (found.lr, found.size, found.batch, found.temperature) == (0.005, 128, 32, 0.07)
    assert (found.dropout, found.hidden, found.dim, found.iterations) == (0.5, 64, 64, 1000)
    assert (found.steps, found.restart, found.positions, found.layers) == (256, 0.8, 32, 4)
    assert (found.weight_decay, found.clip, found.schedule) == (1e-5, 1.0, "linear:0.1")


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ({"steps": 0}, "steps is 0: expected a whole number of at least 1"),
        ({"size": 0}, "size is 0: expected a whole number of at least 1"),
        ({"batch": 0}, "batch is 0: expected a whole number of at least 1"),
        ({"positions": -1}, "positions is -1: expected a whole number of at least 0"),
        ({"restart": 1.5}, "restart is 1.5: expected a number from 0 to 1"),
    ],
)
def test_bad_settings_are_refused(setting, sentence):
    with pytest.raises(SignnapError, match=sentence):
        resolve({"method": "gcc", **setting})


# -- the loss --------------------------------------------------------------------------------------------------------


def test_the_loss_is_the_cross_entropy_of_finding_one_s_own():
    z1, z2 = normalize(torch.randn(2, 9, 4, generator=source_of(0), dtype=torch.float64), dim=2)
    losses = [
        -math.log(math.exp(z1[i] @ z2[i] / 0.2) / sum(math.exp(z1[i] @ other / 0.2) for other in z2)) for i in range(9)
    ]
    back = [
        -math.log(math.exp(z1[i] @ z2[i] / 0.2) / sum(math.exp(other @ z2[i] / 0.2) for other in z1)) for i in range(9)
    ]
    terms = InBatch(0.2, 9)(z1, z2, source_of(0))
    assert terms.total.item() == terms.parts["loss_1"].item() == pytest.approx(np.mean(losses), rel=1e-12)
    assert terms.parts["loss_2"].item() == pytest.approx(np.mean(back), rel=1e-12)
    assert terms.mutual_information_bound.item() == pytest.approx(math.log(9) - np.mean(losses), rel=1e-12)


def test_embeddings_that_tell_nothing_apart_are_at_chance():
    objective, same = InBatch(0.07, 16), normalize(torch.ones(16, 4), dim=1)
    assert objective(same, same, source_of(0)).total.item() == pytest.approx(math.log(16), rel=1e-6)
    assert objective.chance() == pytest.approx(math.log(16))


@BOTH
def test_the_same_subgraphs_twice_beat_chance(kind, small_graph):
    task = kind(**QUICK | {"batch": 40}).task(small_graph)
    task.encoder.eval()
    drawn = task.encoder.draw(task.neighbours, torch.arange(40), source_of(0))
    z = task.encoder.read(drawn, task.encoder.shared(task.view), source_of(0))
    torch.testing.assert_close(z.norm(dim=1), torch.ones(40))
    assert len(z.detach().round(decimals=4).unique(dim=0)) > 30  # the subgraphs are distinct
    assert task.objective(z, z, source_of(0)).total < math.log(40)


# -- the task --------------------------------------------------------------------------------------------------------


@BOTH
def test_a_batch_is_two_draws_of_different_seeds(kind, small_graph, monkeypatch):
    task = kind(**QUICK).task(small_graph)
    seen, read = [], task.encoder.read
    monkeypatch.setattr(task.encoder, "read", lambda drawn, *others: seen.append(drawn) or read(drawn, *others))
    for _ in range(2):
        task.step()
    seeds = [drawn.nodes[:, 0].tolist() for drawn in seen]
    assert seeds[0] == seeds[1] and seeds[2] == seeds[3] and seeds[0] != seeds[2]
    assert len(set(seeds[0])) == 10
    assert not torch.equal(seen[0].nodes, seen[1].nodes)


@BOTH
def test_all_nodes_are_the_batch_of_a_smaller_graph(kind, small_graph):
    part = small_graph.subgraph(torch.arange(6))
    task = kind(**QUICK).task(part)
    assert len(task.step().outputs[0]) == 6 and task.objective.chance() == pytest.approx(math.log(6))


@BOTH
def test_training_learns_and_the_numbers_are_those_of_its_batch(kind, small_graph):
    task = kind(**QUICK).task(small_graph)
    before = {name: p.detach().clone() for name, p in task.modules.named_parameters()}
    step = Run(task, lr=0.01, weight_decay=0.0).advance()
    assert all(not torch.equal(p, before[name]) for name, p in task.modules.named_parameters() if "degrees" not in name)
    found = task.describe(step, task.encoder)
    assert set(found) == {"alignment", "uniformity", "effective_rank", "norm"}
    assert found["norm"] == pytest.approx(1, abs=1e-5)


@BOTH
def test_training_learns_to_tell_neighbourhoods_apart(kind):
    cliques = nx.disjoint_union_all([nx.complete_graph(size) for size in range(1, 13)])
    graph = Graph.from_edges(*np.array(cliques.edges).T, np.random.default_rng(0).random((78, 6)))
    run = Run(kind(**QUICK, dropout=0.1).task(graph), lr=0.01, weight_decay=0.0)
    losses = [run.advance().total.item() for _ in range(40)]
    assert np.mean(losses[-10:]) < min(0.8 * np.mean(losses[:10]), math.log(10))


# -- the embedding ---------------------------------------------------------------------------------------------------


@BOTH
def test_an_embedding_is_the_mean_of_two_draws_whatever_is_embedded_at_once(kind, small_graph, monkeypatch):
    model = kind(**QUICK, iterations=3).fit(small_graph)
    encoder, view = model.encoder_.eval(), model.view(small_graph)
    seen, read = {}, encoder.read

    def remember(drawn, *others):
        z = read(drawn, *others)
        for node, row in zip(drawn.nodes[:, 0].tolist(), z, strict=True):
            seen.setdefault(node, []).append(row)
        return z

    monkeypatch.setattr(encoder, "read", remember)
    monkeypatch.setattr("signnap.methods.gcc._AT_ONCE", 14)
    z = encoder(view)
    assert sorted(seen) == list(range(40)) and all(len(rows) == 2 for rows in seen.values())
    torch.testing.assert_close(z, torch.stack([(seen[i][0] + seen[i][1]) / 2 for i in range(40)]))


@BOTH
def test_embedding_draws_the_same_subgraphs_every_time_and_others_by_another_seed(kind, small_graph):
    model = kind(**QUICK, iterations=3).fit(small_graph)
    z = model.transform(small_graph)
    torch.rand(3)  # what others draw does not matter
    assert np.array_equal(model.transform(small_graph), z)
    encoder = kind(**QUICK, seed=1).untrained(small_graph).encoder_
    encoder.load_state_dict(model.encoder_.state_dict())
    assert not np.allclose(encoder.eval()(model.view(small_graph)).numpy(), z)


@BOTH
def test_dropped_edges_are_not_walked(kind, small_graph):
    model = kind(**QUICK, iterations=3).fit(small_graph)
    view = model.view(small_graph)
    bare = view.with_entries(torch.zeros_like(view.stored))
    assert len(Neighbours.of(bare).columns) == 1
    z = model.embed_view(bare)
    assert z.isfinite().all() and not torch.allclose(z, model.embed_view(view))


def test_gcc_reads_no_features_and_the_variant_does(small_graph):
    for kind, reads in ((GCC, False), (AttributedGCC, True)):
        model = kind(**QUICK, iterations=3).fit(small_graph)
        view = model.view(small_graph)
        changed = view.with_features(torch.rand(view.x.shape, generator=source_of(0)))
        assert torch.equal(model.embed_view(view), model.embed_view(changed)) != reads


def test_the_seed_is_marked(small_graph):
    """The same nodes and edges with another seed are something else, even where all features are alike."""
    model = AttributedGCC(**QUICK, iterations=3).fit(small_graph)
    encoder = model.encoder_.eval()
    drawn = encoder.draw(Neighbours.of(model.view(small_graph)), torch.tensor([3]), source_of(0))
    rows = encoder.gcn.project(torch.ones(40, 12))[drawn.nodes]
    with torch.no_grad():
        marked = encoder.gcn(rows, drawn.adjacency)
        encoder.gcn.first[-1] = 0
        assert not torch.allclose(encoder.gcn(rows, drawn.adjacency), marked)
