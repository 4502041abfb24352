"""The command line. Nothing here imports torch before a command needs it."""

from __future__ import annotations

import errno
import io
import os
import re
import signal
import sys

from ..errors import SignnapError
from .output import say
from .process import keep_freed_memory


def main() -> None:
    """Run the program: exit code 0, 1 with one sentence on stderr, 2 for bad usage, 130 for Ctrl-C, 143 for SIGTERM."""
    if sys.stderr is None:  # it was closed; what is opened next would get its number, and the words of libraries
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ± shows another sign for it
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # half-written files go on the way out
    keep_freed_memory()
    try:
        _run()
    except SignnapError as error:
        _fail(str(error))
    except (MemoryError, RuntimeError) as error:
        # torch says it in a RuntimeError of many words
        if not isinstance(error, MemoryError) and not re.search("allocate memory|out of memory", str(error)):
            raise
        _fail("there is not enough memory for this graph and these settings")
    except OSError as error:
        if error.filename is not None or error.errno not in (errno.EPIPE, errno.ENOSPC):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python would try once more as it ends
        if error.errno == errno.EPIPE:  # the reader of our output (head, less) has gone
            sys.exit(1)
        _fail(f"cannot write the result: {error.strerror}")
    except KeyboardInterrupt:
        sys.exit(130)


def _run() -> None:
    """Do what the arguments say, and write what is still buffered while we can deal with a reader that has gone."""
    from .app import app

    try:
        app()
    finally:
        if sys.stdout is not None:
            sys.stdout.flush()


def _fail(sentence: str) -> None:
    say(f"error: {sentence}")
    sys.exit(1)
