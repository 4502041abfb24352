"""The one exception that carries a sentence for the user."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class SignnapError(Exception):
    """Something the user can act on: its message is one sentence naming what was found and what was expected.

    The command line prints it without a traceback and exits with code 1.
    """


def unknown_name(kind: str, found: object, known: Iterable[str]) -> SignnapError:
    """Build the error for a misspelt name, with the nearest valid one.

    >>> str(unknown_name("backbone", "gnc", ["gcn", "sage"]))
    "unknown backbone 'gnc', did you mean 'gcn'? Known: gcn, sage"
    """
    names = sorted(known)
    near = difflib.get_close_matches(str(found), names, n=1, cutoff=0.5)
    hint = f", did you mean {near[0]!r}?" if near else "."
    return SignnapError(f"unknown {kind} {found!r}{hint} Known: {', '.join(names)}")
