"""The exception for errors that the user can correct."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class SignnapError(Exception):
    """An error that the user can correct. Its message is one sentence with what was found and what was expected.

    The command line prints the message without a traceback and exits with code 1.
    """


def unknown_name(kind: str, found: object, known: Iterable[str]) -> SignnapError:
    """Build the error for an unknown name, with the most similar known one.

    >>> str(unknown_name("backbone", "gnc", ["gcn", "sage"]))
    "unknown backbone 'gnc', did you mean 'gcn'? Known: gcn, sage"
    """
    names = sorted(known)
    near = difflib.get_close_matches(str(found), names, n=1, cutoff=0.5)
    hint = f", did you mean {near[0]!r}?" if near else "."
    return SignnapError(f"unknown {kind} {found!r}{hint} Known: {', '.join(names)}")
