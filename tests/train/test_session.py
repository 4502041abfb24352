"""A session: what it logs and when, what it saves, how it is stopped, and what a resumed one remembers."""

import json
import os
import re
import signal
import threading
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import torch

from signnap.train import session as module
from signnap.train.health import Collapsed, Health
from signnap.train.run_folder import RunFolder
from signnap.train.session import Interrupted, Timetable, Trainee, train


@pytest.fixture
def folder(tmp_path):
    folder = RunFolder(tmp_path / "run")
    folder.path.mkdir()
    return folder


def session(run, iterations, health=None, **options):
    timetable = Timetable(iterations, log_every=4, save_every=options.pop("save_every", 1e9))
    trainee = Trainee(run, health or Health(), options.pop("folder", None))
    (outcome,) = train([trainee], timetable, **options)
    return outcome


def logged(folder):
    return [record["iteration"] for record in folder.read_metrics()]


def test_the_first_every_nth_and_the_last_iteration_are_logged(small_graph, start, folder):
    heard = []
    outcome = session(start(small_graph), 10, folder=folder, report=lambda i, words="": heard.append((i, words)))
    assert logged(folder) == [1, 4, 8, 10]
    assert [i for i, _ in heard] == list(range(1, 11))
    records = {record["iteration"]: record for record in folder.read_metrics()}
    for iteration, words in heard:
        assert words == (f"loss {records[iteration]['loss']:.4f}" if iteration in records else "")
    assert outcome.iteration == 10
    assert outcome.numbers == {k: v for k, v in records[10].items() if k not in ("iteration", "seconds")}
    assert outcome.numbers["loss"] == pytest.approx(outcome.numbers["loss_1"] + outcome.numbers["loss_2"], rel=1e-6)
    assert {"alignment", "uniformity", "effective_rank", "norm"} < set(outcome.numbers)
    seconds = [record["seconds"] for record in records.values()]
    assert seconds == sorted(seconds) and outcome.seconds >= seconds[-1] > 0


def test_logging_changes_nothing(small_graph, start, folder, snapshot, same):
    kept, silent = start(small_graph), start(small_graph)
    session(kept, 10, folder=folder, save_every=0)
    train([Trainee(silent, Health())], Timetable(10, log_every=100))
    assert same(snapshot(kept), snapshot(silent))


@pytest.mark.parametrize(("save_every", "saved"), [(0, list(range(1, 7))), (1e9, [6])])
def test_checkpoints_come_in_time_and_at_the_end(save_every, saved, small_graph, start, folder, monkeypatch):
    states = []
    monkeypatch.setattr(RunFolder, "save_state", lambda self, state, weights: states.append(state["iteration"]))
    session(start(small_graph), 6, folder=folder, save_every=save_every)
    assert states == saved


@pytest.mark.parametrize(("cost", "saved"), [(0.0, [2, 4, 6, 8]), (0.0625, [2, 5, 8]), (1.0, [2, 8])])
def test_saving_takes_a_small_part_of_the_time(cost, saved, small_graph, start, folder, monkeypatch):
    """Here an iteration takes a second, and a checkpoint is wanted every second."""
    clock, states = SimpleNamespace(now=0.0), []

    def save(self, state, weights):
        states.append(state["iteration"])
        clock.now += cost

    def tick(iteration, words=""):
        clock.now += 1

    monkeypatch.setattr(RunFolder, "save_state", save)
    monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=lambda: clock.now))
    session(start(small_graph), 8, folder=folder, save_every=1.0, report=tick)
    assert states == saved


def test_state_and_weights_belong_together(small_graph, start, folder):
    run = start(small_graph)
    session(run, 6, folder=folder)
    encoder = start(small_graph, seed=1).task.encoder
    folder.load_into(encoder)
    state = folder.load_state()["modules"]
    assert all(torch.equal(value, state[f"encoder.{name}"]) for name, value in encoder.state_dict().items())


