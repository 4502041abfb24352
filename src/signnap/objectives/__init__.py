"""Objectives: losses of two embeddings of the same nodes."""

from __future__ import annotations

from typing import Any

from ..contracts import Objective
from ..errors import unknown_name
from .all_pairs import AllPairs
from .bank import MemoryBank, draw_negatives
from .decorrelation import CCA, BarlowTwins
from .nce import NCE, InfoNCE

OBJECTIVES: dict[str, type[NCE] | type[InfoNCE]] = {"nce": NCE, "infonce": InfoNCE}


def build_objective(objective: str | Objective, **contrast: Any) -> Objective:
    """Build a named objective with these arguments; an ``Objective`` is returned as it is."""
    if isinstance(objective, Objective):
        return objective
    if objective not in OBJECTIVES:
        raise unknown_name("objective", objective, OBJECTIVES)
    return OBJECTIVES[objective](**contrast)


__all__ = [
    "CCA",
    "NCE",
    "OBJECTIVES",
    "AllPairs",
    "BarlowTwins",
    "InfoNCE",
    "MemoryBank",
    "build_objective",
    "draw_negatives",
]
