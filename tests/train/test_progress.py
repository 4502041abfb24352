"""Progress: on stderr only, with a rate and what is left, a bar for terminals and lines for files."""

import errno
import io
import sys

import pytest

from signnap.train import progress as module
from signnap.train.progress import progress, silent


@pytest.fixture
def clock(monkeypatch):
    """Time that passes when told."""

    class Clock:
        now = 100.0

        def perf_counter(self):
            return self.now

    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


def test_lines_come_every_ten_seconds_and_at_the_end(clock, capsys):
    with progress(100) as report:
        for iteration in range(1, 101):
            clock.now += 1
            report(iteration, f"loss {iteration}" if iteration % 4 == 0 else "")
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert out == ""
    assert [int(line.split()[1].split("/")[0]) for line in lines] == [10, 20, 30, 40, 50, 60, 70, 80, 90, 100]
    assert lines[0] == "iteration 10/100  1.0 it/s  90 s left  loss 8"  # the last loss that was told
    assert lines[-1] == "iteration 100/100  1.0 it/s  0 s left  loss 100"


def test_a_resumed_run_counts_its_own_iterations_only(clock, capsys):
    with progress(1000) as report:
        for iteration in range(901, 951):
            clock.now += 2
            report(iteration, "loss 1")
    assert capsys.readouterr().err.splitlines()[-1] == "iteration 950/1000  2.0 s/it  100 s left  loss 1"


def test_one_iteration_is_enough(clock, capsys):
    with progress(1) as report:
        report(1, "loss 2")
    assert capsys.readouterr().err == "iteration 1/1  loss 2\n"  # nothing is known about the pace yet


def test_things_that_take_longer(clock, capsys):
    with progress(29, "cell") as report:
        for number in (2, 3):
            clock.now += 30
            report(number, f"dgi on graph {number}")
    assert capsys.readouterr().err.splitlines() == [
        "cell 2/29  dgi on graph 2",
        "cell 3/29  2.0 cells/min  0:13:00 left  dgi on graph 3",
    ]


def test_things_that_take_hours_are_told_of_bit_by_bit(clock, capsys):
    with progress(3, "cell") as report:
        for tenths in (10, 12, 15, 30):
            clock.now += 1000
            report(tenths / 10, f"{tenths} tenths")
    assert capsys.readouterr().err.splitlines()[1:3] == [
        "cell 1/3  0.7 cells/h  2:30:00 left  12 tenths",
        "cell 1/3  0.9 cells/h  1:40:00 left  15 tenths",
    ]


@pytest.mark.parametrize(("what", "rate"), [("iteration", "it/s"), ("cell", "cells/min")])
def test_a_terminal_gets_a_bar(what, rate, monkeypatch, capsys):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "150")
    with progress(10, what) as report:
        for iteration in range(1, 6):
            report(iteration, "loss 0.5" if iteration == 5 else "")
        report(6)  # the last words stay
    drawn = terminal.getvalue()
    assert "training" in drawn and f"{what} 6/10" in drawn and rate in drawn and "loss 0.5" in drawn
    assert capsys.readouterr().out == ""


def test_nobody_listens(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stderr", None)
    with progress(1) as report:
        report(1, "loss 2")
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("terminal", [False, True])
def test_what_cannot_be_written_does_not_end_the_work(terminal, monkeypatch, capsys):
    class Gone(io.StringIO):
        def isatty(self):
            return terminal

        def write(self, *text):
            raise OSError(errno.EIO, "Input/output error")

        flush = write

    monkeypatch.setattr(sys, "stderr", Gone())
    monkeypatch.setenv("TERM", "xterm")
    with progress(2) as report:
        report(1, "loss 2")
        report(2, "loss 1")
    assert capsys.readouterr() == ("", "")


def test_silence(capsys):
    silent(3, "words")
    assert capsys.readouterr() == ("", "")
