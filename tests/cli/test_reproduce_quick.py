"""``make reproduce-quick`` on one small graph: every table and figure of the paper is made."""

import json
import os
from dataclasses import replace
from pathlib import Path

from signnap.data import load
from signnap.data.synthetic import synthetic_graph
from signnap_paper import cells, measurements, runner
from signnap_paper.targets import HOMES, find_target


def test_everything_is_filled_in(command, monkeypatch):
    graph = synthetic_graph(nodes=240, communities=3, words=60)
    quickened = cells.quickened
    monkeypatch.setattr(runner, "load_graph", lambda name: graph)
    monkeypatch.setattr(load, "load_graph", lambda name: graph)
    monkeypatch.setattr(measurements, "_SHOWN", 30)  # or the maps would take most of the time
    monkeypatch.setattr(cells, "quickened", lambda cell: replace(quickened(cell), graph="synthetic"))
    found = command("reproduce", "all", "--quick", "--device", "cpu", "--json")
    made = {each["target"]: each for each in found.json["targets"]}
    assert list(made) == [name for name in HOMES if name != "authors"]
    assert [name for name, each in made.items() if each["missing"]] == [], found.err
    for name, each in made.items():
        page = Path(each["page"]).read_text("utf-8")
        assert page.startswith("**Quick run: one iteration")
        assert "not run" not in page.replace("<!-- not run:", "") and "failed" not in page.replace(
            "missing or failed", ""
        )
        assert not any(verdict in page for verdict in ("| holds", "| does not hold", "| agrees", "The aim was")), name
        assert os.path.exists(f"results-quick/{name}.png") == (find_target(name).figure is not None)
    rows = [json.loads(line) for line in Path(found.json["rows"]).read_text().splitlines()]
    assert {each for row in rows for each in row["iterations"]} <= {0, 1}
    assert all(row["seeds"] == [0] for row in rows)
