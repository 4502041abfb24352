"""The settings of GCC and of its variant with features. Nothing here needs torch."""

from __future__ import annotations

from dataclasses import dataclass

from .basics import Basics


@dataclass(frozen=True)
class GccSettings(Basics):
    """GCC (spec §4.6): the numbers of the paper's comparison; where it gives none, and for the layers, the authors'."""

    method: str = "gcc"
    dim: int = 64
    hidden: int = 64
    layers: int = 4
    dropout: float = 0.5
    #: steps of a walk, the chance to return to the seed after each, and how many nodes to keep of it
    steps: int = 256
    restart: float = 0.8
    size: int = 128
    #: eigenvectors that tell where in its subgraph a node is
    positions: int = 32
    #: seeds in an iteration: each one's negatives are the others
    batch: int = 32
    temperature: float = 0.07
    iterations: int = 1000
    lr: float = 0.005
    schedule: str = "linear:0.1"
    weight_decay: float = 1e-5
    clip: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._expect(("steps", "size", "batch"), lambda value: value >= 1, "a whole number of at least 1")
        self._expect(("positions",), lambda value: value >= 0, "a whole number of at least 0")
        self._expect(("restart",), lambda value: 0 <= value <= 1, "a number from 0 to 1")


@dataclass(frozen=True)
class AttributedGccSettings(GccSettings):
    """GCC's walks and loss with a convolution over features (spec §4.6, item 8b): a variant of our own."""

    method: str = "gcc-attributed"
    layers: int = 2
