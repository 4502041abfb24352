"""How long ``signnap demo`` takes on idle cores and beside another process, by how threads wait for each other.

``python -m signnap_paper.benchmarks.waiting --out benchmarks/results/waiting.json``
measures only the cells that the file lacks. Runs that other processes of the machine disturb are repeated.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from ..provenance import failure
from .record import Record

#: Environment variables by name of the policy. GNU OpenMP's default is to spin 300,000 times.
POLICIES: dict[str, dict[str, str]] = {
    "as signnap sets it": {},
    "GNU OpenMP's default": {"GOMP_SPINCOUNT": "300000"},
    "passive": {"OMP_WAIT_POLICY": "PASSIVE"},
}
#: Variables that would decide how threads wait, or how many there are.
_CLEARED = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME", "KMP_LIBRARY", "OMP_NUM_THREADS")
#: Numbers of processes that keep a core busy meanwhile.
BUSY = (0, 1)

ABOUT = """
Seconds of `signnap demo` by the wall clock, the start of Python included, with as many threads as cores. Where a core
is busy, another process computes without a pause. The policies take turns, so that each meets the same machine; a time
is the median of the rounds. Relative times are those of a policy over GNU OpenMP's default on idle cores. A run counts
if all other processes of the machine together used less than 5 % of a core meanwhile.
""".strip()
#: The share of a core that other processes may use during a run, and how often a run is tried.
_DISTURBANCE, _ATTEMPTS = 0.05, 10
COLUMNS = {
    "busy": "busy cores", "policy": "threads wait", "seconds": "seconds", "relative": "relative to idle default",
    "rounds": "each round", "error": "error",
}  # fmt: skip


def main() -> None:
    """Measure every cell that the file lacks, in rounds over all policies."""
    options = _options()
    command, limit = ("datasets", inf) if options.quick else ("demo", _DISTURBANCE)
    record = Record(
        options.out, title="Waiting threads", about=ABOUT, keys=["busy", "policy"], columns=COLUMNS,
        protocol={"cores": os.cpu_count(), "command": f"signnap {command}"},
    )  # fmt: skip
    for busy in options.busy:
        lacking = [policy for policy in options.policies if not record.holds(busy=busy, policy=policy)]
        times: dict[str, list[float]] = {policy: [] for policy in lacking}
        errors: dict[str, dict[str, str]] = {}
        for _ in range(options.rounds):
            for policy in lacking:
                try:
                    times[policy].append(seconds_of(command, busy, POLICIES[policy], limit))
                except Exception as error:  # one cell that fails must not cost the others
                    errors[policy] = failure(error)
                print(busy, policy, times[policy][-1:], file=sys.stderr, flush=True)
        for policy in lacking:
            found = {"seconds": median(times[policy]), "rounds": times[policy]} if times[policy] else {}
            record.add({"busy": busy, "policy": policy, **found, **errors.get(policy, {})})
        _relate(record)
        record.save()


def seconds_of(command: str, busy: int, variables: dict[str, str], disturbance: float = _DISTURBANCE) -> float:
    """Run a command of the program, beside so many busy processes and with these environment variables.

    A run during which other processes use more than this share of a core is repeated.
    """
    for _ in range(_ATTEMPTS):
        before = _foreign_seconds()
        seconds = _seconds_of_one_run(command, busy, variables)
        if _foreign_seconds() - before < disturbance * seconds + 0.1:  # the clock of the system ticks every 10 ms
            return seconds
    raise RuntimeError("the machine is busy with other processes")


def _foreign_seconds() -> float:
    """Processor time that this machine has spent, except for this process and its children; 0 where that is unknown."""
    stat = Path("/proc/stat")
    if not stat.exists():
        return 0.0
    user, nice, system = (int(field) for field in stat.read_text(encoding="ascii").split()[1:4])
    own = sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return (user + nice + system) / os.sysconf("SC_CLK_TCK") - own


def _seconds_of_one_run(command: str, busy: int, variables: dict[str, str]) -> float:
    environment = {name: value for name, value in os.environ.items() if name not in _CLEARED} | variables
    with TemporaryDirectory() as folder, _busy_processes(busy):
        begun = time.perf_counter()
        program = [sys.executable, "-m", "signnap", command]
        done = subprocess.run(program, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - begun
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return seconds


@contextmanager
def _busy_processes(count: int) -> Iterator[None]:
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    time.sleep(0.5 if processes else 0)  # until they run
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _relate(record: Record) -> None:
    """Divide all times by that of the default on idle cores, if that is known."""
    idle: dict[str, Any] = record.find(busy=0, policy="GNU OpenMP's default") or {}
    for row in record.rows:
        if "seconds" in row and "seconds" in idle:
            row["relative"] = row["seconds"] / idle["seconds"]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="the JSON file to write or to continue")
    parser.add_argument("--busy", type=int, nargs="+", default=BUSY, help="numbers of busy processes")
    parser.add_argument("--policies", nargs="+", default=[*POLICIES], choices=[*POLICIES], help="only these")
    parser.add_argument("--rounds", type=int, default=3, help="runs of every policy")
    parser.add_argument("--quick", action="store_true", help="a try: a short command, once")
    options = parser.parse_args()
    options.rounds = 1 if options.quick else options.rounds
    return options


if __name__ == "__main__":
    main()
