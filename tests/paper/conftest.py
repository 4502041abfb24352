"""What tests of whole tables share."""

from dataclasses import replace

import pytest
from tiny_cells import GRAPH

from signnap.errors import SignnapError
from signnap.evaluate import PROBES, logistic
from signnap.methods.method import Method
from signnap_paper import runner
from signnap_paper.results import Results


@pytest.fixture
def loaded(monkeypatch):
    """Every name is that of a small graph; the names that were loaded, in order."""
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
    """A fiftieth of the epochs and a few strengths judge as well what is judged here."""
    monkeypatch.setattr(logistic, "GRID", (0.1, 10.0))
    for name, settings in PROBES.items():
        if settings is not None:
            monkeypatch.setitem(PROBES, name, replace(settings, epochs=20))


@pytest.fixture
def trained(monkeypatch):
    """Which cells were trained: method and graph, in order, however their encoder seeds were."""
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
