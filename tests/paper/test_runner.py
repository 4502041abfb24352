"""From cells to rows: the numbers are those of ``score``, in this process and in workers."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import replace
from multiprocessing import active_children

import pytest
import torch
from tiny_cells import GRAPH, SEEDS, SPLIT, TINY, expected, fill, numbers, tiny

from signnap import SIGNNAP, method_class
from signnap.data.splits import make_split
from signnap.errors import SignnapError
from signnap.evaluate import logistic, score_classes
from signnap.evaluate.models import judged
from signnap.methods import fit
from signnap.train.health import Health
from signnap_paper import runner, workers
from signnap_paper.results import Results
from signnap_paper.workers import working

pytestmark = pytest.mark.usefixtures("loaded", "short_probes")

WHOLE_GRID = logistic.GRID


def one(cell, results, seeds=SEEDS, **options):
    """Run one cell, which must not fail, and return its row."""
    assert fill([cell], results, seeds=seeds, **options) == 0, results.find(cell, seeds)
    return results.find(cell, seeds)


@pytest.mark.parametrize(
    "cell",
    [
        tiny("raw"),
        tiny("dgi"),
        tiny("deepwalk"),
        tiny("dgi", graph="amazon_photo", probe="linear", probe_seeds=3),  # where the probe's weights do not decay
        tiny("dgi", split="inductive:random:0.5:0.2"),
    ],
    ids=str,
)
def test_numbers_are_those_of_score(cell, results):
    row = one(cell, results)
    if cell.split == SPLIT:
        assert numbers(row) == expected(cell)
    else:
        models = [method_class("dgi")(**cell.settings, seed=n).fit(GRAPH, device="cpu") for n in range(2)]
        whole = judged(models, GRAPH, make_split(GRAPH, cell.split), probe="logistic")
        assert numbers(row) == (whole.runs, whole.val_runs)
    assert [len(probes) for probes in row["test"]] == [cell.probe_seeds] * SEEDS
    assert row["test"] != row["val"]
    assert row["iterations"] == [TINY[cell.method].get("iterations", 0)] * SEEDS
    assert {"date", "command", "device", "torch", "signnap", "revision"} <= row.keys()
    assert row["peak_memory_mb"] > 0
    assert {name: row["resolved"][name] for name in cell.settings} == cell.settings and "seed" not in row["resolved"]
    assert row["seeds"] == [0, 1]
    assert Results(results.path).find(cell, SEEDS) == row


class Ill(Health):
    def check(self, iteration, numbers):
        return "it is ill"


def test_an_encoder_that_collapsed_is_judged_and_named(results, monkeypatch):
    wanted, kinds = expected(tiny("dgi")), iter([Health, Ill])
    monkeypatch.setattr(fit, "Health", lambda *given, **named: next(kinds)(*given, **named))
    row = one(tiny("dgi"), results)
    assert row["collapsed"] == {"1": "it is ill"} and numbers(row) == wanted


def test_redrawn_gives_every_seed_a_split_of_its_own(results):
    once = tiny("dgi", split="random:0.2:0.2")
    anew = replace(once, redrawn=True)
    assert fill([once, anew], results, seeds=3) == 0
    assert numbers(results.find(once, 3)) == expected(once, 3)
    assert numbers(results.find(anew, 3)) == expected(anew, 3)
    (first, *others), (same, *changed) = results.find(once, 3)["test"], results.find(anew, 3)["test"]
    assert first == same and others != changed


def test_networks_with_labels_are_judged_by_their_own_scores(results):
    cell = tiny("supervised", settings={"iterations": 30}, probe="none", probe_seeds=7)
    models = [method_class("supervised")(**cell.settings, seed=n).fit(GRAPH, device="cpu") for n in range(2)]
    parts = make_split(GRAPH, SPLIT)
    found = score_classes([torch.from_numpy(m.transform(GRAPH)) for m in models], GRAPH.y, parts.val, parts.test)
    assert numbers(one(cell, results)) == (found.runs, found.val_runs)


def test_labels_of_one_split_are_not_judged_on_another(results, trained):
    cell = tiny("supervised", settings={"split": "random:0.2:0.2"}, split="random:0.2:0.2", redrawn=True)
    other = tiny("supervised", split="per-class:9:9")
    assert fill([cell, other], results) == 2
    assert results.find(cell, SEEDS)["error"].endswith("learns from the labels of one split: expected redrawn False")
    assert "trained on labels of the split per-class:10:10" in results.find(other, SEEDS)["error"]
    assert len(trained) == 1  # nothing was trained in vain


def test_a_probe_on_dropped_graphs(results):
    cell = tiny("signnap", probe="linear", dropped=True)
    models = [SIGNNAP(**cell.settings, seed=n).fit(GRAPH, device="cpu") for n in range(2)]
    options = {"probe": "linear", "seeds": range(1), "dropped": True}
    found = judged(models, GRAPH, make_split(GRAPH, SPLIT), **options)
    assert numbers(one(cell, results)) == (found.runs, found.val_runs)


def test_workers_give_the_same_numbers(results, tmp_path, monkeypatch):
    monkeypatch.setattr(logistic, "GRID", WHOLE_GRID)  # another process does not know of the short one
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    threads = []
    watch = lambda *_: threads.append([os.environ.get(name) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")])
    cells = [tiny("dgi"), tiny("raw", probe="nonsense"), tiny("supervised", probe="none"), tiny("raw")]
    here = Results(tmp_path / "here.jsonl")
    assert fill(cells, here) == 1
    assert fill(cells, results, jobs=1, report=watch) == 1
    for cell in cells:
        alone, elsewhere = here.find(cell, SEEDS), results.find(cell, SEEDS)
        assert [alone.get(key) for key in ("test", "val", "error", "iterations")] == [
            elsewhere.get(key) for key in ("test", "val", "error", "iterations")
        ]
    assert "unknown probe 'nonsense'" in results.find(cells[1], SEEDS)["error"]
    assert threads and all(each == ["1", "1"] for each in threads)  # for the processes that begin now
    watch()
    assert threads[-1] == ["3", None]


@pytest.mark.parametrize("jobs", [0, 1])
def test_a_failing_cell_is_reported(jobs, results):
    told = []
    cells = [tiny("raw", probe="nonsense"), tiny("raw", "nowhere"), tiny("raw")]
    assert fill(cells, results, jobs=jobs, failed=lambda cell, why: told.append((cell, why))) == 2
    told.sort(key=lambda each: each[1])
    assert [cell for cell, _ in told] == [cells[1], cells[0]]
    assert told[0][1] == "there is no graph nowhere" and told[1][1].startswith("unknown probe 'nonsense'")


def test_after_a_worker_was_killed_this_process_judges(results):
    def kill(done, name):
        for judge in active_children():
            judge.kill()
            judge.join()
        time.sleep(0.2)  # until the pool knows

    cells = [tiny("raw"), *(tiny("dgi", settings={"dim": dim}) for dim in (4, 5, 6))]
    assert fill(cells, results, jobs=1, report=kill) == 0  # nor is the one lost at whose time it was
    assert numbers(results.find(cells[-1], SEEDS)) == expected(cells[-1])


class Killed(ThreadPoolExecutor):
    """A pool whose workers are killed while they work."""

    def submit(self, *_):
        (lost := Future()).set_exception(BrokenProcessPool())
        return lost


def test_the_work_of_killed_workers_is_done_here(results, tmp_path, monkeypatch):
    cells = [tiny("dgi", looks=("spread",)), tiny("raw"), tiny("raw", probe="nonsense")]
    here = Results(tmp_path / "here.jsonl")
    assert fill(cells, here) == 1
    monkeypatch.setattr(workers, "ProcessPoolExecutor", lambda jobs, *_, **__: Killed(jobs))
    assert fill(cells, results, jobs=1) == 1
    for cell in cells:
        alone, left = here.find(cell, SEEDS), results.find(cell, SEEDS)
        assert [alone.get(key) for key in ("test", "val", "looks", "error")] == [
            left.get(key) for key in ("test", "val", "looks", "error")
        ]


def test_ctrl_c_does_not_wait_for_the_work_of_killed_workers(results, monkeypatch):
    begun = []

    def stop(*_):
        begun.append(1)
        raise KeyboardInterrupt

    monkeypatch.setattr(workers, "ProcessPoolExecutor", lambda jobs, *_, **__: Killed(jobs))
    monkeypatch.setattr(runner, "_judge_arrays", stop)
    with pytest.raises(KeyboardInterrupt):
        fill([tiny("raw")], results, jobs=1)
    assert begun == [1] and [*Results(results.path)] == []


class Stopped(ThreadPoolExecutor):
    """A pool whose jobs are cancelled before they begin."""

    def submit(self, *_):
        (never := Future()).cancel()
        return never


def test_a_second_ctrl_c_finds_workers_that_never_began(results, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(workers, "ProcessPoolExecutor", lambda jobs, *_, **__: Stopped(jobs))
    with pytest.raises(KeyboardInterrupt):
        fill([tiny("raw")], results, jobs=1, report=stop)
    assert [*Results(results.path)] == []


def test_workers_ignore_ctrl_c():
    before = active_children()
    with pytest.raises(KeyboardInterrupt), working(1) as workers:
        assert workers.submit(signal.getsignal, signal.SIGINT).result() == signal.SIG_IGN
        workers.submit(time.sleep, 60)
        begun = time.perf_counter()
        raise KeyboardInterrupt
    assert time.perf_counter() - begun < 10 and active_children() == before  # nobody waits for their result


JUDGED = """
import os, time
from signnap_paper.workers import working
if __name__ == "__main__":
    with working(1) as workers:
        print(workers.submit(os.getpid).result(), flush=True)
        workers.submit(time.sleep, 60)
        time.sleep(60)
