"""The program ``signnap`` as a process: its settings, its streams, its signals and its exit codes."""

from __future__ import annotations

import ctypes
import errno
import io
import os
import re
import signal
import sys

from ..errors import SignnapError
from ..train.progress import tell

#: glibc's numbers of these settings, and the largest value that it accepts for the second.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _LARGEST = -1, -3, 32 << 20
#: The most free memory that the process keeps, in bytes.
_KEPT = 512 << 20


def main() -> None:
    """Run the program: exit code 0, 1 with one sentence on stderr, 2 for bad usage, 130 for Ctrl-C, 143 for SIGTERM."""
    if sys.stderr is None:  # The caller closed it. Without this line the next opened file would become stderr.
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that cannot show ± shows a question mark
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # exits by way of all cleanups
    keep_freed_memory()
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
