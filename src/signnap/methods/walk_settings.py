"""The settings of the methods that learn from random walks. Nothing here needs torch."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from .basics import Basics


@dataclass(frozen=True)
class DeepWalkSettings(Basics):
    """DeepWalk (spec §4.1): every node starts ``walks`` walks of ``length`` nodes, spread evenly over the iterations.

    An iteration has a whole number of walks, rounded up: on a small graph every node starts more of them.
    Pairs of a walk are at most ``window`` steps apart, and each has ``negatives`` negatives.
    """

    method: str = "deepwalk"
    walks: int = 10
    length: int = 80
    window: int = 10
    negatives: int = 5
    iterations: int = 1000
    lr: float = 0.01
    schedule: str = "linear:0"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._expect(("walks", "window"), lambda value: value >= 1, "a whole number of at least 1")
        self._expect(("length",), lambda value: value >= 2, "a whole number of at least 2")


@dataclass(frozen=True)
class Node2VecSettings(DeepWalkSettings):
    """Node2Vec (spec §4.2): a step back has weight 1/p, one away from where the walk came from 1/q."""

    method: str = "node2vec"
    p: float = 1.0
    q: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        self._expect(("p", "q"), lambda value: 0 < value < inf, "a positive number")
