"""Which processor this machine has: results name it, and products depend on it."""

from __future__ import annotations

import platform
from pathlib import Path

_CPUINFO = Path("/proc/cpuinfo")


def processor_name() -> str:
    """Model and maker as far as the system tells, for example "AMD EPYC (AuthenticAMD)"."""
    try:
        lines = _CPUINFO.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:  # not Linux
        lines = []
    facts = [line.partition(":") for line in lines]
    model, maker = (
        next((value.strip() for name, _, value in facts if name.strip() == key), "")
        for key in ("model name", "vendor_id")
    )
    if maker:
        return f"{model} ({maker})" if model else maker
    return platform.processor() or platform.machine()
