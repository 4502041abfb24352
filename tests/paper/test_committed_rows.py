"""The committed rows were trained with the settings that the program has now."""

import json
from dataclasses import asdict, fields
from pathlib import Path

import pytest

from signnap import method_class
from signnap_paper import tables
from signnap_paper.cells import Cell
from signnap_paper.paper import cell
from signnap_paper.results import Results
from signnap_paper.runner import resolved

ROWS = Path(__file__).resolve().parents[2] / "results" / "rows.jsonl"
pytestmark = pytest.mark.skipif(not ROWS.exists(), reason="there are no rows here")


def settings_now(cell):
    return method_class(cell.method)(**cell.settings).settings_for(cell.graph)


def test_presets_are_those_that_the_rows_were_trained_with():
    stale = []
    for row in map(json.loads, ROWS.read_text().splitlines()):
        settings = settings_now(Cell(**row["cell"]))
        younger = {each.name: each.default for each in fields(settings) if each.name != "seed"}  # than the row
        if younger | row["resolved"] != json.loads(json.dumps(resolved(settings))):
            stale.append((row["cell"]["method"], row["cell"]["graph"]))
    assert stale == [], "their presets have changed: remove these rows and run them again"


@pytest.mark.parametrize(
    ("name", "graph"), [(name, graph) for name, (graphs, *_) in tables.GRIDS.items() for graph in graphs]
)
def test_presets_have_what_the_grid_chose(name, graph):
    chosen = tables.best_of_grid(Results(ROWS), name, graph, seeds=1)
    if chosen is None:
        pytest.skip("not all tries of this grid were run")
    wanted = chosen | {"iterations": tables.GRIDS[name][1]}
    now = asdict(settings_now(cell(name, graph)))
    assert {setting: now[setting] for setting in wanted} == wanted
