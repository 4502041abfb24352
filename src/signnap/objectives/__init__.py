"""Objectives: what two embeddings of the same nodes should agree and differ on."""

from __future__ import annotations

from ..contracts import Objective
from ..errors import SignnapError, unknown_name
from ..gpu import PRECISIONS
from .all_pairs import AllPairs
from .bank import MemoryBank, draw_negatives
from .contrast import contrast
from .decorrelation import CCA, BarlowTwins
from .infonce import InfoNCE
from .nce import NCE

OBJECTIVES: dict[str, type[NCE] | type[InfoNCE]] = {"nce": NCE, "infonce": InfoNCE}


def build_objective(
    objective: str | Objective,
    negatives: int = 1024,
    temperature: float = 0.1,
    momentum: float = 0.5,
    share: int = 512,
    precision: str = "float32",
) -> Objective:
    """Build a named objective; a ready one is handed through."""
    if isinstance(objective, Objective):
        return objective
    if objective not in OBJECTIVES:
        raise unknown_name("objective", objective, OBJECTIVES)
    if negatives < 1:
        raise SignnapError(f"the number of negatives is {negatives}: expected at least 1")
    if temperature <= 0:
        raise SignnapError(f"the temperature is {temperature}: expected a positive number")
    if precision not in PRECISIONS:
        raise unknown_name("precision", precision, PRECISIONS)
    return OBJECTIVES[objective](negatives, temperature, momentum, share, precision)


__all__ = [
    "CCA",
    "NCE",
    "OBJECTIVES",
    "AllPairs",
    "BarlowTwins",
    "InfoNCE",
    "MemoryBank",
    "build_objective",
    "contrast",
    "draw_negatives",
]
