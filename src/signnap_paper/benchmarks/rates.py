"""What this machine reaches at its best: the rate of a large matrix product."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch

from signnap.ops.dense import matmul

_PRECISE = {"float32": "highest", "tf32": "high", "bf16": "highest"}  # as torch calls them


def matmul_rate(device: torch.device, precision: str = "float32", size: int | None = None) -> float:
    """Floating-point operations per second in a product of two square matrices: 2·size³ by the best of a few."""
    size = size or (8192 if device.type == "cuda" else 2048)
    kind = torch.bfloat16 if precision == "bf16" else torch.float32
    left, right = (torch.randn(size, size, device=device).to(kind) for _ in range(2))
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(_PRECISE[precision])
    try:
        return 2 * size**3 / best_seconds(lambda: matmul(left, right), device)
    finally:
        torch.set_float32_matmul_precision(before)


def synchronize(device: torch.device) -> None:
    """Wait for a GPU to finish what was launched; a CPU is never behind."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def best_seconds(action: Callable[[], Any], device: torch.device, times: int = 5) -> float:
    """Seconds of the quickest of some calls, after one that does not count."""
    seconds = []
    for _ in range(times + 1):
        synchronize(device)
        begun = time.perf_counter()
        action()
        synchronize(device)
        seconds.append(time.perf_counter() - begun)
    return min(seconds[1:])
