"""A disk that is full, without filling one."""

from contextlib import contextmanager

import pytest


@contextmanager
def full_disk(size):
    """Let no file grow past this many bytes; writing more fails as it does on a full disk."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
