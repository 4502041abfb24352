"""First weights that differ from others by no more than rounding does.

Two machines, or two orders of a sum, give numbers that differ in their last place. What becomes of an encoder whose
weights begin so far apart says how much of a result its seed decides, and how much such differences do.
"""

from __future__ import annotations

import math

import torch

from ..contracts import Encoder


@torch.no_grad()
def nudge(encoder: Encoder) -> None:
    """Move every weight to the next larger number that its type has."""
    for weight in encoder.parameters():
        weight.copy_(torch.nextafter(weight, torch.full_like(weight, math.inf)))
