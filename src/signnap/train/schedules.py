"""Schedules of the learning rate. This module does not import torch."""

from __future__ import annotations

import math
from collections.abc import Callable

from ..errors import SignnapError

#: name -> the factor after the warm-up, as a function of the finished part of the rest (0 to 1)
_SHAPES: dict[str, Callable[[float], float]] = {
    "cosine": lambda done: (1 + math.cos(math.pi * done)) / 2,
    "linear": lambda done: 1 - done,
}


def rate_factor(schedule: str, iterations: int) -> Callable[[int], float] | None:
    """The factor of the learning rate as a function of the iteration, counted from 0; None if it is always 1.

    A schedule is "constant", or a shape with the share of iterations that warm up: "cosine:0.1" or "linear:0". The
    factor grows from 0 to 1 in equal steps during the warm-up, and then falls to 0 along the shape.

    >>> factor = rate_factor("linear:0.2", iterations=10)
    >>> [factor(t) for t in (0, 1, 2, 6)]
    [0.0, 0.5, 1.0, 0.5]
    """
    if schedule == "constant":
        return None
    name, _, share = schedule.partition(":")
    try:
        warm_up = float(share)
    except ValueError:
        warm_up = -1.0
    if name not in _SHAPES or not 0 <= warm_up < 1:
        raise SignnapError(
            f"schedule is {schedule!r}: expected constant, or cosine or linear with the share of warm-up (cosine:0.1)"
        )
    start = warm_up * iterations

    def factor(iteration: int) -> float:
        if iteration < start:
            return iteration / start
        return _SHAPES[name](min(1.0, (iteration - start) / (iterations - start)))

    return factor
