"""GRACE, GCA, Graph Barlow Twins and CCA-SSG: two corrupted views, one convolutional encoder, a loss each."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from torch import Tensor
from torch.nn.functional import normalize

from ..encoders.conv import ConvolutionalStack
from ..graph import Graph, View
from ..interfaces import Encoder, Objective, Perturbation
from ..objectives.all_pairs import AllPairs
from ..objectives.decorrelation import CCA, BarlowTwins
from ..perturb.compose import build_perturbation
from ..perturb.importance import DropUnimportant
from .baseline_settings import BarlowSettings, CcaSettings, GcaSettings, GraceSettings, TwoViewSettings
from .method import Method
from .sizes import Sizes
from .two_views import TwoViews

S = TypeVar("S", bound=TwoViewSettings)


class TwoViewMethod(Method, Generic[S]):
    """What the five share: entries dropped and feature columns masked at rates of each view's own (spec §4.7)."""

    def objective(self, settings: S) -> Objective:
        """The loss of two embeddings of the same nodes."""
        raise NotImplementedError

    def perturbations(self, settings: S) -> tuple[Perturbation, Perturbation]:
        """How each view is corrupted: independently of everything else."""
        rates = (settings.drop_edge, settings.mask_features), (settings.drop_edge_2, settings.mask_features_2)
        first, second = (build_perturbation(drop, "bernoulli", mask) for drop, mask in rates)
        return first, second

    def parts(self, settings: S, view: View, encoder: Encoder) -> tuple[Any, ...]:
        """What a task of two views is made of."""
        return view, encoder, self.objective(settings), self.perturbations(settings), settings.seed, settings.allow_tf32

    def build_task(self, settings: S, graph: Graph, view: View, encoder: Encoder) -> TwoViews:
        return TwoViews(*self.parts(settings, view, encoder))


class GRACE(TwoViewMethod[GraceSettings]):
    """A node's other view against every other node of both views (spec §4.7); embeddings have length one."""

    name = "grace"
    time = "quadratic"

    def build_encoder(self, settings: GraceSettings, sizes: Sizes) -> Encoder:
        widths = [settings.hidden, settings.dim]
        return ConvolutionalStack(sizes.features, widths, settings.activation, activate_last=True)

    def objective(self, settings: GraceSettings) -> Objective:
        return AllPairs(settings.temperature, settings.projector, settings.precision)

    def embed_view(self, view: View) -> Tensor:
        """Embed a view, clean or perturbed, without the projector."""
        return normalize(super().embed_view(view), dim=1)


class GCA(GRACE):
    """GRACE, but what is peripheral is dropped more often (spec §4.8)."""

    name = "gca"

    def perturbations(self, settings: GcaSettings) -> tuple[Perturbation, Perturbation]:  # type: ignore[override]
        first = DropUnimportant(settings.drop_edge, settings.mask_features, settings.centrality)
        return first, DropUnimportant(settings.drop_edge_2, settings.mask_features_2, settings.centrality)


class GraphBarlowTwins(TwoViewMethod[BarlowSettings]):
    """The correlations between the columns of the two views become the identity (spec §4.10)."""

    name = "g-bt"

    def build_encoder(self, settings: BarlowSettings, sizes: Sizes) -> Encoder:
        return ConvolutionalStack(sizes.features, [settings.hidden, settings.dim], settings.activation, momentum=0.01)

    def objective(self, settings: BarlowSettings) -> Objective:
        return BarlowTwins()


class CCASSG(TwoViewMethod[CcaSettings]):
    """The two views agree column by column, and the columns of each are white (spec §5.1)."""

    name = "cca-ssg"

    def build_encoder(self, settings: CcaSettings, sizes: Sizes) -> Encoder:
        widths = [*[settings.hidden] * (settings.layers - 1), settings.dim]
        momentum = None if settings.propagate else 0.1
        return ConvolutionalStack(
            sizes.features, widths, settings.activation, momentum=momentum, propagate=settings.propagate
        )

    def objective(self, settings: CcaSettings) -> Objective:
        return CCA(settings.whitening)
