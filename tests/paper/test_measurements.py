"""Measurements for figures are finite numbers; each is compared with a slow twin."""

import json
from dataclasses import replace
from itertools import combinations
from math import dist, exp, hypot, isfinite, log

import numpy as np
import pytest
import torch
from made_rows import leaves
from tiny_cells import GRAPH, SPLIT, fill, tiny

from signnap import DropEdge, method_class, rng
from signnap.data.splits import make_split
from signnap.errors import SignnapError
from signnap.evaluate import PROBES, linear_probe
from signnap.train.run_folder import RunFolder
from signnap_paper import measurements
from signnap_paper.measurements import MEASUREMENTS, find_measurement
from signnap_paper.results import Results

PARTS = make_split(GRAPH, SPLIT)
Y = GRAPH.y.numpy()
NODES = [part.numpy() for part in (PARTS.train, PARTS.val, PARTS.test)]
LABELLED = {"training-curves"}  # of networks that learn labels; the others are for anybody


def cell_with(*names, **rules):
    method = "supervised" if set(names) & LABELLED else "dgi"
    return tiny(method, probe="none" if method == "supervised" else "linear-quick", looks=names, **rules)


@pytest.fixture(scope="module")
def z():
    """Embeddings that separate the classes a little."""
    return np.random.default_rng(0).normal(size=(len(Y), 5)).astype(np.float32) + np.eye(3, 5, dtype=np.float32)[Y]


# -- all of them -------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("loaded")
def test_the_contract_of_every_measurement(tmp_path):
    cells = [cell_with(*sorted(set(MEASUREMENTS) - LABELLED)), cell_with(*LABELLED)]
    here, elsewhere = Results(tmp_path / "here.jsonl"), Results(tmp_path / "elsewhere.jsonl")
    assert fill(cells, here) == fill(cells, elsewhere, jobs=1) == 0, elsewhere.path.read_text()
    for cell in cells:
        found = here.find(cell, 2)["looks"]
        assert found == elsewhere.find(cell, 2)["looks"] == Results(here.path).find(cell, 2)["looks"]
        assert tuple(found) == cell.looks
        assert json.loads(json.dumps(found, allow_nan=False)) == found
        for name, (first, second) in found.items():
            assert (second is None) == MEASUREMENTS[name].first_only, name
            assert first and all(isfinite(value) for value in leaves([first, second])), name
            assert first != second


def test_unknown_measurements(results, loaded):
    with pytest.raises(SignnapError, match=r"unknown measurement 'spred', did you mean 'spread'\?"):
        find_measurement("spred")
    cell = tiny("raw", looks=("spred",))
    assert fill([cell], results) == 1 and "unknown measurement 'spred'" in results.find(cell, 2)["error"]


# -- of rows -----------------------------------------------------------------------------------------------------------


def measured(name, z, y=Y, rules=None):
    return MEASUREMENTS[name].measure(z, y, NODES, rules)


def test_spread_by_loops(z):
    rows = z[:, :3].astype(float)
    distances = [dist(a, b) for a, b in combinations(rows, 2)]
    lengths = [hypot(*row) for row in rows]
    singular = np.linalg.svd(rows - rows.mean(axis=0), compute_uv=False)
    shares = singular / singular.sum()
    distance = sum(distances) / len(distances)
    assert measured("spread", z[:, :3]) == {
        "distance": pytest.approx(distance, rel=1e-4),
        "relative_distance": pytest.approx(distance / (sum(lengths) / len(lengths)), rel=1e-4),
        "effective_rank": pytest.approx(exp(-sum(share * log(share) for share in shares)), rel=1e-4),
    }


def test_spread_of_collapsed_rows(z):
    assert set(measured("spread", np.zeros_like(z)).values()) == {0.0}
    ones = measured("spread", np.ones_like(z))
    assert (ones["distance"], ones["relative_distance"], ones["effective_rank"]) == (0.0, 0.0, 0.0)
    twice = measured("spread", 2 * z)
    assert twice["distance"] == pytest.approx(2 * measured("spread", z)["distance"], rel=1e-4)
    assert twice["relative_distance"] == measured("spread", z)["relative_distance"]


def test_samples_are_reproducible_and_sorted(z, monkeypatch):
    monkeypatch.setattr(measurements, "_SAMPLE", 20)
    chosen = measurements._sample(240, 20)
    assert len(set(chosen)) == 20 and list(chosen) == sorted(chosen) and max(chosen) > 120
    assert list(measurements._sample(5, 20)) == [0, 1, 2, 3, 4]
    few = [dist(a, b) for a, b in combinations(z[chosen].astype(float), 2)]
    assert measured("spread", z)["distance"] == pytest.approx(sum(few) / len(few), rel=1e-4)