def test_without_a_folder_nothing_is_written(small_graph, start, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert session(start(small_graph), 3, save_every=0).iteration == 3
    assert os.listdir(tmp_path) == []


# -- stopping --------------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def python_s_own_handler():
    """A process that was started in the background ignores Ctrl-C; these tests are about one that does not."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def strike(number, at, times=1):
    """A report that sends this process a signal at an iteration."""

    def report(iteration, words=""):
        if iteration == at:
            for _ in range(times):
                os.kill(os.getpid(), number)

    return report


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_between_iterations_and_saves(number, small_graph, start, folder, snapshot, same):
    handlers = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    run = start(small_graph)
    with pytest.raises(Interrupted) as caught:
        session(run, 10, folder=folder, report=strike(number, 3))
    assert str(caught.value) == (
        f"stopped at iteration 3 of 10; everything is saved in {folder.path}: continue with --resume (resume=True)"
    )
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == handlers
    resumed, whole = start(small_graph, seed=1), start(small_graph)
    resumed.restore(folder.load_state())
    assert resumed.iteration == 3
    session(resumed, 10, folder=folder)
    session(whole, 10)
    assert same(snapshot(resumed), snapshot(whole))


def test_a_signal_at_the_last_iteration_is_too_late(small_graph, start, folder):
    assert session(start(small_graph), 5, folder=folder, report=strike(signal.SIGINT, 5)).iteration == 5


class Striking(float):
    """Seconds that send Ctrl-C when somebody asks whether they have passed: just after a look for signals."""

    def __le__(self, passed):
        os.kill(os.getpid(), signal.SIGINT)
        return False


def test_a_signal_after_the_look_for_one_waits_for_the_next_look(small_graph, start, folder):
    with pytest.raises(Interrupted, match="stopped at iteration 2 of 10; everything is saved"):
        session(start(small_graph), 10, folder=folder, save_every=Striking(1e9))
    assert folder.load_state()["iteration"] == 2


def test_a_handler_that_python_cannot_put_back_becomes_the_default(small_graph, start, folder, monkeypatch):
    """Of one that was installed from C, Python says None, and would not take that back."""
    set_handler, before = signal.signal, signal.getsignal(signal.SIGTERM)

    def unknown_before(number, handler):
        previous = set_handler(number, handler)
        return None if number == signal.SIGTERM else previous

    monkeypatch.setattr(module.signal, "signal", unknown_before)
    try:
        assert session(start(small_graph), 3, folder=folder).iteration == 3
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        set_handler(signal.SIGTERM, before)


def test_a_second_signal_interrupts_at_once(small_graph, start, folder):
    with pytest.raises(KeyboardInterrupt):
        session(start(small_graph), 10, folder=folder, report=strike(signal.SIGINT, 3, times=2))
    assert not folder.state.exists()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_without_a_folder_ctrl_c_is_python_s_own(small_graph, start):
    with pytest.raises(KeyboardInterrupt):
        session(start(small_graph), 10, report=strike(signal.SIGINT, 3))


def test_outside_the_main_thread_there_are_no_signals_to_catch(small_graph, start, folder):
    outcomes = []
    worker = threading.Thread(target=lambda: outcomes.append(session(start(small_graph), 4, folder=folder)))
    worker.start()
    worker.join()
    assert outcomes[0].iteration == 4


# -- collapse and memory ---------------------------------------------------------------------------------------------


def test_a_collapse_is_logged_and_not_saved(small_graph, start, folder):
    with pytest.raises(Collapsed):
        session(start(small_graph, lr=1e20), 12, folder=folder)
    assert logged(folder)[-1] < 12
    assert not folder.state.exists() and not folder.model.exists()


def test_a_finished_run_remembers_its_numbers_and_seconds(small_graph, start, folder):
    run = start(small_graph)
    first = session(run, 6, folder=folder)
    again = session(run, 6, folder=folder)
    assert again.iteration == 6
    assert again.numbers == first.numbers
    assert 0 < again.seconds <= first.seconds + 1
    further = session(run, 10, folder=folder)
    assert further.seconds > list(folder.read_metrics())[2]["seconds"]


def test_history_is_what_was_logged(small_graph, start, folder):
    run = start(small_graph)
    first = session(run, 6, folder=folder)
    assert first.history == [*folder.read_metrics()] and len(first.history) == 3
    further = session(run, 10, folder=folder)  # and goes on where a session ended
    assert further.history == [*folder.read_metrics()]
    assert [record["iteration"] for record in further.history] == [1, 4, 6, 8, 10]
    assert further.history[-1].items() >= further.numbers.items()


def test_history_needs_no_folder_and_is_each_trainee_s_own(small_graph, start):
    trainees = [Trainee(start(small_graph, seed=seed), Health()) for seed in range(2)]
    one, other = train(trainees, Timetable(6, log_every=4))
    assert [record["iteration"] for record in one.history] == [1, 4, 6]
    assert [record["loss"] for record in one.history] != [record["loss"] for record in other.history]


@pytest.mark.parametrize("stuck", [True, False])
def test_a_resumed_run_remembers_how_long_it_has_been_at_chance(stuck, small_graph, start, folder, monkeypatch):
    run = start(small_graph, temperature=1e4)  # every loss is at chance
    chance = run.task.objective.chance()
    good = {"norm": 1.0, "effective_rank": 5.0, "uniformity": -1.0, "seconds": 0.0}
    for iteration, loss in ((1, chance), (4, chance if stuck else 2 * chance)):
        folder.append_metrics({"iteration": iteration, "loss": loss, **good})
    run.iteration = 4
    monkeypatch.setattr("signnap.train.health._PATIENCE", {0.001: 6})
    with pytest.raises(Collapsed, match="still at chance") if stuck else nullcontext():
        assert session(run, 8, Health(chance), folder=folder).iteration == 8


def test_trainees_share_a_session_and_have_folders_of_their_own(small_graph, start, tmp_path, snapshot, same):
    runs = [start(small_graph, seed=seed) for seed in range(2)]
    folders = [RunFolder(tmp_path / str(seed)) for seed in range(2)]
    for folder in folders:
        folder.path.mkdir()
    trainees = [Trainee(run, Health(), folder) for run, folder in zip(runs, folders, strict=True)]
    outcomes = train(trainees, Timetable(6, log_every=4))
    for seed, (folder, outcome) in enumerate(zip(folders, outcomes, strict=True)):
        alone = start(small_graph, seed=seed)
        numbers = session(alone, 6).numbers
        assert outcome.numbers == numbers and outcome.iteration == 6
        assert same(folder.load_state(), snapshot(alone)) and logged(folder) == [1, 4, 6]


def test_a_collapse_that_is_passed_is_noted_once(small_graph, start, caplog):
    caplog.set_level("INFO", "signnap")
    run = start(small_graph, lr=1e20)
    outcome = session(run, 20, stop_on_collapse=False)
    (note,) = caplog.messages
    assert outcome.iteration == 20 and note == f"training continues after a collapse: {outcome.collapsed}"
    assert outcome.collapsed.startswith("the loss is 7.887 and the mean norm nan at iteration 1")
    caplog.clear()
    assert session(start(small_graph), 20, stop_on_collapse=False).collapsed is None
    assert caplog.messages == []


def test_a_run_that_nobody_watches_goes_on(small_graph, start, folder, caplog):
    caplog.set_level("INFO", "signnap")
    run = start(small_graph, lr=1e20)
    for until in (20, 24):  # the second reads the first one's history
        (outcome,) = train([Trainee(run, None, folder)], Timetable(until, log_every=4))
        assert outcome.iteration == until
    assert caplog.messages == []


class Ill(Health):
    def check(self, iteration, numbers):
        return "it is ill" if iteration == 4 else None


def test_one_collapse_does_not_stop_others_that_are_kept(small_graph, start, snapshot, same, folder):
    ill, well = start(small_graph), start(small_graph, seed=1)
    trainees = [Trainee(well, Health(), folder), Trainee(ill, Ill())]
    with pytest.raises(Collapsed, match=r"^training collapsed in 1 of 2 runs, first in number 2: it is ill; "):
        train(trainees, Timetable(10, log_every=4))
    assert (ill.iteration, well.iteration) == (4, 10)
    assert [trainee.collapse for trainee in trainees] == [None, "it is ill"]
    alone = start(small_graph, seed=1)
    session(alone, 10)
    assert same(snapshot(well), snapshot(alone))


def test_without_folders_nobody_trains_on_for_nothing(small_graph, start):
    ill, well = start(small_graph), start(small_graph, seed=1)
    with pytest.raises(Collapsed, match="in 1 of 2 runs, first in number 2: it is ill; --keep-going"):
        train([Trainee(well, Health()), Trainee(ill, Ill())], Timetable(10, log_every=4))
    assert (ill.iteration, well.iteration) == (4, 4)


def test_a_collapse_of_one_of_several_names_its_folder(small_graph, start, folder):
    trainees = [Trainee(start(small_graph), Health()), Trainee(start(small_graph, seed=1), Ill(), folder)]
    with pytest.raises(Collapsed, match=f"collapsed in 1 of 2 runs, first in {re.escape(str(folder.path))}: it is ill"):
        train(trainees, Timetable(10, log_every=4))


def test_seconds_add_up_over_sessions(small_graph, start, folder):
    run = start(small_graph)
    session(run, 6, folder=folder)
    long = [record | {"seconds": record["seconds"] + 1000} for record in folder.read_metrics()]
    folder.metrics.write_text("".join(json.dumps(record) + "\n" for record in long))
    assert session(run, 6, folder=folder).seconds > 1000
    assert session(run, 10, folder=folder).seconds > 1000
    assert all(record["seconds"] > 1000 for record in folder.read_metrics())
