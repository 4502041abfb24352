"""Fixtures for tests that fill whole tables."""

from dataclasses import replace

import pytest
from tiny_cells import GRAPH

from signnap import Method
from signnap.errors import SignnapError
from signnap.evaluate import PROBES, logistic
from signnap_paper import runner
from signnap_paper.results import Results


@pytest.fixture
def loaded(monkeypatch):
    """Every name loads a small graph; the fixture is the list of names loaded so far."""
    names = []

    def load(name):
        names.append(name)
        if name == "nowhere":
            raise SignnapError("there is no graph nowhere")
        return replace(GRAPH, name=name.removesuffix(".npz"))

    monkeypatch.setattr(runner, "load_graph", load)
    return names


@pytest.fixture
def short_probes(monkeypatch):
    """Use a fiftieth of the epochs and few regularisation strengths, which is enough for these tests."""
    monkeypatch.setattr(logistic, "GRID", (0.1, 10.0))
    for name, settings in PROBES.items():
        if settings is not None:
            monkeypatch.setitem(PROBES, name, replace(settings, epochs=20))


@pytest.fixture
def trained(monkeypatch):
    """The list of trained cells, as method and graph; a cell counts once, however its seeds were trained."""
    begun, fit_seeds = [], Method.fit_seeds

    def spy(self, graph, seeds, **options):
        if 0 in seeds:
            begun.append((self.name, graph.name))
        return fit_seeds(self, graph, seeds, **options)

    monkeypatch.setattr(Method, "fit_seeds", spy)
    return begun


@pytest.fixture
def results(tmp_path):
    return Results(tmp_path / "rows.jsonl")
