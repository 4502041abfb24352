"""Fetch one file over HTTP: whole and recognised, or not at all."""

from __future__ import annotations

import hashlib
import http.client
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ..errors import SignnapError
from ..storage import replacing

_CHUNK_BYTES = 1 << 16
_BACK_OFF_SECONDS = 0.5


class _Failure(Exception):
    """Why one attempt failed, in words, and whether another one could succeed."""

    def __init__(self, what: str, *, again: bool) -> None:
        super().__init__(what)
        self.again = again


def fetch(
    url: str,
    destination: str | Path,
    *,
    sha256: str | None = None,
    by_hand: str | None = None,
    timeout: float = 30,
    retries: int = 3,
    max_bytes: int = 1 << 28,
) -> Path:
    """Download ``url`` to ``destination``, which appears only when it is complete and its checksum agrees.

    ``timeout`` is the longest silence from the server in seconds; ``by_hand`` is the place a user may put the file
    instead, named in the error. Broken connections, short transfers and server errors are tried again.
    """
    destination = Path(destination)
    with replacing(destination) as temporary:
        for attempt in range(retries + 1):
            try:
                _attempt(url, temporary, sha256, timeout, max_bytes)
                break
            except _Failure as failure:
                if not failure.again or attempt == retries:
                    place = by_hand or destination
                    raise SignnapError(
                        f"cannot download {url}: {failure}; you can put the file at {place} by hand"
                    ) from failure
                time.sleep(_BACK_OFF_SECONDS * 2**attempt)
    return destination


def _attempt(url: str, path: Path, sha256: str | None, timeout: float, max_bytes: int) -> None:
    """Stream the answer into ``path`` and check it."""
    if urlsplit(url).scheme not in ("http", "https"):
        raise _Failure("only http and https addresses are fetched", again=False)
    try:
        answer = _opener().open(url, timeout=timeout)
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise _in_words(error, timeout) from error
    with answer:
        found = _stream(answer, path, url, timeout, max_bytes)
    if sha256 is not None and found != sha256:
        raise _Failure(f"its SHA-256 is {found}, expected {sha256}", again=False)


def _in_words(error: Exception, timeout: float) -> _Failure:
    """Say what went wrong on the network; a refusal by the server or a senseless address is final."""
    if isinstance(error, urllib.error.HTTPError):
        return _Failure(f"the server answered {error.code} ({error.reason})", again=error.code >= 500)
    if isinstance(error, TimeoutError) or isinstance(getattr(error, "reason", None), TimeoutError):
        return _Failure(f"the server was silent for {timeout:g} seconds", again=True)
    if isinstance(error, urllib.error.URLError):
        return _Failure(f"no connection ({error.reason})", again=True)
    if isinstance(error, ValueError) and not isinstance(error, OSError):
        return _Failure(f"this is not a usable address ({error})", again=False)
    return _Failure(f"the connection broke ({error or type(error).__name__})", again=True)


def _opener() -> urllib.request.OpenerDirector:
    """An opener that knows no scheme but http and https, so that no redirection leads to a local file."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler,
        urllib.request.HTTPHandler,
        urllib.request.HTTPSHandler,
        urllib.request.HTTPRedirectHandler,
        urllib.request.HTTPErrorProcessor,
        urllib.request.HTTPDefaultErrorHandler,
        urllib.request.UnknownHandler,
    ):
        opener.add_handler(handler())
    return opener


def _stream(answer: Any, path: Path, url: str, timeout: float, max_bytes: int) -> str:
    """Write the body to ``path`` and return its SHA-256."""
    declared = answer.headers.get("Content-Length", "")
    total = int(declared) if declared.isdigit() else None
    if total is not None and total > max_bytes:
        raise _Failure(f"it is {total:,} bytes long, the limit is {max_bytes:,}", again=False)
    digest, received = hashlib.sha256(), 0
    with open(path, "wb") as file, _progress(url, total) as advance:
        for chunk in _chunks(answer, timeout):
            received += len(chunk)
            if received > max_bytes:
                raise _Failure(f"it is longer than the limit of {max_bytes:,} bytes", again=False)
            file.write(chunk)
            digest.update(chunk)
            advance(len(chunk))
    if total is not None and received != total:
        raise _Failure(f"the transfer was cut off after {received:,} of {total:,} bytes", again=True)
    return digest.hexdigest()


def _chunks(answer: Any, timeout: float) -> Iterator[bytes]:
    """Yield the body piece by piece; only reading is translated, so that a full disk keeps its own error."""
    while True:
        try:
            chunk = answer.read(_CHUNK_BYTES)
        except (OSError, http.client.HTTPException) as error:
            raise _in_words(error, timeout) from error
        if not chunk:
            return
        yield chunk


@contextmanager
def _progress(url: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Show a bar on a terminal, or one plain line in a log; always on stderr."""
    name = urlsplit(url).path.rsplit("/", 1)[-1]
    if not sys.stderr.isatty():
        size = "" if total is None else f" ({total:,} bytes)"
        print(f"downloading {url}{size}", file=sys.stderr)
        yield lambda count: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(name, total=total)
        yield lambda count: bar.update(task, advance=count)
