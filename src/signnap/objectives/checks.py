"""What the arguments of objectives have to be. Constructors ask, so that no way to build one goes round it."""

from __future__ import annotations

import math

from ..errors import SignnapError, unknown_name
from ..gpu import PRECISIONS


def expect_scores(temperature: float, precision: str) -> None:
    """Refuse what scores cannot be divided by, or products be computed in."""
    if not 0 < temperature < math.inf:
        raise SignnapError(f"the temperature is {temperature}: expected a positive number")
    if precision not in PRECISIONS:
        raise unknown_name("precision", precision, PRECISIONS)


def expect_draws(negatives: int, share: int) -> None:
    """Refuse to draw no negatives, or for groups of anchors that cannot be."""
    if negatives < 1:
        raise SignnapError(f"the number of negatives is {negatives}: expected at least 1")
    if share < 0:
        raise SignnapError(f"the number of anchors that share negatives is {share}: expected at least 1, or 0 for all")
