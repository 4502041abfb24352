"""The settings that every method has, and the ranges of those that several share. Nothing here needs torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

from ..data.splits import parse_split
from ..errors import SignnapError
from ..train.schedules import rate_factor

#: Names of settings, and what a value of theirs has to be; a method has some of them.
_WHOLE = ("dim", "hidden", "projector", "layers", "heads", "negatives", "iterations", "hops")
_POSITIVE = ("lr", "temperature", "edge_value")
_SHARE = (
    "dropout", "drop_edge", "drop_edge_2", "mask_features", "mask_features_2", "momentum",
)  # fmt: skip
_NOT_NEGATIVE = ("weight_decay", "clip", "patience", "loop_value", "share", "seed", "whitening")


@dataclass(frozen=True)
class Basics:
    """What decides a run of any method."""

    method: str = "signnap"
    #: embedding width
    dim: int = 128
    #: the adjacency as stored before normalisation (spec §1), and row-normalised features
    edge_value: float = 1.0
    loop_value: float = 1.0
    normalize_features: bool = True
    #: optimisation; ``precision`` is that of products on a GPU (float32, tf32, bf16)
    iterations: int = 5000
    lr: float = 0.001
    #: constant, or a shape with its share of warm-up: cosine:0.1, linear:0
    schedule: str = "constant"
    weight_decay: float = 0.0
    #: decay weights beside the gradient, as AdamW does, not in it
    decoupled_decay: bool = False
    #: limits (0: none) to the gradient's norm, and to iterations without a lower loss; then the best weights are taken
    clip: float = 0.0
    patience: int = 0
    precision: str = "float32"
    seed: int = 0
    #: "none" trains on the whole graph; "inductive:…" hides validation and test nodes with all their edges
    split: str = "none"

    @property
    def allow_tf32(self) -> bool:
        """Whether a GPU may multiply with fewer bits than float32."""
        return self.precision != "float32"

    def __post_init__(self) -> None:
        self._expect(_WHOLE, lambda value: value >= 1, "a whole number of at least 1")
        self._expect(_POSITIVE, lambda value: 0 < value < inf, "a positive number")
        self._expect(_SHARE, lambda value: 0 <= value <= 1, "a number from 0 to 1")
        self._expect(_NOT_NEGATIVE, lambda value: 0 <= value < inf, "a finite number of at least 0")
        rate_factor(self.schedule, self.iterations)
        self._expect_split()

    def _expect_split(self) -> None:
        if self.split != "none" and not parse_split(self.split)[1]:
            raise SignnapError(f"split is {self.split!r}: expected none, or inductive:SPLIT to hide the judged nodes")

    def _expect(self, names: tuple[str, ...], holds: Callable[[float], bool], what: str) -> None:
        for name in names:
            value = getattr(self, name, None)
            if value is not None and not holds(value):
                raise SignnapError(f"{name} is {value}: expected {what}")
