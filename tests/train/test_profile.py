"""A profile: times that add up, a trace that can be read, and training that does not notice."""

import errno
import json
import threading
import time

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from full_disk import full_disk
from signnap import SIGNNAP, method_class
from signnap.errors import SignnapError
from signnap.interfaces import observing, region
from signnap.train import loop
from signnap.train import profile as module
from signnap.train.profile import Profiler, Stopwatch
from signnap.train.run_folder import RunFolder

SMALL = {"dim": 8, "negatives": 16, "temperature": 0.5}
PARTS = {"iteration", "views", "encoder", "contrast", "backward", "optimiser", "memory"}


class Clock:
    """Time that passes when told, as seen by the host and by a GPU."""

    def __init__(self):
        self.now, self.held, self.waited = 0.0, [], 0

    def perf_counter(self):
        return self.now

    def hold(self, cycles):
        self.held.append(cycles)
        self.now += 5

    def synchronize(self):
        self.waited += 1

    def event(self, enable_timing=False):
        assert enable_timing
        clock = self

        class Event:
            def record(self):
                self.at = clock.now

            def elapsed_time(self, other):
                assert clock.waited, "events are read before the device has come to them"
                return 1000 * (other.at - self.at)

        return Event()


@pytest.fixture(params=["cpu", "gpu"])
def clock(request, monkeypatch):
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    if request.param == "gpu":
        monkeypatch.setattr(torch.cuda, "Event", clock.event)
        monkeypatch.setattr(torch.cuda, "_sleep", clock.hold)
        monkeypatch.setattr(torch.cuda, "synchronize", clock.synchronize)
    clock.watch = Stopwatch(request.param == "gpu")
    return clock


# -- regions ---------------------------------------------------------------------------------------------------------


def test_a_region_is_charged_for_itself_only(clock):
    with observing(clock.watch):
        for _ in range(2):
            clock.now += 100  # in no region
            with region("outer"):
                clock.now += 1
                with region("inner"):
                    clock.now += 10
                    with region("outer"):  # a region may contain itself
                        clock.now += 0.5
                clock.now += 2
        with pytest.raises(KeyError), region("failed"):
            clock.now += 4
            raise KeyError
        clock.now += 100
    assert clock.watch.milliseconds() == pytest.approx({"outer": 7000, "inner": 20000, "failed": 4000})


def test_a_gpu_is_held_back_before_outermost_regions_only(clock):
    with observing(clock.watch):
        for _ in range(3):
            with region("outer"), region("inner"):
                clock.now += 1
    assert len(clock.held) == (3 if clock.watch._on_gpu else 0)
    assert clock.watch.milliseconds() == pytest.approx({"outer": 0, "inner": 3000})


NAMES = st.sampled_from("abc")
TREES = st.recursive(
    st.tuples(NAMES, st.integers(0, 9), st.just([])),
    lambda inner: st.tuples(NAMES, st.integers(0, 9), st.lists(inner, max_size=3)),
    max_leaves=12,
)


@given(st.lists(TREES, max_size=4))
def test_times_add_up(trees):
    clock, expected = Clock(), {}

    def enter(tree):
        name, seconds, inner = tree
        expected[name] = expected.get(name, 0) + 1000 * seconds
        with region(name):
            for each in inner:
                enter(each)
            clock.now += seconds

    watch = Stopwatch(on_gpu=False)
    with pytest.MonkeyPatch.context() as patch, observing(watch):
        patch.setattr(module, "time", clock)
        for tree in trees:
            enter(tree)
            clock.now += 1
    assert watch.milliseconds() == expected


def test_nobody_looks_unless_asked_and_only_in_this_thread():
    nothing = region("a")
    assert region("b") is nothing  # one object for all: next to no cost, and nothing for a recording to stumble over
    seen, elsewhere = Stopwatch(on_gpu=False), []
    with pytest.raises(KeyError), observing(seen):
        with region("a"):
            pass
        worker = threading.Thread(target=lambda: elsewhere.append(region("b")))
        worker.start()
        worker.join()
        raise KeyError
    assert elsewhere == [nothing] and region("c") is nothing
    assert set(seen.milliseconds()) == {"a"}


# -- the stretch that is looked at -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "stages"),
    [(2, (0, 1, 1)), (3, (1, 1, 1)), (8, (2, 3, 3)), (24, (5, 9, 10)), (25, (5, 10, 10)), (5000, (5, 10, 10))],
)
def test_iterations_6_to_25_or_fewer(left, stages, tmp_path):
    profiler = Profiler(tmp_path, left)
    assert (profiler.skipped, profiler.timed, profiler.traced) == stages


