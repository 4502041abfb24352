"""Download one file over HTTP: complete and with the right checksum, or not at all.

The standard library suffices. It reads proxies from the environment, and an opener can be restricted to HTTP. pooch
would add requests and its dependencies; urllib3 does not read the proxies, nor repeat a streamed transfer that breaks
off. Neither would make this module shorter.
"""

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
    """Why one attempt failed, and whether another attempt could succeed."""

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

    ``timeout`` is the longest silence of the server in seconds. Broken connections, incomplete transfers and server
    errors are tried again. The error names ``by_hand`` as the place where users can put the file themselves.
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
    """Write the server's answer to ``path`` and check it."""
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
    """Describe a network error. A refusal by the server (4xx) or an invalid address is final."""
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
    """An opener for http and https only, so that no redirection leads to a local file."""
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
    """Yield the body in pieces. Only errors of reading are translated: a full disk keeps its own error."""
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
    """Show progress on stderr: a bar on a terminal, else one plain line."""
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
