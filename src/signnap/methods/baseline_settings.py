"""The settings of the methods that SIGNNAP is compared with. Nothing here needs torch."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from ..errors import SignnapError
from .basics import Basics


@dataclass(frozen=True)
class TwoViewSettings(Basics):
    """Two corrupted views of the graph, a convolutional encoder (spec §4.7, items 2 and 3).

    Every stored entry is dropped with probability ``drop_edge`` in the first view and ``drop_edge_2`` in the second,
    every feature column masked with ``mask_features`` and ``mask_features_2``.
    """

    activation: str = "relu"
    drop_edge: float = 0.3
    drop_edge_2: float = 0.4
    mask_features: float = 0.1
    mask_features_2: float = 0.0


@dataclass(frozen=True)
class GraceSettings(TwoViewSettings):
    """GRACE: where its authors say nothing about a data set, GCA's defaults (spec §6)."""

    method: str = "grace"
    dim: int = 256
    hidden: int = 512
    activation: str = "prelu"
    projector: int = 32
    temperature: float = 0.4
    iterations: int = 3000
    lr: float = 0.01
    weight_decay: float = 1e-5


@dataclass(frozen=True)
class GcaSettings(GraceSettings):
    """GCA: GRACE, with what matters less dropped more often. ``centrality`` is degree, eigenvector or pagerank."""

    method: str = "gca"
    centrality: str = "degree"


@dataclass(frozen=True)
class BgrlSettings(TwoViewSettings):
    """BGRL (spec §4.9): where its authors say nothing about a data set, GCA's rates of dropping."""

    method: str = "bgrl"
    dim: int = 256
    hidden: int = 512
    activation: str = "prelu"
    iterations: int = 10000
    lr: float = 5e-4
    schedule: str = "cosine:0.1"
    weight_decay: float = 1e-5
    decoupled_decay: bool = True


@dataclass(frozen=True)
class BarlowSettings(TwoViewSettings):
    """Graph Barlow Twins (spec §4.10)."""

    method: str = "g-bt"
    dim: int = 256
    hidden: int = 512
    activation: str = "prelu"
    drop_edge: float = 0.4
    drop_edge_2: float = 0.4
    mask_features: float = 0.1
    mask_features_2: float = 0.1
    iterations: int = 1000
    lr: float = 5e-4
    schedule: str = "cosine:0.1"
    weight_decay: float = 1e-5
    decoupled_decay: bool = True


@dataclass(frozen=True)
class CcaSettings(TwoViewSettings):
    """CCA-SSG (spec §5.1); ``whitening`` is its λ. Without ``propagate``, a perceptron with batch norm encodes."""

    method: str = "cca-ssg"
    dim: int = 512
    layers: int = 2
    hidden: int = 512
    drop_edge: float = 0.3
    drop_edge_2: float = 0.3
    mask_features: float = 0.2
    mask_features_2: float = 0.2
    propagate: bool = True
    whitening: float = 1e-3
    iterations: int = 100


@dataclass(frozen=True)
class DgiSettings(Basics):
    """DGI as the paper's comparison ran it (spec §4.4, item 7); with one of ``layers`` it is the authors'."""

    method: str = "dgi"
    dim: int = 512
    hidden: int = 512
    layers: int = 2
    iterations: int = 300
    patience: int = 20


@dataclass(frozen=True)
class GraphmaeSettings(Basics):
    """GraphMAE (spec §5.2), as its authors ran it on pubmed.

    ``mask_nodes`` of all nodes hide their features, and ``replace_nodes`` of those show another node's instead of the
    learned token. The larger ``sharpness`` is (the authors' γ), the less a node counts that is nearly right.
    """

    method: str = "graphmae"
    dim: int = 1024
    layers: int = 2
    heads: int = 4
    dropout: float = 0.2
    attention_dropout: float = 0.1
    mask_nodes: float = 0.75
    replace_nodes: float = 0.0
    sharpness: float = 3.0
    iterations: int = 1000
    schedule: str = "cosine:0"
    weight_decay: float = 1e-5

    def __post_init__(self) -> None:
        super().__post_init__()
        shares = ("attention_dropout", "mask_nodes", "replace_nodes")
        self._expect(shares, lambda value: 0 <= value <= 1, "a number from 0 to 1")
        self._expect(("sharpness",), lambda value: 1 <= value < inf, "a finite number of at least 1")


@dataclass(frozen=True)
class MvgrlSettings(Basics):
    """MVGRL (spec §4.5); its diffusion restarts with probability ``alpha`` and is computed in ``hops`` steps."""

    method: str = "cmv"
    dim: int = 512
    alpha: float = 0.2
    hops: int = 20
    iterations: int = 3000
    patience: int = 20


@dataclass(frozen=True)
class SupervisedSettings(Basics):
    """A backbone trained on labels (spec §3); ``split`` says whose, ``drop_edge`` what each iteration leaves out."""

    method: str = "supervised"
    backbone: str = "gcn"
    layers: int = 2
    dropout: float = 0.5
    heads: int = 8
    drop_edge: float = 0.0
    iterations: int = 1000
    patience: int = 400
    lr: float = 0.003
    weight_decay: float = 0.005
    split: str = "paper"

    def _expect_split(self) -> None:
        if self.split == "none":
            raise SignnapError("split is 'none': expected the split whose labels are for training, such as paper")


@dataclass(frozen=True)
class DropEdgeSettings(SupervisedSettings):
    """The same on a graph that loses edges anew in every iteration (spec §3.6)."""

    method: str = "dropedge"
    drop_edge: float = 0.3


@dataclass(frozen=True)
class FixedSettings(Basics):
    """Nothing is learned by gradient: raw features."""

    method: str = "raw"


@dataclass(frozen=True)
class SvdSettings(FixedSettings):
    """The features' ``dim`` leading right singular vectors."""

    method: str = "svd"


@dataclass(frozen=True)
class ArwmfSettings(FixedSettings):
    """ARWMF (spec §4.3): walks of up to ``window`` steps, and ``passes`` over their matrix to find its rank ``dim``."""

    method: str = "arwmf"
    dim: int = 200
    window: int = 5
    passes: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        self._expect(("window", "passes"), lambda value: value >= 1, "a whole number of at least 1")


@dataclass(frozen=True)
class PropagatedSettings(FixedSettings):
    """Features averaged over neighbourhoods ``hops`` times."""

    method: str = "propagated"
    hops: int = 2
