"""How the learning rate moves over a run. Nothing here needs torch."""

from __future__ import annotations

import math
from collections.abc import Callable

from ..errors import SignnapError

#: name -> the factor after the warm-up, given how much of the rest is over (0 to 1)
_SHAPES: dict[str, Callable[[float], float]] = {
    "cosine": lambda done: (1 + math.cos(math.pi * done)) / 2,
    "linear": lambda done: 1 - done,
}


def rate_factor(schedule: str, iterations: int) -> Callable[[int], float] | None:
    """The factor of the learning rate at an iteration, counted from 0; None where it is always 1.

    A schedule is "constant", or a shape and the share of all iterations before it, in which the rate grows from 0 in
    equal steps: "cosine:0.1" or "linear:0". Either ends at 0.

    >>> factor = rate_factor("linear:0.2", iterations=10)
    >>> [factor(t) for t in (0, 1, 2, 6)]
    [0.0, 0.5, 1.0, 0.5]
    """
    if schedule == "constant":
        return None
    name, _, share = schedule.partition(":")
    try:
        warm = float(share)
    except ValueError:
        warm = -1.0
    if name not in _SHAPES or not 0 <= warm < 1:
        raise SignnapError(
            f"schedule is {schedule!r}: expected constant, or cosine or linear with the share of warm-up (cosine:0.1)"
        )
    begun = warm * iterations

    def factor(iteration: int) -> float:
        if iteration < begun:
            return iteration / begun
        return _SHAPES[name](min(1.0, (iteration - begun) / (iterations - begun)))

    return factor
