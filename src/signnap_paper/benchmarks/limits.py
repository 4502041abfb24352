"""What no step can beat: the rate of a large copy, and the time that work takes at such rates."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from .floor import Work
from .rates import best_seconds


def copy_rate(device: torch.device, megabytes: int | None = None) -> float:
    """Bytes per second in a copy, counted once as read and once as written."""
    megabytes = megabytes or (2048 if device.type == "cuda" else 256)
    source = torch.ones(megabytes << 18, device=device)
    target = torch.empty_like(source)
    return 2 * source.nbytes / best_seconds(lambda: target.copy_(source), device)


def floor_ms(operations: Mapping[str, Work], flops_per_second: float, bytes_per_second: float) -> float:
    """Milliseconds that the parts take one after another, each bound by its arithmetic or by its traffic."""
    seconds = (max(work.operations / flops_per_second, work.bytes / bytes_per_second) for work in operations.values())
    return 1e3 * sum(seconds)
