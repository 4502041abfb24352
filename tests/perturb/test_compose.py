"""Perturbations in sequence, and the sequence that settings describe."""

import pytest
import torch

from dense import source_of
from signnap import Compose, DropEdge, FeatureNoise, MaskFeatures
from signnap.errors import SignnapError
from signnap.graph import as_dense
from signnap.interfaces import Perturbation
from signnap.perturb.compose import build_perturbation


def test_parts_apply_in_order_from_one_generator(small_graph):
    view, parts = small_graph.view(), (DropEdge(0.3), FeatureNoise("uniform", 1.0), MaskFeatures(0.5))
    found = Compose(*parts)(view, source_of(1))
    source, wanted = source_of(1), view
    for part in parts:
        wanted = part(wanted, source)
    assert torch.equal(found.stored, wanted.stored)
    assert torch.equal(as_dense(found.x), as_dense(wanted.x))
    assert (as_dense(found.x) == 0).all(dim=0).any(), "columns are masked after the noise"


def test_your_own_parts_and_nesting(small_graph):
    view = small_graph.view()
    halve = lambda view, generator: view.with_entries(view.stored / 2)
    assert isinstance(halve, Perturbation)
    found = Compose(Compose(halve), halve)(view, source_of(0))
    assert torch.equal(found.stored, view.stored / 4)


def test_no_parts_leave_a_clean_view(small_graph):
    view = small_graph.view()
    assert Compose()(view, source_of(0)) is view


@pytest.mark.parametrize(
    ("settings", "parts"),
    [
        ({}, [DropEdge(0.3)]),
        ({"drop_edge": 0.0}, []),
        ({"drop_edge": 0.5, "drop_law": "undirected"}, [DropEdge(0.5, "undirected")]),
        ({"mask_features": 0.2}, [DropEdge(0.3), MaskFeatures(0.2)]),
        ({"drop_edge": 0.0, "noise": "laplace"}, [FeatureNoise("laplace", 0.01)]),
        ({"drop_edge": 0.0, "noise": "uniform:0.5"}, [FeatureNoise("uniform", 0.5)]),
        ({"mask_features": 0.2, "noise": "gaussian:1e-3"}, [DropEdge(), MaskFeatures(0.2), FeatureNoise(scale=1e-3)]),
    ],
)
def test_settings_become_parts(settings, parts):
    built = build_perturbation(**settings)
    assert list(built.parts) == parts
    assert repr(built) == f"Compose({', '.join(map(repr, parts))})"


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"noise": "gaussian:loud"}, "noise is 'gaussian:loud': expected a kind and a scale such as gaussian:0.01"),
        ({"noise": "gauss:0.1"}, "unknown noise 'gauss', did you mean 'gaussian'"),
        ({"noise": "gaussian:nan"}, "the noise scale is nan"),
        ({"drop_edge": 1.2}, "the share of dropped edges is 1.2"),
        ({"drop_law": "none"}, "unknown law of edge dropping 'none'"),
        ({"mask_features": -1}, "the share of masked features is -1"),
    ],
)
def test_bad_settings(settings, sentence):
    with pytest.raises(SignnapError, match=sentence):
        build_perturbation(**settings)
