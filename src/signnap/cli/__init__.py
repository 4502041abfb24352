"""The command line. Nothing here imports torch before a command needs it."""

from __future__ import annotations

import os
import re
import sys

from ..errors import SignnapError


def main() -> None:
    """Run the program: exit code 0, 1 with one sentence on stderr, or 2 for bad usage."""
    from .app import app

    try:
        app()
    except SignnapError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
    except (MemoryError, RuntimeError) as error:
        # torch says it in a RuntimeError of many words
        if not isinstance(error, MemoryError) and not re.search("allocate memory|out of memory", str(error)):
            raise
        print("error: there is not enough memory for this graph and these settings", file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:  # the reader of our output (head, less) has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
