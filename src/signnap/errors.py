"""The exception for errors that the user can correct, and the text of messages on a terminal."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable

#: The most characters of a message that are shown.
_LONGEST = 2_000
#: Unicode's categories of characters that a terminal obeys instead of showing them: control and format characters,
#: halves of surrogate pairs, and separators of lines and paragraphs.
_OBEYED = {"Cc", "Cf", "Cs", "Zl", "Zp"}


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


def printable(words: str) -> str:
    """A message as one line for a terminal: control characters are escaped, and a long message loses its middle.

    Messages quote names from files. A file of somebody else may have names that move the cursor, change the title of
    the window, or imitate further lines.

    >>> print(printable("unknown column 'a\\x1b[2J\\nb'"))
    unknown column 'a\\x1b[2J\\nb'
    """
    if not words.isprintable():
        words = "".join(
            char.encode("unicode_escape").decode() if unicodedata.category(char) in _OBEYED else char for char in words
        )
    if len(words) > _LONGEST:
        half = _LONGEST // 2
        words = f"{words[:half]} … ({len(words) - 2 * half:,} characters left out) … {words[-half:]}"
    return words
