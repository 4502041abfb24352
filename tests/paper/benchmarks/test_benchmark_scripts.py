"""Every benchmark script runs from end to end and continues an existing file."""

import json
import math
import os
import runpy
import subprocess
import sys

import pytest
import torch

from signnap import method_class
from signnap.registry import METHODS
from signnap_paper.benchmarks.limits import Work


@pytest.fixture
def out(tmp_path):
    return tmp_path / "results" / "out.json"


@pytest.fixture
def run(out, monkeypatch):
    """Run a script quickly, in this process, and return what is in its file."""

    def finished(name, *options):
        monkeypatch.setattr(sys, "argv", [name, "--quick", "--out", str(out), *options])
        runpy.run_module(f"signnap_paper.benchmarks.{name}", run_name="__main__")
        return written(out)

    return finished


@pytest.fixture
def run_alone(out):
    """Run a script in a process of its own, which a script with workers needs."""

    def finished(name, *options):
        command = [sys.executable, "-m", f"signnap_paper.benchmarks.{name}", "--quick", "--out", out, *options]
        environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"}
        done = subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        return written(out)

    return finished


def written(out):
    assert out.with_suffix(".md").read_text(encoding="utf-8").startswith("# ")
    return json.loads(out.read_text(encoding="utf-8"))


def test_steps(run):
    chosen = ["--backbones", "gcn", "gat"]
    part = run("steps", *chosen, "--variants", "captured")
    assert [(row["backbone"], row["variant"]) for row in part["rows"]] == [("gat", "captured"), ("gcn", "captured")]
    whole = run("steps", *chosen)
    rows = {(row["backbone"], row["variant"]): row for row in whole["rows"]}
    of_all = {"captured", "eager", "tf32"}
    of_gcn = {"prototype", "prototype per anchor", "own negatives", "bf16", "five seeds", "five seeds, tf32"}
    assert set(rows) == {(b, name) for b in ("gcn", "gat") for name in of_all} | {("gcn", name) for name in of_gcn}
    assert not [row for row in rows.values() if "error" in row]
    assert [rows[key]["session"] for key in (("gcn", "captured"), ("gcn", "eager"))] == [0, 1]
    ours, eager, five = (rows["gcn", name] for name in ("captured", "eager", "five seeds"))
    slow = rows["gcn", "prototype"]["milliseconds"]
    assert ours["than_eager"] == pytest.approx(eager["milliseconds"] / ours["milliseconds"])
    assert five["than_prototype"] == pytest.approx(5 * slow / five["milliseconds"])
    assert five["gflop"] == pytest.approx(5 * ours["gflop"])
    assert ours["over_floor"] == pytest.approx(ours["milliseconds"] / ours["floor_ms"])
    own = rows["gcn", "prototype per anchor"]["milliseconds"] / rows["gcn", "own negatives"]["milliseconds"]
    assert rows["gcn", "own negatives"]["than_prototype"] == pytest.approx(own)
    assert whole["protocol"]["warm-up iterations"] == 1


def test_a_cell_that_fails_costs_only_itself(run):
    rows = run("steps", "--graphs", "pubmad", "synthetic", "--backbones", "sage", "--variants", "eager")["rows"]
    failed, measured = sorted(rows, key=lambda row: row["graph"])
    assert failed["error"].startswith("SignnapError: unknown dataset 'pubmad'") and "milliseconds" not in failed
    assert measured["graph"] == "synthetic" and "error" not in measured


def test_a_copy_is_read_and_written(script, monkeypatch):
    limits = script("limits")
    monkeypatch.setattr(limits, "best_seconds", lambda action, device: (action(), 0.5)[1])
    assert limits.copy_rate(torch.device("cpu"), megabytes=1) == 2 * 2**20 / 0.5


def test_each_part_is_bound_by_the_slower_of_two(script):
    parts = {"computes": Work(600, 10), "moves": Work(20, 50)}
    found = script("limits").floor_ms(parts, flops_per_second=100, bytes_per_second=10)
    assert found == pytest.approx(1e3 * (6 + 5))


