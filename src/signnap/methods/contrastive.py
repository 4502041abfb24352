"""GRACE, GCA, Graph Barlow Twins and CCA-SSG: two corrupted views, a convolutional encoder, and a loss each.

GRACE: https://arxiv.org/abs/2006.04131. GCA: https://doi.org/10.1145/3442381.3449802. Graph Barlow Twins:
https://arxiv.org/abs/2106.02466. CCA-SSG: https://arxiv.org/abs/2106.12484.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor
from torch.nn.functional import normalize

from ..encoders.conv import ConvolutionalStack
from ..graph import View
from ..interfaces import Encoder, Objective, Perturbation
from ..objectives.all_pairs import AllPairs
from ..objectives.decorrelation import CCA, BarlowTwins
from ..perturb.importance import DropUnimportant
from .base import Sizes
from .two_views import TwoViewMethod, TwoViewSettings


@dataclass(frozen=True)
class GraceSettings(TwoViewSettings):
    """GRACE. For data sets on which its authors say nothing these are the defaults of GCA's code."""

    method: str = "grace"
    dim: int = 256
    hidden: int = 512
    activation: str = "prelu"
    projector: int = 32
    temperature: float = 0.4
    iterations: int = 3000
    lr: float = 0.01
    weight_decay: float = 1e-5


class GRACE(TwoViewMethod[GraceSettings]):
    """Contrasts a node's other view with every other node of both views; embeddings have length one."""

    name = "grace"
    time = "quadratic"

    def build_encoder(self, settings: GraceSettings, sizes: Sizes) -> Encoder:
        widths = [settings.hidden, settings.dim]
        return ConvolutionalStack(sizes.num_features, widths, settings.activation, activate_last=True)

    def objective(self, settings: GraceSettings) -> Objective:
        return AllPairs(settings.temperature, settings.projector, settings.precision)

    def embed_view(self, view: View) -> Tensor:
        """Embed a view, clean or perturbed, without the projector."""
        return normalize(super().embed_view(view), dim=1)


@dataclass(frozen=True)
class GcaSettings(GraceSettings):
    """GCA. ``centrality`` is degree, eigenvector or pagerank."""

    method: str = "gca"
    centrality: str = "degree"


class GCA(GRACE):
    """As GRACE, but drops peripheral edges and features more often."""

    name = "gca"

    def perturbations(self, settings: GcaSettings) -> tuple[Perturbation, Perturbation]:  # type: ignore[override]
        first = DropUnimportant(settings.drop_edge, settings.mask_features, settings.centrality)
        return first, DropUnimportant(settings.drop_edge_2, settings.mask_features_2, settings.centrality)


@dataclass(frozen=True)
class BarlowSettings(TwoViewSettings):
    """Graph Barlow Twins."""

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


class GraphBarlowTwins(TwoViewMethod[BarlowSettings]):
    """Graph Barlow Twins: makes the correlations between the columns of two views the identity."""

    name = "g-bt"

    def build_encoder(self, settings: BarlowSettings, sizes: Sizes) -> Encoder:
        widths = [settings.hidden, settings.dim]
        return ConvolutionalStack(sizes.num_features, widths, settings.activation, momentum=0.01)

    def objective(self, settings: BarlowSettings) -> Objective:
        return BarlowTwins()


@dataclass(frozen=True)
class CcaSettings(TwoViewSettings):
    """CCA-SSG. ``whitening`` is its λ. Without ``propagate`` the encoder is a perceptron with batch norm."""

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


class CCASSG(TwoViewMethod[CcaSettings]):
    """Makes two views agree column by column, and whitens the columns of each."""

    name = "cca-ssg"

    def build_encoder(self, settings: CcaSettings, sizes: Sizes) -> Encoder:
        widths = [*[settings.hidden] * (settings.layers - 1), settings.dim]
        momentum = None if settings.propagate else 0.1
        return ConvolutionalStack(
            sizes.num_features, widths, settings.activation, momentum=momentum, propagate=settings.propagate
        )

    def objective(self, settings: CcaSettings) -> Objective:
        return CCA(settings.whitening)
