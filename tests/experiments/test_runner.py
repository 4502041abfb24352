"""Filling a table: every number is the judge's own, nothing is done twice, and no failure costs more than its cell."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event

import pytest
import torch

from signnap import SIGNNAP
from signnap.data import make_split, synthetic_graph
from signnap.errors import SignnapError
from signnap.evaluate import PROBES, logistic, score, score_classes
from signnap.experiments import runner
from signnap.experiments.cells import Cell, Results
from signnap.experiments.judge import judged
from signnap.experiments.runner import run_cells
from signnap.methods.method import Method
from signnap.methods.registry import method_class
from signnap.methods.settings import probe_weight_decay

GRAPH = synthetic_graph(nodes=240, communities=3, words=60)
SPLIT = "per-class:10:10"
WHOLE_GRID = logistic.GRID
TINY = {
    "raw": {},
    "dgi": {"dim": 8, "hidden": 8, "iterations": 3},
    "deepwalk": {"dim": 8, "iterations": 3, "walks": 1, "length": 8, "window": 2},
    "signnap": {"dim": 8, "negatives": 16, "iterations": 3},
    "supervised": {"dim": 8, "iterations": 3, "split": SPLIT},
}


def tiny(method="raw", graph="synthetic", settings=None, **rules):
    rules = {"split": SPLIT, "probe": "logistic", "encoder_seeds": 2, "probe_seeds": 1} | rules
    return Cell(method, graph, TINY[method] | (settings or {}), **rules)


@pytest.fixture(autouse=True)
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


@pytest.fixture(autouse=True)
def _short_probes(monkeypatch):
    """A fiftieth of the epochs and a few strengths judge as well what is judged here."""
    monkeypatch.setattr(logistic, "GRID", (0.1, 10.0))
    for name, (kind, settings) in PROBES.items():
        if settings is not None:
            monkeypatch.setitem(PROBES, name, (kind, replace(settings, epochs=20)))


@pytest.fixture
def trained(monkeypatch):
    """Which cells were trained: method and graph, in order."""
    begun, fit_seeds = [], Method.fit_seeds

    def spy(self, graph, *arguments, **options):
        begun.append((self.name, graph.name))
        return fit_seeds(self, graph, *arguments, **options)

    monkeypatch.setattr(Method, "fit_seeds", spy)
    return begun


@pytest.fixture
def results(tmp_path):
    return Results(tmp_path / "rows.jsonl")


def fill(cells, results, **options):
    return run_cells(cells, results, **{"device": "cpu"} | options)


def one(cell, results, **options):
    """The row of one cell that must not fail."""
    assert fill([cell], results, **options) == 0, results.find(cell)
    return results.find(cell)


def by_hand(cell, number):
    """The obvious way to the score of one encoder."""
    graph = replace(GRAPH, name=cell.graph)
    z = torch.from_numpy(method_class(cell.method)(**cell.settings, seed=number).fit_transform(graph, device="cpu"))
    parts = make_split(graph, cell.split, seed=number if cell.redrawn else 0)
    decay = probe_weight_decay(cell.graph)
    options = {"probe": cell.probe, "seeds": range(cell.probe_seeds), "weight_decay": decay}
    return score([z], graph.y, parts.train, parts.val, parts.test, **options)


def numbers(row):
    return row["test"], row["val"]


def expected(cell):
    found = [by_hand(cell, number) for number in range(cell.encoder_seeds)]
    return [f.runs[0] for f in found], [f.val_runs[0] for f in found]


# -- the numbers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "cell",
    [
        tiny("raw", encoder_seeds=1),
        tiny("dgi"),
        tiny("deepwalk"),
        tiny("dgi", graph="amazon_photo", probe="linear", probe_seeds=3),  # where the probe's weights do not decay
        tiny("dgi", split="inductive:random:0.5:0.2"),
    ],
    ids=str,
)
def test_numbers_are_those_of_the_judge(cell, results):
    row = one(cell, results)
    if cell.split == SPLIT:
        assert numbers(row) == expected(cell)
    else:
        models = [method_class("dgi")(**cell.settings, seed=n).fit(GRAPH, device="cpu") for n in range(2)]
        whole = judged(models, GRAPH, make_split(GRAPH, cell.split), probe="logistic")
        assert numbers(row) == (whole.runs, whole.val_runs)
    assert [len(probes) for probes in row["test"]] == [cell.probe_seeds] * cell.encoder_seeds
    assert row["test"] != row["val"]
    assert row["iterations"] == [TINY[cell.method].get("iterations", 0)] * cell.encoder_seeds
    assert {"date", "command", "device", "torch", "signnap", "revision"} <= row.keys()
    assert Results(results.path).find(cell) == row


def test_redrawn_gives_every_seed_a_split_of_its_own(results):
    once = tiny("dgi", split="random:0.2:0.2", encoder_seeds=3)
    anew = replace(once, redrawn=True)
    assert fill([once, anew], results) == 0
    assert numbers(results.find(once)) == expected(once)
    assert numbers(results.find(anew)) == expected(anew)
    (first, *others), (same, *changed) = results.find(once)["test"], results.find(anew)["test"]
    assert first == same and others != changed


def test_who_was_taught_labels_is_judged_by_its_own_scores(results):
    cell = tiny("supervised", settings={"iterations": 30}, probe="none", probe_seeds=7)
    models = [method_class("supervised")(**cell.settings, seed=n).fit(GRAPH, device="cpu") for n in range(2)]
    parts = make_split(GRAPH, SPLIT)
    found = score_classes([torch.from_numpy(m.transform(GRAPH)) for m in models], GRAPH.y, parts.val, parts.test)
    assert numbers(one(cell, results)) == (found.runs, found.val_runs)


def test_labels_of_one_split_are_not_judged_on_another(results, trained):
    cell = tiny("supervised", settings={"split": "random:0.2:0.2"}, split="random:0.2:0.2", redrawn=True)
    other = tiny("supervised", split="per-class:9:9")
    assert fill([cell, other], results) == 2
    assert results.find(cell)["error"].endswith("learns from the labels of one split: expected redrawn False")
    assert "trained on labels of the split per-class:10:10" in results.find(other)["error"]
    assert len(trained) == 1  # nothing was trained in vain


def test_a_probe_on_dropped_graphs(results):
    cell = tiny("signnap", probe="linear", dropped=True)
    models = [SIGNNAP(**cell.settings, seed=n).fit(GRAPH, device="cpu") for n in range(2)]
    options = {"probe": "linear", "seeds": range(1), "dropped": True}
    found = judged(models, GRAPH, make_split(GRAPH, SPLIT), **options)
    assert numbers(one(cell, results)) == (found.runs, found.val_runs)


def test_other_processes_judge_alike(results, tmp_path, monkeypatch):
    monkeypatch.setattr(logistic, "GRID", WHOLE_GRID)  # another process does not know of the short one
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    threads = []
    watch = lambda *_: threads.append([os.environ.get(name) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")])
    cells = [tiny("dgi", encoder_seeds=1), tiny("raw", probe="nonsense"), tiny("supervised", probe="none"), tiny("raw")]
    here = Results(tmp_path / "here.jsonl")
    assert fill(cells, here) == 1
    assert fill(cells, results, jobs=1, report=watch) == 1
    for cell in cells:
        alone, elsewhere = here.find(cell), results.find(cell)
        assert [alone.get(key) for key in ("test", "val", "error", "iterations")] == [
            elsewhere.get(key) for key in ("test", "val", "error", "iterations")
        ]
    assert "unknown probe 'nonsense'" in results.find(cells[1])["error"]
    assert threads == [["1", "1"]] * 4  # for the processes that begin now
    watch()
    assert threads[-1] == ["3", None]


# -- what is done, in which order, and what is not ---------------------------------------------------------------------


def test_only_what_is_missing_is_done(results, trained, loaded):
    cells = [tiny("raw"), tiny("dgi"), tiny("raw")]  # one of them twice
    assert fill(cells[:1], results) == 0
    before = results.find(cells[0])
    assert fill(cells, results) == 0
    assert trained == [("raw", "synthetic"), ("dgi", "synthetic")]
    assert results.find(cells[0]) == before
    loaded.clear()
    assert fill(cells, Results(results.path)) == 0
    assert len(trained) == 2 and loaded == []


def test_graphs_keep_their_order_and_are_loaded_once(results, trained, loaded):
    order = [("raw", "cora.npz"), ("dgi", "cora"), ("dgi", "cora.npz"), ("raw", "pubmed"), ("raw", "cora")]
    assert fill([tiny(method, graph) for method, graph in order], results) == 0
    assert loaded == ["cora.npz", "cora", "pubmed"]  # a file is not the data set of its name
    assert trained == [("raw", "cora"), ("dgi", "cora"), ("dgi", "cora"), ("raw", "cora"), ("raw", "pubmed")]


def test_one_failure_costs_one_cell(results, trained):
    cells = [
        tiny("dgi", settings={"dimm": 8}),
        tiny("raw", "nowhere"),
        tiny("raw", split="per-class:900:9"),
        tiny("raw", probe="nonsense"),
        replace(tiny("raw"), method="rwa"),
        tiny("raw"),
    ]
    assert fill(cells, results) == 5
    errors = [results.find(cell).get("error", "") for cell in cells]
    patterns = [
        "unknown parameter 'dimm'",
        "there is no graph",
        "too few for 900",
        "unknown probe",
        "unknown method",
        "",
    ]
    for error, pattern in zip(errors, patterns, strict=True):
        assert error.startswith("SignnapError: ") == bool(pattern) and pattern in error
    assert all("date" in results.find(cell) and "test" not in results.find(cell) for cell in cells[:5])
    assert numbers(results.find(cells[5])) == expected(cells[5])


def test_failures_are_tried_again(results, monkeypatch, trained):
    cells = [tiny("dgi"), tiny("raw")]
    with monkeypatch.context() as broken:
        broken.setattr(method_class("dgi"), "build_encoder", lambda *_: 1 / 0)
        assert fill(cells, results) == 1
    assert results.find(cells[0])["error"] == "ZeroDivisionError: division by zero"
    assert fill(cells, results) == 0
    assert trained == [("dgi", "synthetic"), ("raw", "synthetic"), ("dgi", "synthetic")]
    assert numbers(results.find(cells[0])) == expected(cells[0])


def test_a_limit_of_nothing_begins_nothing(results, loaded, monkeypatch):
    monkeypatch.setattr(time, "perf_counter", lambda: 5.0)  # a clock too coarse to move
    reports = []
    assert fill([tiny("raw"), tiny("dgi")], results, limit=0, report=lambda *told: reports.append(told)) == 2
    assert loaded == reports == []


def test_after_the_limit_no_cell_begins(results, trained, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])

    def report(done, words):
        now[0] += 10.0

    cells = [tiny("raw", name) for name in "abcd"]
    assert fill(cells, results, limit=15, report=report) == 2
    assert trained == [("raw", "a"), ("raw", "b")]
    assert fill(cells, results, limit=15, report=report) == 0


def test_reports_count_what_was_there_before(results):
    cells, told = [tiny("raw", name) for name in "abc"], []
    fill(cells[1:2], results)
    fill(cells, results, report=lambda done, words: told.append((done, words)))
    assert told == [(2, "raw on a"), (3, "raw on c")]


def test_seconds_are_those_of_training(results, monkeypatch):
    def slow(name):
        time.sleep(0.3)
        return GRAPH

    monkeypatch.setattr(runner, "load_graph", slow)
    assert 0 < one(tiny("raw"), results)["seconds"] < 0.3


# -- being stopped -----------------------------------------------------------------------------------------------------


def interrupt(*_, **__):
    raise KeyboardInterrupt


def test_ctrl_c_keeps_what_is_written(results, trained):
    cells = [tiny("raw", name) for name in "abc"]
    with pytest.raises(KeyboardInterrupt):
        fill(cells, results, report=lambda done, words: done == 2 and interrupt())
    kept = Results(results.path)
    assert kept.missing(cells) == cells[2:]
    assert fill(cells, kept) == 0
    assert trained == [("raw", "a"), ("raw", "b"), ("raw", "c")]


def test_ctrl_c_in_training_is_no_result(results, monkeypatch):
    monkeypatch.setattr(method_class("dgi"), "build_encoder", interrupt)
    cells = [tiny("raw"), tiny("dgi")]
    with pytest.raises(KeyboardInterrupt):
        fill(cells, results)
    assert Results(results.path).missing(cells) == cells[1:]
    assert results.find(cells[1]) is None


@pytest.fixture
def at_work(monkeypatch):
    """Judges that are threads of this process, and wait until they are told to go on; those that have begun."""
    begun, go_on, judge = [], Event(), runner._judged_elsewhere

    def wait(*arguments):
        begun.append(1)
        assert go_on.wait(10)
        return judge(*arguments)

    monkeypatch.setattr(runner, "_judged_elsewhere", wait)
    monkeypatch.setattr(runner, "ProcessPoolExecutor", lambda jobs, context: ThreadPoolExecutor(jobs))
    yield begun, go_on
    go_on.set()


def test_cells_train_while_others_are_judged(results, at_work):
    cells, known = [tiny("raw", name) for name in "abc"], []

    def report(done, words):
        known.append(len(cells) - len(Results(results.path).missing(cells)))
        if done == 3:
            at_work[1].set()

    assert fill(cells, results, jobs=2, report=report) == 0
    assert known == [0, 0, 0]
    assert all(numbers(results.find(cell)) == expected(cell) for cell in cells)


def test_ctrl_c_does_not_wait_for_judges_that_have_not_begun(results, at_work):
    cells = [tiny("raw", name) for name in "abc"]

    def report(done, words):
        if done == 3:
            at_work[1].set()
            interrupt()

    with pytest.raises(KeyboardInterrupt):
        fill(cells, results, jobs=1, report=report)
    assert len(at_work[0]) < 6  # of three cells with two seeds
    assert fill(cells, results) == 0


def test_nothing_is_trained_that_cannot_be_kept(tmp_path, loaded):
    (tmp_path / "file").touch()
    with pytest.raises(SignnapError, match=r"cannot write .*rows\.jsonl"):
        fill([tiny("raw")], Results(tmp_path / "file" / "rows.jsonl"))
    with pytest.raises(SignnapError, match="device is 'gpu': expected auto, cpu or cuda"):
        fill([tiny("raw")], Results(tmp_path / "rows.jsonl"), device="gpu")
    assert loaded == [] and not (tmp_path / "rows.jsonl").exists()