def test_matrix(run, run_alone):
    first = run("matrix", "--backbones", "gcn", "--workers", "0")
    second = run_alone("matrix", "--workers", "1")
    assert [row["backbone"] for row in second["rows"]] == ["gcn", "gat"]
    assert second["rows"][0] == first["rows"][0]
    for row in second["rows"]:
        assert len(row["accuracies"]) == 2 and all(20 < value <= 100 for value in row["accuracies"])
        assert row["mean"] == pytest.approx(math.fsum(row["accuracies"]) / 2)
        assert row["iterations_per_second"] == pytest.approx(2 * 3 / row["training_seconds"])
    assert second["found"]["wall clock, s"] > first["found"]["wall clock, s"] > first["rows"][0]["training_seconds"]


def test_methods(run, pyg):
    found = run("methods", "--methods", "grace", "deepwalk", "bgrl")
    rows = {row["method"]: row for row in found["rows"]}
    assert list(rows) == ["deepwalk", "grace", "bgrl"]
    assert not [row for row in rows.values() if "error" in row or row["note"] or row["peak_mb"]]
    for name in ("grace", "bgrl"):
        assert rows[name]["times_faster"] == pytest.approx(rows[name]["twin_seconds"] / rows[name]["seconds"])
    assert rows["deepwalk"]["seconds"] > 0 and "twin_seconds" not in rows["deepwalk"]
    assert found["protocol"]["threads"] == torch.get_num_threads()


def test_every_method_that_trains_is_timed(script):
    trained = set(script("methods").TRAINED)
    assert trained == set(METHODS) - {"raw", "svd", "diffused-svd", "propagated", "arwmf", "untrained"}
    assert set(script("twins").TWINS) == {"grace", "dgi", "bgrl"} <= trained


@pytest.mark.parametrize(("free", "why"), [(51_199, "needs about 0.0 GB, and 0.0 GB are free"), (51_200, None)])
def test_a_twin_without_room_costs_only_itself(script, small_graph, monkeypatch, free, why, pyg):
    """Eight matrices of 40×40 numbers are 51,200 bytes."""
    methods = script("methods")
    monkeypatch.setattr(methods, "free_bytes", lambda device: free)
    row = methods._measured(small_graph, method_class("grace")(dim=4), script("timing").Turns(1, 0.0, 1))
    assert row["note"] == (why and f"PyG: MemoryError: {why}")
    assert row["seconds"] > 0 and ("times_faster" in row) == (why is None)


def test_contenders_take_turns(script, small_graph):
    turns, calls = script("timing"), []
    both = [turns.Contender(lambda _, name=name: lambda: calls.append(name), small_graph, 2) for name in "ab"]
    first, second = turns.in_turns(both, turns.Turns(2, 0.0, 3))
    assert calls == list("aabb" + "ab" * 3)
    assert first > 0 and second > 0


def test_scaling(run):
    found = run("scaling")
    assert [row["size"] for row in found["rows"]] == [1000, 2000, 4000]
    assert all(0.9 < row["entries"] / row["nodes"] / 20 <= 1 for row in found["rows"])
    assert all(row["largest_degree"] > 3 * 20 for row in found["rows"])
    assert found["found"]["exponent of time"] > 0
    assert found["found"]["exponent of memory"] is None  # no device, none measured


def test_an_exponent_is_a_slope(script):
    rows = [{"nodes": 1, "entries": size - 1, "ms": 5 * size**1.25} for size in (10, 40, 90)]
    assert script("scaling").exponent(rows, "ms") == pytest.approx(1.25)
    assert script("scaling").exponent(rows[:1], "ms") is None
    assert script("scaling").exponent([*rows, {"nodes": 7, "error": "E"}], "ms") == pytest.approx(1.25)


def test_waiting(run):
    part = run("waiting", "--busy", "0")
    assert {row["busy"] for row in part["rows"]} == {0} and len(part["rows"]) == 3
    whole = run("waiting")
    assert [row["busy"] for row in whole["rows"]] == [0, 0, 0, 1, 1, 1]
    assert whole["rows"][:3] == part["rows"]
    default = next(row for row in whole["rows"] if row["busy"] == 0 and "default" in row["policy"])
    assert default["relative"] == 1
    for row in whole["rows"]:
        assert row["seconds"] == pytest.approx(row["relative"] * default["seconds"])
