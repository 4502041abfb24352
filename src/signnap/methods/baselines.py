"""The settings of the methods that SIGNNAP is compared with. Nothing here needs torch."""

from __future__ import annotations

from dataclasses import dataclass

from .basics import Basics


@dataclass(frozen=True)
class TwoViewSettings(Basics):
    """Two corrupted views of the graph, a convolutional encoder (spec §4.7, items 2 and 3).

    Every stored entry is dropped with probability ``drop_edge`` in the first view and ``drop_edge_2`` in the second,
    every feature column masked with ``mask_features`` and ``mask_features_2``.
    """

    hidden: int = 256
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
    weight_decay: float = 1e-5


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
    weight_decay: float = 1e-5


@dataclass(frozen=True)
class CcaSettings(TwoViewSettings):
    """CCA-SSG (spec §5.1); ``whitening`` is its λ."""

    method: str = "cca-ssg"
    dim: int = 512
    hidden: int = 512
    drop_edge: float = 0.3
    drop_edge_2: float = 0.3
    mask_features: float = 0.2
    mask_features_2: float = 0.2
    whitening: float = 1e-3
    iterations: int = 100


@dataclass(frozen=True)
class DgiSettings(Basics):
    """DGI as the paper's comparison ran it (spec §4.4, item 7), but for all iterations: training loss stops nothing."""

    method: str = "dgi"
    dim: int = 512
    hidden: int = 512
    iterations: int = 300


@dataclass(frozen=True)
class FixedSettings(Basics):
    """Nothing is learned by gradient: raw features."""

    method: str = "raw"


@dataclass(frozen=True)
class SvdSettings(FixedSettings):
    """The features' ``dim`` leading right singular vectors."""

    method: str = "svd"


@dataclass(frozen=True)
class PropagatedSettings(FixedSettings):
    """Features averaged over neighbourhoods ``hops`` times."""

    method: str = "propagated"
    hops: int = 2
