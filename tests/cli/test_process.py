"""What the command line changes about its own process, and that ``fit`` changes nothing about that of its caller.

Memory is measured in fresh processes, because memory that a process has used before does not show the effect.
"""

import os
import platform
import re
import subprocess
import sys
from itertools import cycle
from pathlib import Path

import pytest

from signnap.cli import program
from signnap.cli.program import keep_freed_memory, limit_waiting

#: Write to twenty blocks and free them, twice, and print how many pages the system handed out for the second time.
PROGRAM = """
import resource
import torch
from signnap.cli.program import keep_freed_memory

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

torch.ones(4)
{before}
[torch.ones({size}) for _ in range(20)]
begun = faults()
[torch.ones({size}) for _ in range(20)]
print(faults() - begun)
"""


def faults_after(before, size):
    program = PROGRAM.format(before=before, size=size)
    return int(subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have rules of their own")
@pytest.mark.parametrize("size", [2**18, 2**21], ids=["20 MiB", "160 MiB"])
def test_freed_memory_is_kept(size):
    assert faults_after("keep_freed_memory()", size) < faults_after("", size) / 2


@pytest.mark.parametrize("error", [AttributeError, OSError, TypeError])
def test_another_c_library_is_left_alone(error, monkeypatch):
    def refuse(name):
        raise error

    monkeypatch.setattr("ctypes.CDLL", refuse)
    keep_freed_memory()


def test_fit_leaves_the_process_of_its_caller_alone():
    code = """
import ctypes, os, sys
from signnap import SIGNNAP
import torch

class Refuses(ctypes.CDLL):
    def __getattr__(self, name):
        assert name != "mallopt"
        return super().__getattr__(name)

before, ctypes.CDLL = dict(os.environ), Refuses
SIGNNAP(dim=8, negatives=8, iterations=2).fit("synthetic")
changed = {name for name in {*before, *os.environ} if before.get(name) != os.environ.get(name)}
print([name for name in changed if "OMP" in name or "MALLOC" in name], "signnap.cli" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("[] False\n", 0), done.stderr


# -- waiting threads -------------------------------------------------------------------------------------------------


@pytest.fixture
def machine(monkeypatch):
    """A machine with so many cores, running threads of others and threads of our own, where the user chose nothing."""

    def machine(cores, running, threads):
        for name in (*program._WAITING, "OMP_NUM_THREADS"):
            monkeypatch.setenv(name, "")  # so that it is restored afterwards
            monkeypatch.delenv(name)
        monkeypatch.setattr(os, "cpu_count", lambda: cores)
        monkeypatch.setattr(os, "sched_getaffinity", lambda process: {*range(threads)}, raising=False)
        monkeypatch.setattr(program, "_running_threads", lambda: running)
        return monkeypatch

    return machine


def waiting():
    return {name: os.environ[name] for name in program._WAITING if name in os.environ}


@pytest.mark.parametrize(("cores", "running", "threads"), [(2, 1, 2), (2, 2, 2), (4, 3, 2), (8, 20, 8)])
def test_threads_sleep_at_once_where_cores_are_busy(cores, running, threads, machine):
    machine(cores, running, threads)
    limit_waiting()
    assert waiting() == {"OMP_WAIT_POLICY": "PASSIVE"}


@pytest.mark.parametrize(("cores", "running", "threads"), [(2, 0, 2), (4, 2, 2), (64, 10, 8)])
def test_threads_spin_briefly_where_cores_are_idle(cores, running, threads, machine):
    machine(cores, running, threads)
    limit_waiting()
    assert waiting() == {"GOMP_SPINCOUNT": "3000"}


@pytest.mark.parametrize("name", program._WAITING)
def test_the_choice_of_the_user_is_respected(name, machine):
    machine(2, 2, 2).setenv(name, "1")
    limit_waiting()
    assert waiting() == {name: "1"}


def test_one_thread_waits_for_nobody(machine):
    machine(2, 2, 2).setenv("OMP_NUM_THREADS", "1")
    limit_waiting()
    assert waiting() == {}


def test_a_moment_s_work_of_another_process_does_not_count(monkeypatch):
    counts = cycle(["0.5 0.4 0.3 4/120 99", "0.5 0.4 0.3 2/120 99", "0.5 0.4 0.3 3/120 99"])
    monkeypatch.setattr(Path, "read_text", lambda self, **_: next(counts))
    assert program._running_threads() == 1


def test_a_system_that_does_not_count_running_threads(monkeypatch):
    def refuse(self, **_):
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", refuse)
    assert program._running_threads() == 0


@pytest.mark.skipif(not Path("/proc/loadavg").exists(), reason="this system does not count running threads")
@pytest.mark.skipif(sys.platform != "linux", reason="torch contains another OpenMP there")
def test_torch_s_openmp_gets_the_policy(tmp_path):
    """Every core has a busy process. OpenMP prints its settings as torch loads it."""
    environment = {name: value for name, value in os.environ.items() if name not in program._WAITING}
    environment |= {"OMP_NUM_THREADS": "2", "OMP_DISPLAY_ENV": "VERBOSE", "CUDA_VISIBLE_DEVICES": ""}
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
    try:
        command = [sys.executable, "-m", "signnap", "methods", "--json"]  # loads torch
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    finally:
        for process in busy:
            process.kill()
            process.wait()
    assert done.returncode == 0, done.stderr
    assert set(re.findall(r"OMP_WAIT_POLICY = '(\w+)'", done.stderr)) == {"PASSIVE"}
