"""The program ``signnap`` as a process: its settings, its streams, its signals and its exit codes."""

from __future__ import annotations

import ctypes
import errno
import io
import os
import re
import signal
import sys
import time
from pathlib import Path

from ..errors import SignnapError
from ..train.progress import tell

#: glibc's numbers of these settings, and the largest value that it accepts for the second.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _LARGEST = -1, -3, 32 << 20
#: The most free memory that the process keeps, in bytes.
_KEPT = 512 << 20

#: Environment variables by which a user chooses how threads wait.
_WAITING = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME", "KMP_LIBRARY")
#: Turns of GNU OpenMP's waiting loop before a thread sleeps. Its default is 300,000, which takes milliseconds.
_SPIN_COUNT = 3000
#: How often, and at which distance in seconds, the number of running threads is read.
_SAMPLES, _PAUSE = 10, 0.004


def main() -> None:
    """Run the program: exit code 0, 1 with one sentence on stderr, 2 for bad usage, 130 for Ctrl-C, 143 for SIGTERM."""
    if sys.stderr is None:  # The caller closed it. Without this line the next opened file would become stderr.
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that cannot show ± shows a question mark
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # exits by way of all cleanups
    keep_freed_memory()
    if not {"-h", "--help", "--version"} & {*sys.argv}:  # these answer at once, and do not need torch
        limit_waiting()
    try:
        _run()
    except SignnapError as error:
        _fail(str(error))
    except (MemoryError, RuntimeError) as error:
        # torch reports this as a RuntimeError
        if not isinstance(error, MemoryError) and not re.search("allocate memory|out of memory", str(error)):
            raise
        _fail("there is not enough memory for this graph and these settings")
    except OSError as error:
        if error.filename is not None or error.errno not in (errno.EPIPE, errno.ENOSPC):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes stdout again at its end
        if error.errno == errno.EPIPE:  # the reader of the output (head, less) has closed it
            sys.exit(1)
        _fail(f"cannot write the result: {error.strerror}")
    except KeyboardInterrupt:
        sys.exit(130)


def _run() -> None:
    """Run the command of the arguments, and flush the output while ``main`` can still handle a closed pipe."""
    from .app import app

    try:
        app()
    finally:
        if sys.stdout is not None:
            sys.stdout.flush()


def _fail(sentence: str) -> None:
    tell(f"error: {sentence}")
    sys.exit(1)


def keep_freed_memory() -> None:
    """Let the C library keep up to 512 MiB of freed memory instead of returning it to the system in every iteration.

    The system clears each page before it hands the page out again; on two cores that was a tenth of a training step of
    GRACE on amazon_photo. glibc keeps blocks of up to 32 MiB. Larger blocks and other C libraries are not affected.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # not glibc, or CDLL(None) finds no C library
        return
    mallopt(_MMAP_THRESHOLD, _LARGEST)
    mallopt(_TRIM_THRESHOLD, _KEPT)


def limit_waiting() -> None:
    """Limit how long the threads of OpenMP spin while they wait for each other. Call this before torch is imported.

    By default they spin for milliseconds before they sleep. Where other processes need the cores, a spinning thread
    keeps the thread that it waits for from running, and training takes several times as long. If there are too few idle
    cores now, threads sleep at once. Otherwise they spin for less than a tenth of a millisecond, which is about the
    time that it takes to wake a thread. Variables that the user has set are respected.

    GNU, LLVM and Intel OpenMP read ``OMP_WAIT_POLICY``. ``GOMP_SPINCOUNT`` is GNU's, which torch for Linux contains.
    """
    if any(name in os.environ for name in _WAITING) or (threads := _threads()) == 1:
        return
    if _running_threads() + threads > (os.cpu_count() or 1):
        os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
    else:
        os.environ["GOMP_SPINCOUNT"] = str(_SPIN_COUNT)


def _threads() -> int:
    """The number of threads with which torch will compute."""
    chosen = os.environ.get("OMP_NUM_THREADS", "")
    if chosen.isdecimal():
        return int(chosen)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _running_threads() -> int:
    """The number of threads of other processes that run or wait for a core; 0 on systems other than Linux.

    The smallest of several counts is returned, so that a thread that runs for a moment only does not count.
    """
    counts = []
    for _ in range(_SAMPLES):
        try:
            found = Path("/proc/loadavg").read_text(encoding="ascii")
        except OSError:
            return 0
        counts.append(int(found.split()[3].partition("/")[0]) - 1)  # without this thread
        time.sleep(_PAUSE)
    return min(counts)
