"""Filling a table: no cell is trained twice, a failure costs one cell, and a stop loses little work."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event

import pytest
from tiny_cells import SEEDS, expected, fill, numbers, tiny, whole

from signnap import Method, method_class
from signnap.errors import SignnapError
from signnap_paper import runner, workers
from signnap_paper.results import Results

pytestmark = pytest.mark.usefixtures("loaded", "short_probes")


def test_completed_cells_are_skipped(results, trained, loaded):
    cells = [tiny("raw"), tiny("dgi"), tiny("raw")]  # one of them twice
    assert fill(cells[:1], results) == 0
    before = results.find(cells[0], SEEDS)
    assert fill(cells, results) == 0
    assert trained == [("raw", "synthetic"), ("dgi", "synthetic")]
    assert results.find(cells[0], SEEDS) == before
    loaded.clear()
    assert fill(cells, Results(results.path)) == 0
    assert len(trained) == 2 and loaded == []


def test_cells_that_differ_in_judging_only_are_trained_once(results, trained):
    cells = [tiny("dgi"), tiny("dgi", probe="linear-plain", probe_seeds=2), tiny("dgi", probe="nonsense"),
             tiny("dgi", settings={"dim": 4})]  # fmt: skip
    told = []
    assert fill(cells, results, report=whole(told)) == 1
    assert len(trained) == 2 and [done for done, _ in told] == [3, 4]
    for cell in (*cells[:2], cells[3]):
        assert numbers(results.find(cell, 2)) == expected(cell)
    assert "unknown probe 'nonsense'" in results.find(cells[2], 2)["error"]


def test_no_seed_is_trained_twice(results, monkeypatch):
    asked, fit_seeds = [], Method.fit_seeds
    spy = lambda self, graph, seeds, **options: asked.extend(seeds) or fit_seeds(self, graph, seeds, **options)
    monkeypatch.setattr(Method, "fit_seeds", spy)
    first, later = tiny("dgi"), tiny("dgi", probe="linear-plain", probe_seeds=2)
    told = []
    assert fill([first], results) == 0
    assert fill([first, later], results, seeds=4, report=whole(told)) == 0
    assert asked == [0, 1, 2, 3, 0, 1]  # what both lack, and what one does
    assert told == [(2, str(later))]  # a half of the second comes with the first
    for cell in (first, later):
        assert numbers(results.find(cell, 4)) == expected(cell, 4)


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
    errors = [results.find(cell, SEEDS).get("error", "") for cell in cells]
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
    assert all("date" in results.find(cell, SEEDS) and "test" not in results.find(cell, SEEDS) for cell in cells[:5])
    assert numbers(results.find(cells[5], SEEDS)) == expected(cells[5])


def test_a_cell_that_failed_with_one_seed_is_not_tried_with_the_next(results, monkeypatch):
    tried, told = [], []
    monkeypatch.setattr(Method, "fit_seeds", lambda self, graph, seeds, **_: tried.append((self.name, seeds)) or 1 / 0)
    cells = [tiny("raw"), tiny("dgi")]
    assert fill(cells, results, failed=lambda cell, why: told.append(cell)) == 2
    assert tried == [("raw", [0]), ("dgi", [0])] and told == cells


def test_failures_are_tried_again(results, monkeypatch, trained):
    cells = [tiny("dgi"), tiny("raw")]
    with monkeypatch.context() as broken:
        broken.setattr(method_class("dgi"), "build_encoder", lambda *_: 1 / 0)
        assert fill(cells, results) == 1
    assert results.find(cells[0], SEEDS)["error"] == "ZeroDivisionError: division by zero"
    assert fill(cells, results) == 0
    assert trained == [("dgi", "synthetic"), ("raw", "synthetic"), ("dgi", "synthetic")]
    assert numbers(results.find(cells[0], SEEDS)) == expected(cells[0])


def test_with_a_limit_of_zero_nothing_is_trained(results, loaded, monkeypatch):
    monkeypatch.setattr(time, "perf_counter", lambda: 5.0)  # a clock too coarse to move
    reports = []
    assert fill([tiny("raw"), tiny("dgi")], results, limit=0, report=lambda *told: reports.append(told)) == 2
    assert loaded == reports == []


def test_after_the_limit_no_cell_begins(results, trained, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])

    def report(done, words):
        now[0] += 10.0 * (done == int(done))

    cells = [tiny("raw", name) for name in "abcd"]
    assert fill(cells, results, limit=15, report=report) == 2
    assert trained == [("raw", "a"), ("raw", "b")]
    assert fill(cells, results, limit=15, report=report) == 0


def test_reports_count_what_was_there_before(results):
    cells, told = [tiny("raw", name) for name in "abc"], []
    fill(cells[1:2], results)
    fill(cells, results, report=whole(told))
    assert told == [(2, "raw on a"), (3, "raw on c")]


def test_reports_include_the_progress_of_a_cell(results):
    told = []
    assert fill([tiny("raw", "a"), tiny("dgi", "b")], results, report=lambda *one: told.append(one)) == 0
    shares, words = zip(*told, strict=True)
    assert list(shares) == sorted(shares)  # three iterations and the judging of each of two encoder seeds
    assert shares[-8:] == tuple(1 + each / 8 for each in range(1, 9))
    assert words[-8] == f"{tiny('dgi', 'b')}, iteration 1 of 3" and words[-1] == f"{tiny('dgi', 'b')}"


# -- being stopped -----------------------------------------------------------------------------------------------------


def interrupt(*_, **__):
    raise KeyboardInterrupt


def test_ctrl_c_keeps_what_is_written(results, trained):
    cells = [tiny("raw", name) for name in "abc"]
    with pytest.raises(KeyboardInterrupt):
        fill(cells, results, report=lambda done, words: done == 2 and interrupt())
    kept = Results(results.path)
    assert kept.missing(cells, SEEDS) == [(cells[2], [0, 1])]
    with pytest.raises(KeyboardInterrupt):
        fill(cells, kept, report=lambda done, words: done == 2.5 and interrupt())
    kept = Results(results.path)
    assert kept.missing(cells, SEEDS) == [(cells[2], [1])]  # a CPU trains one encoder after another
    assert fill(cells, kept) == 0
    assert trained == [("raw", "a"), ("raw", "b"), ("raw", "c")]


def test_ctrl_c_in_training_is_no_result(results, monkeypatch):
    monkeypatch.setattr(method_class("dgi"), "build_encoder", interrupt)
    cells = [tiny("raw"), tiny("dgi")]
    with pytest.raises(KeyboardInterrupt):
        fill(cells, results)
    assert Results(results.path).missing(cells, SEEDS) == [(cells[1], [0, 1])]
    assert results.find(cells[1], SEEDS) is None


@pytest.fixture
def at_work(monkeypatch):
    """Workers are threads that wait for a signal; the fixture also lists those that have begun."""
    begun, go_on, judge = [], Event(), runner._judge_arrays

    def wait(*arguments):
        begun.append(1)
        assert go_on.wait(10)
        return judge(*arguments)

    monkeypatch.setattr(runner, "_judge_arrays", wait)
    monkeypatch.setattr(workers, "ProcessPoolExecutor", lambda jobs, *_, **__: ThreadPoolExecutor(jobs))
    yield begun, go_on
    go_on.set()


def test_cells_train_while_others_are_judged(results, at_work):
    cells, known = [tiny("raw", name) for name in "abc"], []

    def report(done, words):
        known.append(len(cells) - len(Results(results.path).missing(cells, 1)))
        if done == 3:
            at_work[1].set()

    assert fill(cells, results, jobs=2, seeds=1, report=report) == 0
    assert set(known) == {0}
    assert all(numbers(results.find(cell, 1)) == expected(cell, 1) for cell in cells)


def test_ctrl_c_does_not_wait_for_workers_that_have_not_begun(results, at_work):
    cells = [tiny("raw", name) for name in "abc"]

    def report(done, words):
        if done == 3:
            at_work[1].set()
            interrupt()

    with pytest.raises(KeyboardInterrupt):
        fill(cells, results, jobs=1, report=report)
    assert len(at_work[0]) < 6  # of three cells with two seeds
    assert fill(cells, results) == 0


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_judged_encoders_are_kept_whatever_stops_the_command(error, results, at_work, monkeypatch):
    cells, judges = [tiny("raw", name) for name in "ab"], ThreadPoolExecutor(1)
    monkeypatch.setattr(workers, "ProcessPoolExecutor", lambda *_, **__: judges)

    def report(done, words):
        if done == 1:
            at_work[1].set()
            judges.submit(int).result()  # who comes last is done last
            raise error

    with pytest.raises(error):
        fill(cells, results, jobs=1, report=report)
    kept = Results(results.path)
    assert kept.missing(cells, SEEDS) == [(cells[1], [0, 1])]
    assert numbers(kept.find(cells[0], SEEDS)) == expected(cells[0])


def test_a_row_that_is_being_written_when_it_is_stopped_is_kept(results, monkeypatch):
    add, stops = Results.add, iter([interrupt])
    monkeypatch.setattr(Results, "add", lambda *row: next(stops, add)(*row))
    with pytest.raises(KeyboardInterrupt):
        fill([tiny("raw")], results)
    assert Results(results.path).missing([tiny("raw")], 1) == []


def test_nothing_is_trained_if_the_file_cannot_be_written(tmp_path, loaded):
    (tmp_path / "file").touch()
    with pytest.raises(SignnapError, match=r"cannot write .*rows\.jsonl"):
        fill([tiny("raw")], Results(tmp_path / "file" / "rows.jsonl"))
    with pytest.raises(SignnapError, match="device is 'gpu': expected auto, cpu or cuda"):
        fill([tiny("raw")], Results(tmp_path / "rows.jsonl"), device="gpu")
    assert loaded == [] and not (tmp_path / "rows.jsonl").exists()


# -- more seeds later --------------------------------------------------------------------------------------------------


def test_more_seeds_train_only_those(results, tmp_path, monkeypatch):
    seeds, fit_seeds = [], Method.fit_seeds
    spy = lambda self, graph, wanted, **options: seeds.extend(wanted) or fit_seeds(self, graph, wanted, **options)
    monkeypatch.setattr(Method, "fit_seeds", spy)
    cell, fresh = (
        tiny("dgi", split="random:0.2:0.2", redrawn=True, looks=("spread", "map")),
        Results(tmp_path / "fresh"),
    )
    assert fill([cell], results, seeds=2) == 0
    assert fill([cell], results, seeds=4) == fill([cell], results, seeds=1) == 0
    assert seeds == [0, 1, 2, 3]
    assert fill([cell], fresh, seeds=4) == 0
    found, whole = results.find(cell, 4), fresh.find(cell, 4)
    assert numbers(found) == numbers(whole) == expected(cell, 4)
    assert [found[name] for name in ("seeds", "iterations", "looks")] == [
        whole[name] for name in ("seeds", "iterations", "looks")
    ]


def test_a_rule_decides_what_is_run(tmp_path, trained):
    results = Results(tmp_path / "rows.jsonl", lambda cell: replace(cell, graph="pubmed"))
    assert fill([tiny("raw", "cora"), tiny("raw", "facebook")], results) == 0
    assert trained == [("raw", "pubmed")]
    assert numbers(results.find(tiny("raw", "cora"), SEEDS)) == expected(tiny("raw", "pubmed"))
