"""Where, when and with which software a number was made: every result is stored with these facts."""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
import sys
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from signnap import __version__
from signnap.ops.dense import processor_name


def provenance(device: torch.device | None = None) -> dict[str, Any]:
    """Return the date, machine, versions and command of this process."""
    on_gpu = torch.cuda.is_available() if device is None else device.type == "cuda"
    return {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "command": shlex.join([*_program(sys.argv[0]), *sys.argv[1:]]),
        "device": torch.cuda.get_device_name() if on_gpu else processor_name(),
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda if on_gpu else None,
        "triton": _version("triton"),
        "signnap": __version__,
        "revision": _revision(),
    }


def failure(error: Exception) -> dict[str, str]:
    """Return the entry of a row that failed: the first line of its error."""
    return {"error": f"{type(error).__name__}: {error}".splitlines()[0]}


def _program(path: str) -> list[str]:
    """Return how this program is called: by its command, as a module, or as a script."""
    file = Path(path)
    if file.name == "signnap" or file.parts[-2:] == ("signnap", "__main__.py"):
        return ["signnap"]
    if file.suffix == ".py" and file.parts[-3:-1] == (__package__, "benchmarks"):
        return ["python", "-m", f"{__package__}.benchmarks.{file.stem}"]
    return ["python", path] if path.endswith(".py") else [path]


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _revision() -> str | None:
    """Return the revision of the code: the environment's REVISION (for copies without history), or what git says.

    The revision is `-dirty` if a file of either package differs from it; results written beside the packages do not
    count. Where the packages are installed inside another repository, git does not know this file, and the revision of
    that repository says nothing about them.
    """
    if "REVISION" in os.environ:
        return os.environ["REVISION"] or None
    if not _git("ls-files", "--error-unmatch", Path(__file__).name):
        return None
    revision = _git("describe", "--always", "--abbrev=12", "--exclude=*")
    return f"{revision}-dirty" if _git("status", "--porcelain", "--", ".", "../signnap") else revision


def _git(*arguments: str) -> str | None:
    try:
        command = ["git", *arguments]
        done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None