@pytest.mark.parametrize("capture", [True, False])
def test_nothing_is_recorded_before_the_profile_is_done(capture, small_graph, start, tmp_path, monkeypatch):
    recorded = []

    class Spy(loop.Launcher):
        def __init__(self, runs, *, capture):
            super().__init__(runs, capture=capture)
            self.wanted = capture

        def __call__(self):
            recorded.append(self.wanted)
            return super().__call__()

    monkeypatch.setattr(loop, "Launcher", Spy)
    run, profiler = start(small_graph), Profiler(tmp_path / "trace.json", 30)
    for _ in profiler.lockstep([run], 30, capture=capture):
        assert (profiler.profile is not None) == (run.iteration > 25)
    assert recorded == [False] * 25 + [capture] * 5
    assert run.iteration == 30


# -- what comes out --------------------------------------------------------------------------------------------------


@pytest.fixture
def sleepy():
    """A model whose views take fifteen milliseconds each."""

    def sleep(view, generator):
        time.sleep(0.015)
        return view

    return SIGNNAP(**SMALL, iterations=30, perturbation=sleep)


def test_nothing_is_left_to_profile(small_graph, tmp_path):
    model = method_class("supervised")(dim=8, iterations=300, patience=5, lr=1.0, split="inductive:per-class:5:5")
    assert model.fit(small_graph, out=tmp_path / "run").outcome_.iteration < 298
    with pytest.raises(SignnapError, match=r"^a profile needs at least 2 iterations to go: the patience .* used up$"):
        model.fit(small_graph, out=tmp_path / "run", resume=True, profile=True)


def test_the_most_expensive_region_comes_first(sleepy, small_graph, tmp_path):
    begun = time.perf_counter()
    outcome = sleepy.fit(small_graph, out=tmp_path / "run", profile=True).outcome_
    wall = 1000 * (time.perf_counter() - begun)
    profile = outcome.profile
    assert (profile.iterations, profile.trace) == (10, tmp_path / "run" / "trace.json")
    assert {each.name for each in profile.regions} == PARTS
    times = [each.milliseconds for each in profile.regions]
    assert times == sorted(times, reverse=True) and all(spent > 0 for spent in times)
    assert profile.regions[0].name == "views" and profile.regions[0].milliseconds >= 30
    assert sum(times) < wall / 30 * 2
    for each in profile.regions:
        assert each.share == pytest.approx(each.milliseconds / sum(times))


def test_the_trace_shows_operations_and_regions_of_ten_iterations(small_graph, tmp_path):
    SIGNNAP(**SMALL, iterations=30).fit(small_graph, out=tmp_path, profile=True)
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    marks = [event["name"] for event in events if event.get("cat") == "user_annotation"]
    for name in PARTS:
        assert marks.count(name) == 10, name
    assert any(event["name"].startswith("aten::") for event in events)


def comparable(folder):
    """Everything a run folder holds but times and the trace."""
    run = RunFolder(folder)
    records = [{**record, "seconds": 0} for record in run.read_metrics()]
    facts = run.read_info().facts | {"seconds": 0, "peak_memory_mb": 0}
    return run.load_state(), records, facts, run.model.read_bytes(), run.config.read_bytes()


@pytest.mark.parametrize("iterations", [2, 3, 8, 40])
@pytest.mark.parametrize("backbone", ["gcn", "gat"])
def test_training_does_not_notice(backbone, iterations, small_graph, tmp_path, same):
    model = SIGNNAP(backbone, **SMALL, iterations=iterations)
    assert model.fit(small_graph, out=tmp_path / "plain").outcome_.profile is None
    assert model.fit(small_graph, out=tmp_path / "seen", profile=True).outcome_.profile is not None
    assert same(comparable(tmp_path / "seen"), comparable(tmp_path / "plain"))
    assert not (tmp_path / "plain" / "trace.json").exists()


def test_several_seeds_have_one_profile_and_one_trace(small_graph, tmp_path, same):
    model = SIGNNAP(**SMALL, iterations=30)
    model.fit_seeds(small_graph, [3, 1], out=tmp_path / "plain")
    fitted = model.fit_seeds(small_graph, [3, 1], out=tmp_path / "seen", profile=True)
    assert fitted[0].outcome_.profile is fitted[1].outcome_.profile
    assert list(tmp_path.rglob("trace.json")) == [tmp_path / "seen" / "seed-3" / "trace.json"]
    marks = json.loads((tmp_path / "seen" / "seed-3" / "trace.json").read_text())["traceEvents"]
    assert sum(event["name"] == "contrast" for event in marks) == 20
    for seed in (3, 1):
        assert same(comparable(tmp_path / "seen" / f"seed-{seed}"), comparable(tmp_path / "plain" / f"seed-{seed}"))


