"""Files that are either whole or absent: write under a temporary name, then rename."""

from __future__ import annotations

import glob
import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from .errors import SignnapError


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; on success it takes that name, on any failure it is removed.

    A reader therefore never sees half a file, whenever the process is killed. The suffix is kept, because
    several writers choose their format by it. A link stays, and the file that it leads to is replaced.
    """
    path = Path(path)
    target = _behind(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.stem}-", suffix=path.suffix)
        os.close(handle)
    except OSError as error:
        raise cannot_write(path, error) from error
    temporary = Path(name)
    try:
        yield temporary
        with open(temporary, "rb+") as written:
            os.fsync(written.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        temporary.unlink(missing_ok=True)


def remove_leftovers(path: str | Path) -> None:
    """Remove the temporary files that writers of ``path`` left beside it when they were killed."""
    path = Path(path)
    target = _behind(path)
    drawn = "[a-z0-9_]" * 8  # what mkstemp puts between prefix and suffix
    for leftover in target.parent.glob(f".{glob.escape(target.stem)}-{drawn}{glob.escape(path.suffix)}"):
        with suppress(OSError):  # it does no harm where it is
            leftover.unlink()


def expect_folder(path: Path) -> None:
    """Refuse a path that is a file, or leads through one, where a folder is wanted."""
    for each in (path, *path.parents):
        if os.path.isfile(each):
            raise SignnapError(f"{each} is a file: expected a folder")


@contextmanager
def alone(folder: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold off other processes that want to be alone in this folder, where the system knows how.

    The folder itself is locked, so nothing is left behind, and a process that is killed holds nobody off. One that
    finds another there may ``wait`` for it to leave; else that is an error.
    """
    with ExitStack() as held:
        try:
            import fcntl

            handle = os.open(folder, os.O_RDONLY)
            held.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise SignnapError(
                f"{folder} is being written by another process: expected to be alone there, "
                "so wait for that to end or choose another folder"
            ) from error
        except (ImportError, OSError):  # not everywhere, nor on every disk
            pass
        yield


def write_text(path: str | Path, text: str) -> None:
    """Write a whole text file atomically."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def cannot_read(path: Path, error: OSError) -> SignnapError:
    """Say in one sentence why a file could not be read."""
    return SignnapError(f"cannot read {path}: {error.strerror or error}")


def cannot_write(path: Path, error: OSError) -> SignnapError:
    """Say in one sentence why a file could not be written."""
    return SignnapError(f"cannot write {path}: {error.strerror or error}; nothing was left half-written")


def _behind(path: Path) -> Path:
    """The file that a link leads to, there or not; any other path is itself."""
    return Path(os.path.realpath(path)) if os.path.islink(path) else path


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
