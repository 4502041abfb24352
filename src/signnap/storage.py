"""Safe reading and writing of files.

A written file is complete or absent: a writer uses a temporary file, then renames it. An output that the user names
may be a symbolic link, which is followed. A run folder may come from another person: the functions with ``regular`` in
their name accept only regular files there, since a link would let its author choose which file is read or overwritten.
"""

from __future__ import annotations

import glob
import os
import secrets
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import BinaryIO

from .errors import SignnapError

#: Flags to open a file from another person: follow no link, and do not wait for the other end of a FIFO.
_GUARDED = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)

#: Number of random hexadecimal digits in a temporary name.
_RANDOM = 16
#: Seconds without a write after which a temporary file counts as abandoned, on disks without locks.
_LONG = 24 * 3600

#: Names of file types that are not regular, for error messages.
_KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


# -- outputs that the user names -------------------------------------------------------------------------------------


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; on success rename it to ``path``, on any failure remove it.

    Readers never see an incomplete file, even if the process is killed. The temporary path keeps the suffix, because
    some writers choose their format by it. A symbolic link stays, and the file that it points to is replaced.
    """
    path = Path(path)
    target = Path(os.path.realpath(path)) if os.path.islink(path) else path
    remove_leftovers(target, path.suffix)
    with _renamed(path, target) as file:
        yield Path(file.name)
        with open(file.name, "rb+") as written:
            os.fsync(written.fileno())


def write_text(path: str | Path, text: str) -> None:
    """Write a text file atomically."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


# -- files in folders that may come from another person --------------------------------------------------------------


def stat_regular(path: Path) -> os.stat_result | None:
    """The status of a regular file, or None where there is no file; anything else is an error."""
    try:
        found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise cannot_read(path, error) from error
    _expect_regular(path, found)
    return found


@contextmanager
def open_regular(path: Path, at_most: int) -> Iterator[BinaryIO]:
    """Open a regular file of at most so many bytes to read it."""
    stat_regular(path)  # opening a device may already have an effect
    with ExitStack() as opened:
        try:
            file = opened.enter_context(open(path, "rb", opener=lambda name, flags: os.open(name, flags | _GUARDED)))
        except OSError as error:
            raise cannot_read(path, error) from error
        found = os.fstat(file.fileno())  # the opened file: another file may have its name now
        _expect_regular(path, found)
        if found.st_size > at_most:
            raise SignnapError(f"{path} has {found.st_size:,} bytes: expected at most {at_most:,}")
        yield file


def read_regular(path: Path, at_most: int) -> bytes:
    """The content of a regular file of at most so many bytes."""
    with open_regular(path, at_most) as file:
        try:
            return file.read(at_most)
        except OSError as error:
            raise cannot_read(path, error) from error


def path_of(file: BinaryIO) -> Path:
    """A path for libraries that open files by name. It leads to this open file, even if another file got its name.

    On systems without such paths this is the name.
    """
    by_number = Path(f"/dev/fd/{file.fileno()}")
    return by_number if by_number.exists() else Path(file.name)


@contextmanager
def replacing_regular(path: Path) -> Iterator[BinaryIO]:
    """Yield a new temporary file; on success rename it to ``path``, on any failure remove it.

    Renaming replaces a link and does not follow it, so a link that appears after the check does no harm.
    """
    stat_regular(path)
    with _renamed(path, path) as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def write_regular(path: Path, text: str) -> None:
    """Write a text file atomically. An existing file at its place must be a regular one."""
    with replacing_regular(path) as file:
        file.write(text.encode())


def append_regular(path: Path, text: str) -> None:
    """Append to a regular file without other names (hard links), or create it."""
    stat_regular(path)
    try:
        with open(path, "ab", opener=lambda name, flags: os.open(name, flags | _GUARDED, 0o666)) as file:
            found = os.fstat(file.fileno())
            _expect_regular(path, found)
            if found.st_nlink > 1:
                raise SignnapError(f"{path} is also a file elsewhere (a hard link): expected a file of its own")
            file.write(text.encode())
    except OSError as error:
        raise cannot_write(path, error) from error