def test_a_map_has_one_point_for_every_node_shown(z, monkeypatch):
    found = measured("map", z)
    assert found["class"] == Y.tolist() and len(found["x"]) == len(found["y"]) == len(Y)
    assert len({*zip(found["x"], found["y"], strict=True)}) > 200
    y = Y * 7  # 0, 7 and 14: the last of them is not among the first ten
    assert measured("map", z, y)["class"] == y[y < 10].tolist()
    monkeypatch.setattr(measurements, "_SHOWN", 20)
    some = measured("map", z)
    assert some["class"] == Y[measurements._sample(240, 20)].tolist() and len(some["x"]) == 20


def test_the_map_of_far_clouds_keeps_them_apart():
    rows = np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32)
    rows[30:] += 50
    x = np.c_[tuple(measured("map", rows, np.arange(60) // 30)[axis] for axis in "xy")]
    near = np.linalg.norm(x[:, None] - x[None], axis=2) + 1e9 * np.eye(60)
    assert ((near.argmin(axis=1) < 30) == (np.arange(60) < 30)).all()


def test_the_map_of_one_point_is_one_point(z):
    for rows in (np.zeros_like(z), np.full_like(z, 0.3)):
        assert set(leaves([measured("map", rows)[axis] for axis in "xy"])) == {0.0}


def test_silhouette_by_hand(z):
    """(b − a) / max(a, b): a the mean distance to others of one's class, b to the nearest other class."""
    y, rows = Y * 7, z.astype(float)  # of classes 0, 7 and 14 the first two count
    shown = [node for node in range(len(y)) if y[node] < 10]
    values = []
    for node in shown:
        mean = lambda kind, node=node: np.mean(
            [dist(rows[node], rows[other]) for other in shown if y[other] == kind and other != node]
        )
        a, b = mean(y[node]), mean(7 - y[node])
        values.append((b - a) / max(a, b))
    assert measured("silhouette", z, y) == pytest.approx(np.mean(values), abs=1e-4)
    assert measured("silhouette", np.eye(3, dtype=np.float32)[Y]) == 1.0


def test_probe_curves_are_those_of_the_probe(z):
    settings = replace(PROBES["linear-plain"], epochs=31, lr=0.02)
    curves = measured("probe-curves", z, rules=settings)
    assert curves["iteration"] == [1, 11, 21, 31]
    assert curves["val"][-1] > curves["val"][0] and curves["train"] != curves["val"]
    tensors = [torch.from_numpy(array) for array in (z, Y, *NODES)]
    for epochs, on_val in zip(curves["iteration"], curves["val"], strict=True):
        (probe,) = linear_probe(*tensors, settings=replace(settings, epochs=epochs), seeds=[0])
        assert probe.best_epoch == epochs, "validation loss still falls, so the last weights are the best"
        assert on_val == round(100 * probe.val_accuracy, 2)
    z, y, train, _, _ = tensors
    (same,) = linear_probe(z, y, train, train, train, settings=settings, seeds=[0])
    assert curves["train"][-1] == round(100 * same.test_accuracy, 2)


# -- of models ---------------------------------------------------------------------------------------------------------


def test_training_curves_are_the_metrics_of_the_run(tmp_path):
    model = method_class("supervised")(dim=8, iterations=120, split=SPLIT)
    model.fit(GRAPH, device="cpu", out=tmp_path / "run")
    records = [*RunFolder(tmp_path / "run").read_metrics()]
    assert len(records) > 2
    assert MEASUREMENTS["training-curves"].measure(model, GRAPH, PARTS) == {
        "iteration": [record["iteration"] for record in records],
        "train": [round(100 * record["accuracy"], 2) for record in records],
        "val": [round(100 * record["val_accuracy"], 2) for record in records],
    }


def test_stability_by_hand():
    model = method_class("dgi")(dim=8, hidden=8, iterations=3).fit(GRAPH, device="cpu")
    view, source = model.view(GRAPH), rng.generator(0, "analysis views")
    copies = [model.embed_view(DropEdge(0.3)(view, source)).double().numpy()[NODES[2]] for _ in range(10)]
    cosine = lambda a, b: float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))
    compared = lambda a, b: float(np.mean([cosine(x, y) for x, y in zip(a, b, strict=True)]))
    matrix = [[compared(a, b) for b in copies] for a in copies]
    average = np.mean(copies, axis=(0, 1))
    found = MEASUREMENTS["stability"].measure(model, GRAPH, PARTS)
    assert np.allclose(found["matrix"], matrix, atol=2e-5)
    pairs = [*combinations(range(10), 2)]
    assert found["mean"] == pytest.approx(np.mean([matrix[a][b] for a, b in pairs]), rel=1e-4)
    centred = [compared(copies[a] - average, copies[b] - average) for a, b in pairs]
    assert found["centred"] == pytest.approx(np.mean(centred), rel=1e-3)
    assert found["centred"] < found["mean"] < 1


def test_maps_show_the_first_ten_classes():
    y = np.arange(-1, 13).repeat(3)
    assert sorted(set(y[measurements._mapped(y, 1000)])) == [*range(10)]
