"""``signnap bench speed``: the fraction of the machine rate, and the output."""

import json
import re
import sys

import pytest
from typer.testing import CliRunner

from signnap import SIGNNAP
from signnap.errors import SignnapError
from signnap_paper.benchmarks import bench as measured
from signnap_paper.benchmarks.limits import step_operations
from signnap_paper.cli import bench


def test_the_fraction_is_operations_over_time_over_rate(small_graph, monkeypatch, pyg):
    monkeypatch.setattr(measured, "load_graph", lambda name: small_graph)
    monkeypatch.setattr(measured, "_side_by_side", lambda *_: (0.25, 1.0))
    monkeypatch.setattr(measured, "matmul_rate", lambda device: 1e9)
    result = measured.measure_speed()
    parts = step_operations(small_graph, SIGNNAP().settings_for("small"))
    assert result["step_operations"] == sum(part.operations for part in parts.values())
    assert result["matmul_fraction"] == pytest.approx(result["step_operations"] / 0.25 / 1e9)


def test_the_command_says_it(monkeypatch):
    names = ("step_vs_dense_grace", "propagation_vs_scatter", "step_vs_per_anchor")
    result = {
        "ratios": dict.fromkeys(names, 2.0),
        "milliseconds": {name: {"ours": 149.2, "twin": 300.0} for name in names},
        "measured_on": dict.fromkeys(names, "something"),
        "matmul_fraction": 0.456,
        "step_operations": 16_800_000_000,
        "threads": 1,
        "torch": "2",
    }
    monkeypatch.setattr(measured, "measure_speed", lambda: result)
    said = " ".join(CliRunner().invoke(bench, ["speed"]).stdout.split())
    words = "a step reaches 46 % of the rate of a large matrix product here (16.8 GFLOP in 149 ms)"
    assert words in said
    assert json.loads(CliRunner().invoke(bench, ["speed", "--json"]).stdout) == result


@pytest.mark.parametrize("what", [["speed"], ["memory"]], ids=" ".join)
def test_only_speed_needs_pyg(what, monkeypatch, small_graph):
    for name in ("torch_geometric", "torch_geometric.nn"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(measured, "_measured", lambda share: {"loaded": 1.0, "peak": 2.0})
    result = CliRunner().invoke(bench, what)
    if what == ["memory"]:
        assert result.exit_code == 0 and "pubmed_step_mb" in result.output
    else:
        why = r"this comparison needs torch-geometric, which is not installed: in a clone, pip install '\.\[pyg\]'"
        assert isinstance(result.exception, SignnapError) and re.fullmatch(why, str(result.exception))