"""


def test_workers_end_with_a_killed_parent(tmp_path):
    (tmp_path / "judged.py").write_text(JUDGED)
    with subprocess.Popen([sys.executable, tmp_path / "judged.py"], stdout=subprocess.PIPE, text=True) as parent:
        judge = int(parent.stdout.readline())
        parent.kill()
        try:
            assert parent.communicate(timeout=10)[0] == ""  # the end: nobody is left who could write
        finally:
            with suppress(ProcessLookupError):
                os.kill(judge, signal.SIGKILL)


def test_seconds_are_those_of_training(results, monkeypatch):
    def slow(name):
        time.sleep(1)
        return GRAPH

    monkeypatch.setattr(runner, "load_graph", slow)
    assert 0 < one(tiny("dgi"), results)["seconds"] < 1


def test_a_graph_that_cannot_be_loaded_is_tried_once(results, monkeypatch):
    asked = []

    def offline(name):
        asked.append(name)
        raise SignnapError(f"{name}: no network")

    monkeypatch.setattr(runner, "load_graph", offline)
    cells = [tiny(method, graph) for method in ("raw", "deepwalk") for graph in ("a", "b")]
    assert fill(cells, results) == 4 and asked == ["a", "b"]
    assert all("no network" in results.find(cell, SEEDS)["error"] for cell in cells)
