"""The device that a run is computed on, and how much of its memory that took."""

from __future__ import annotations

import sys

import torch

from ..errors import SignnapError


def choose_device(name: str) -> torch.device:
    """Turn auto, cpu or cuda into a device that is there."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name not in ("cpu", "cuda"):
        raise SignnapError(f"device is {name!r}: expected auto, cpu or cuda")
    if name == "cuda" and not torch.cuda.is_available():
        raise SignnapError("device is cuda, but torch finds no CUDA device here: use cpu")
    return torch.device(name)


def peak_memory_mb(device: torch.device) -> float:
    """The most memory this process has held, in MB: the GPU's where that did the work."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 2**20
    if sys.platform == "linux":
        return process_memory_mb("VmHWM")
    try:
        import resource
    except ImportError:  # not on this system
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10


def process_memory_mb(key: str) -> float:
    """What Linux says of the memory of this process, in MB: ``VmRSS`` is what it holds, ``VmHWM`` the most it has held.

    The peak that ``getrusage`` knows may be that of whoever started the process.
    """
    with open("/proc/self/status", encoding="ascii", errors="replace") as status:
        return next((int(line.split()[1]) / 1024 for line in status if line.startswith(key)), 0.0)