def test_a_resumed_run_is_looked_at_after_it_resumes(small_graph, tmp_path, same):
    SIGNNAP(**SMALL, iterations=60).fit(small_graph, out=tmp_path / "whole")
    SIGNNAP(**SMALL, iterations=20).fit(small_graph, out=tmp_path / "run")
    profile = (
        SIGNNAP(**SMALL, iterations=60).fit(small_graph, out=tmp_path / "run", resume=True, profile=True)
    ).outcome_.profile
    assert profile.iterations == 10 and profile.trace.exists()
    assert same(RunFolder(tmp_path / "run").load_state(), RunFolder(tmp_path / "whole").load_state())


# -- what goes wrong -------------------------------------------------------------------------------------------------


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_profile_needs_a_folder_and_something_to_look_at(small_graph, tmp_path):
    with pytest.raises(SignnapError, match=r"^a profile is written to the folder of its run: give out as well$"):
        SIGNNAP(**SMALL, iterations=30).fit(small_graph, profile=True)
    with pytest.raises(SignnapError, match=r"^a profile needs at least 2 iterations to go: found 1$"):
        SIGNNAP(**SMALL, iterations=1).fit(small_graph, out=tmp_path / "short", profile=True)
    assert not (tmp_path / "short").exists()
    done = SIGNNAP(**SMALL, iterations=3).fit(small_graph, out=tmp_path / "done")
    before, z = contents(tmp_path / "done"), done.transform(small_graph)
    with pytest.raises(SignnapError, match=r"^a profile needs at least 2 iterations to go: found 0$"):
        done.fit(small_graph, out=tmp_path / "done", resume=True, profile=True)
    assert contents(tmp_path / "done") == before
    assert np.array_equal(done.transform(small_graph), z)


@pytest.mark.parametrize("at", [3, 10, 20])
def test_a_run_stopped_while_looked_at(at, small_graph, tmp_path, same):
    def stop(iteration, words=""):
        if iteration == at:
            raise KeyboardInterrupt

    model = SIGNNAP(**SMALL, iterations=40)
    with pytest.raises(KeyboardInterrupt):
        model.fit(small_graph, out=tmp_path / "run", profile=True, report=stop, save_every=0)
    assert not (tmp_path / "run" / "trace.json").exists()
    assert not torch.autograd._profiler_enabled()
    assert region("a") is region("b")
    model.fit(small_graph, out=tmp_path / "run", resume=True, profile=True)
    model.fit(small_graph, out=tmp_path / "whole")
    assert (tmp_path / "run" / "trace.json").exists()
    assert same(comparable(tmp_path / "run"), comparable(tmp_path / "whole"))


def test_a_trace_that_cannot_be_exported(small_graph, tmp_path, monkeypatch):
    model = SIGNNAP(**SMALL, iterations=30)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with full_disk(100_000), pytest.raises(SignnapError, match=r"^cannot write .*trace\.json: exporting the trace by"):
        model.fit(small_graph, out=tmp_path / "run", profile=True)
    assert set(contents(tmp_path / "run")) == {"config.toml", "run.json", "metrics.jsonl"}
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_trace_that_is_written_is_whole(small_graph, tmp_path, monkeypatch):
    def half(source, target):
        target.write(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    SIGNNAP(**SMALL, iterations=20).fit(small_graph, out=tmp_path, profile=True)
    before = contents(tmp_path)
    monkeypatch.setattr("signnap.train.profile.shutil.copyfileobj", half)
    with pytest.raises(SignnapError, match=r"^cannot write .*trace\.json: No space left on device; nothing was left"):
        SIGNNAP(**SMALL, iterations=50).fit(small_graph, out=tmp_path, resume=True, profile=True)
    after = contents(tmp_path)
    assert after.keys() == before.keys() and after["trace.json"] == before["trace.json"]


# -- a real GPU ------------------------------------------------------------------------------------------------------


@pytest.mark.gpu
def test_a_gpu_is_profiled_in_its_own_time(small_graph, tmp_path):
    if not torch.cuda.is_available():
        pytest.skip("needs a GPU")
    model = SIGNNAP(**SMALL, iterations=60)
    plain = model.fit(small_graph, out=tmp_path / "plain", device="cuda").outcome_
    for name in ("seen", "again"):  # the profiler starts anew after a graph was recorded
        seen = model.fit(small_graph, out=tmp_path / name, device="cuda", profile=True).outcome_
        assert {each.name for each in seen.profile.regions} == PARTS
        # held back until all is queued, a device needs far less than the host for so small a graph
        assert 0 < sum(each.milliseconds for each in seen.profile.regions) < 5
        assert seen.numbers["loss"] == pytest.approx(plain.numbers["loss"], rel=1e-3)
        events = json.loads((tmp_path / name / "trace.json").read_text())["traceEvents"]
        assert any(event.get("cat") == "kernel" for event in events)
