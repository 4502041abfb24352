"""MVGRL, "CMV" in the paper's comparison: nodes read along edges fit a summary of the diffused graph (spec §4.5)."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..encoders.diffusion import EdgesAndDiffusion
from ..graph import Graph, View
from ..interfaces import Encoder, Terms
from .baseline_settings import MvgrlSettings
from .dgi import OriginalCritic, Shuffling
from .method import Method
from .sizes import Sizes


class MVGRL(Method):
    """Nodes read along edges fit a summary of the diffused graph, and the other way round (spec §4.5).

    It trains on the whole graph. The authors draw windows of consecutive nodes out of a dense S; here S is never
    formed, so a window of it would cost as much as all of it.
    """

    name = "cmv"

    def build_encoder(self, settings: MvgrlSettings, sizes: Sizes) -> EdgesAndDiffusion:
        return EdgesAndDiffusion(sizes.features, settings.dim, settings.alpha, settings.hops)

    def build_task(self, settings: MvgrlSettings, graph: Graph, view: View, encoder: Encoder) -> TwoReadings:
        critic = CrossCritic.drawn(settings.dim, settings.seed)
        return TwoReadings(view, encoder, critic, settings.seed, settings.allow_tf32)


class CrossCritic(OriginalCritic):
    """Each reading of the nodes against the summary of the other one: s = sigmoid(mean h), score hᵀWs + b.

    Both arguments are (2, N, d): the readings h¹ and h² of the graph, and those of a corrupted copy. The loss is the
    mean of binary cross-entropy over all 4N scores.
    """

    def forward(self, z1: Tensor, z2: Tensor, generator: torch.Generator) -> Terms:
        (h1, h2), (h3, h4) = z1.unbind(), z2.unbind()
        found = self.compare(h1, h2, h4), self.compare(h2, h1, h3)
        first, second = (sum(losses) / 2 for losses in zip(*found, strict=True))
        return Terms((first + second) / 2, {"loss_1": first, "loss_2": second})

    def chance(self) -> float:
        return math.log(2)


class TwoReadings(Shuffling):
    """The graph and a copy with shuffled features, each read along edges and by diffusion, as a task for the loop."""

    def embed(self, order: Tensor) -> tuple[Tensor, Tensor]:
        """Both readings of the graph and of the copy (2, N, d), from the same products (see ``encode_shuffled``)."""
        encoder = self.encoder
        assert isinstance(encoder, EdgesAndDiffusion)
        products = encoder.products(self.view)
        shuffled = [product.index_select(0, order) for product in products]
        genuine, corrupted = (torch.stack(encoder.finish(each, self.view)) for each in (products, shuffled))
        return genuine, corrupted