def _expect_regular(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        kind = _KINDS.get(stat.S_IFMT(found.st_mode), "no file")
        raise SignnapError(f"{path} is {kind}: expected a regular file")


# -- shared functions ------------------------------------------------------------------------------------------------


@contextmanager
def _renamed(path: Path, target: Path) -> Iterator[BinaryIO]:
    """Yield a new file beside ``target``, with the suffix of ``path``; then rename it. Errors name ``path``."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        file = _new_file(target, path.suffix)
    except OSError as error:
        raise cannot_write(path, error) from error
    try:
        with file:
            yield file
        os.replace(file.name, target)
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        with suppress(OSError):
            Path(file.name).unlink(missing_ok=True)


def _new_file(target: Path, suffix: str) -> BinaryIO:
    """Create a file with a random, unused name (O_EXCL refuses dangling links, too), and lock it.

    It gets the permissions of the file that it will replace. Its owner may always write, since metrics are appended.
    """
    mode = os.lstat(target).st_mode if os.path.lexists(target) else 0
    kept = (mode & 0o777) | stat.S_IWUSR if stat.S_ISREG(mode) else None
    opener = partial(os.open, mode=0o666 if kept is None else kept)
    while True:
        path = target.parent / f".{target.stem}-{secrets.token_hex(_RANDOM // 2)}{suffix}"
        with suppress(FileExistsError), ExitStack() as opened:
            file = opened.enter_context(open(path, "x+b", opener=opener))
            if _is_locked(file) and path.exists():  # otherwise another process removed it before it was locked
                if kept is not None and hasattr(os, "fchmod"):
                    os.fchmod(file.fileno(), kept)  # restores the permissions that the umask removed
                opened.pop_all()
                return file


def remove_leftovers(path: Path, suffix: str | None = None) -> None:
    """Remove the temporary files that killed writers of ``path`` left beside it.

    Only regular files of this user are removed, and no file that a process is writing. If the writers were called with
    a link to ``path``, ``suffix`` is the suffix of the link.
    """
    drawn = "[0-9a-f]" * _RANDOM
    suffix = path.suffix if suffix is None else suffix
    for leftover in path.parent.glob(f".{glob.escape(path.stem)}-{drawn}{glob.escape(suffix)}"):
        with suppress(OSError, SignnapError), open_regular(leftover, sys.maxsize) as file:
            if _is_abandoned(file):
                leftover.unlink()


def _is_abandoned(file: BinaryIO) -> bool:
    """Whether a temporary file belongs to this user and no process is writing it."""
    found = os.fstat(file.fileno())
    if hasattr(os, "geteuid") and found.st_uid != os.geteuid():
        return False
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except ImportError:  # this system does not remove open files
        return True
    except OSError:  # this disk has no locks
        return time.time() - found.st_mtime > _LONG
    return True


def _is_locked(file: BinaryIO) -> bool:
    """Lock a new file until it is closed, if the system supports that. False if another process has locked it."""
    with suppress(ImportError, OSError):
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def expect_folder(path: Path) -> None:
    """Refuse a path that is not a folder, or that has a file among its parents."""
    for each in (path, *path.parents):
        if os.path.lexists(each) and not os.path.isdir(each):
            kind = _KINDS.get(stat.S_IFMT(os.lstat(each).st_mode), "a file")
            raise SignnapError(f"{each} is {kind}: expected a folder")


@contextmanager
def alone(folder: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold an exclusive lock on a folder, if the system supports that.

    The lock is on the folder itself, so there is no lock file, and the lock of a killed process disappears. If another
    process holds the lock, wait for it, or raise an error if ``wait`` is false.
    """
    with ExitStack() as held:
        try:
            import fcntl

            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            held.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise SignnapError(
                f"{folder} is being written by another process: expected to be alone there, "
                "so wait for that to end or choose another folder"
            ) from error
        except (ImportError, OSError):  # this system or disk has no such locks
            pass
        yield


def cannot_read(path: Path, error: OSError) -> SignnapError:
    """The error for a file that cannot be read."""
    return SignnapError(f"cannot read {path}: {error.strerror or error}")


def cannot_write(path: Path, error: OSError) -> SignnapError:
    """The error for a file that cannot be written."""
    return SignnapError(f"cannot write {path}: {error.strerror or error}; nothing was left half-written")
