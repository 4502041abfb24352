"""Memory that one iteration frees is kept for the next."""

from __future__ import annotations

import ctypes

#: What glibc calls these settings, and the most that it accepts for the second.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _LARGEST = -1, -3, 32 << 20
#: Free memory that a process keeps at most, in bytes.
_KEPT = 512 << 20


def keep_freed_pages() -> None:
    """Have the C library keep up to 512 MiB that are free, rather than hand them back in every iteration.

    The system clears each page before it hands it out again; on two cores that was a tenth of a step of GRACE on
    amazon_photo. glibc keeps blocks of up to 32 MiB; larger ones, and other C libraries, are as they were.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # not glibc, or CDLL(None) finds no C library
        return
    mallopt(_MMAP_THRESHOLD, _LARGEST)
    mallopt(_TRIM_THRESHOLD, _KEPT)
