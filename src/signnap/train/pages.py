"""Memory that one iteration frees is kept for the next."""

from __future__ import annotations

import torch

#: Just below 32 MiB, the largest block that glibc learns from.
_BLOCK = 2**25 - 2**16


def keep_freed_pages() -> None:
    """Have the C library keep up to 64 MiB that are free, rather than hand them back in every iteration.

    The system clears each page before it hands it out again; on two cores that was a tenth of a step of GRACE on
    amazon_photo. glibc serves blocks from memory that it keeps, and keeps twice as much of it, up to the size of the
    largest block that was ever freed: here is one, of which no page is touched. Elsewhere this does nothing.
    """
    torch.empty(_BLOCK, dtype=torch.uint8)
