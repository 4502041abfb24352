"""Stability, smoothness and identifiability of models: dropped copies, seeds, and minimal graphs."""

import json
from dataclasses import asdict

import numpy as np
import pytest
import torch

from signnap import SIGNNAP, DropEdge, Graph, identifiability, rng, smoothness, stability
from signnap.errors import SignnapError
from signnap.evaluate.models import properties


@pytest.fixture(scope="module")
def graph():
    random = np.random.default_rng(0)
    return Graph.from_edges(*random.integers(0, 50, (2, 200)), random.random((50, 6)), name="mine")


@pytest.fixture(scope="module")
def model(graph):
    return SIGNNAP(dim=8, negatives=16, iterations=20).fit(graph)


def test_the_three_properties(model, graph):
    found = properties(model, graph, copies=3)
    assert set(found) == {"stability", "smoothness", "identifiability"}
    assert all(isinstance(numbers["mean"], float) for numbers in found.values())
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert np.shape(found["stability"]["matrix"]) == (3, 3)
    assert 0 < found["stability"]["mean"] < 1
    assert found["smoothness"]["edges"] == graph.num_edges


def test_they_equal_the_measures_of_arrays(model, graph):
    view, source = model.view(graph), rng.generator(7, "analysis views")
    draw = lambda: model.embed_view(DropEdge(0.4)(view, source))
    found = properties(model, graph, drop_edge=0.4, copies=4, seed=7)
    assert found["stability"] == asdict(stability(draw, copies=4))
    z = torch.from_numpy(model.transform(graph))
    assert found["smoothness"] == asdict(smoothness(z, graph.pattern, rng.generator(7, "pairs")))
    expected = asdict(identifiability(draw(), draw(), rng.generator(7, "sample")))
    assert found["identifiability"] == expected


def test_seeds(model, graph):
    assert properties(model, graph, copies=2) == properties(model, graph, copies=2)
    assert properties(model, graph, copies=2)["stability"] != properties(model, graph, copies=2, seed=1)["stability"]


def test_chosen_nodes(model, graph):
    some, every = (properties(model, graph, copies=2, nodes=nodes) for nodes in (torch.arange(5), None))
    assert (some["stability"]["nodes"], every["stability"]["nodes"]) == (5, 50)
    assert some["smoothness"] == every["smoothness"]


def test_nothing_dropped_nothing_moves(model, graph):
    found = properties(model, graph, drop_edge=0.0, copies=2)
    assert found["stability"]["mean"] == pytest.approx(1)
    assert found["identifiability"]["mean"] == 1


def test_more_dropped_is_less_stable(model, graph):
    little, much = (properties(model, graph, drop_edge=share)["stability"]["mean"] for share in (0.1, 0.8))
    assert little > much


def test_minimal_graphs():
    for nodes in (1, 4):
        loose = Graph.from_edges([], [], np.eye(4)[:nodes], name="loose")
        found = properties(SIGNNAP(dim=8, negatives=16, iterations=2).fit(loose), loose, copies=2)
        assert found["smoothness"]["mean"] is None
        assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_what_cannot_be_measured(model, graph):
    with pytest.raises(SignnapError, match=r"share of dropped edges is 1\.5: expected a number from 0 to 1"):
        properties(model, graph, drop_edge=1.5)
    with pytest.raises(SignnapError, match="expected at least 2, found 1"):
        properties(model, graph, copies=1)
    with pytest.raises(SignnapError, match="the model was trained on 6 features, but other has 2"):
        properties(model, Graph.from_edges([0], [1], np.eye(2), name="other"))
    with pytest.raises(SignnapError, match="not fitted yet"):
        properties(SIGNNAP(), graph)
