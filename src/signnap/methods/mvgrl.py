"""MVGRL, called CMV in the SIGNNAP paper: nodes read along edges fit a summary of the diffused graph, and conversely.

MVGRL: https://arxiv.org/abs/2006.05582.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from ..encoders.diffusion import EdgesAndDiffusion
from ..graph import Graph, View
from ..interfaces import Encoder, Terms
from .base import Method, Sizes
from .dgi import OriginalCritic, Shuffling
from .settings import BaseSettings


@dataclass(frozen=True)
class MvgrlSettings(BaseSettings):
    """MVGRL. The diffusion restarts with probability ``alpha`` and is computed in ``hops`` steps."""

    method: str = "cmv"
    dim: int = 512
    alpha: float = 0.2
    hops: int = 20
    iterations: int = 3000
    patience: int = 20


class MVGRL(Method):
    """MVGRL: nodes read along edges fit a summary of the diffused graph, and the other way round.

    Training uses the whole graph. The authors train on windows of consecutive nodes out of a dense S. Here S is never
    formed, so a window of it would cost as much as all of it.
    """

    name = "cmv"

    def build_encoder(self, settings: MvgrlSettings, sizes: Sizes) -> EdgesAndDiffusion:
        return EdgesAndDiffusion(sizes.num_features, settings.dim, settings.alpha, settings.hops)

    def build_task(self, settings: MvgrlSettings, graph: Graph, view: View, encoder: Encoder) -> TwoReadings:
        critic = CrossCritic.drawn(settings.dim, settings.seed)
        return TwoReadings(view, encoder, critic, settings.seed, settings.allow_tf32)


class CrossCritic(OriginalCritic):
    """Compare each reading of the nodes with the summary of the other one: s = sigmoid(mean h), score hᵀWs + b.

    Both arguments have the shape (2, N, d): the readings h¹ and h² of the graph, and those of a corrupted copy. The
    loss is the mean of binary cross-entropy over all 4N scores.
    """

    def forward(self, z1: Tensor, z2: Tensor, generator: torch.Generator) -> Terms:
        (h1, h2), (h3, h4) = z1.unbind(), z2.unbind()
        found = self.compare(h1, h2, h4), self.compare(h2, h1, h3)
        first, second = (sum(losses) / 2 for losses in zip(*found, strict=True))
        return Terms((first + second) / 2, {"loss_1": first, "loss_2": second})

    def chance(self) -> float:
        return math.log(2)


class TwoReadings(Shuffling):
    """Train on the graph and a copy with shuffled features, each read along edges and by diffusion."""

    def embed(self, order: Tensor) -> tuple[Tensor, Tensor]:
        """Both readings of the graph and of the copy (2, N, d), from the same products (see ``encode_shuffled``)."""
        encoder = self.encoder
        assert isinstance(encoder, EdgesAndDiffusion)
        products = encoder.products(self.view)
        shuffled = [product.index_select(0, order) for product in products]
        genuine, corrupted = (torch.stack(encoder.finish(each, self.view)) for each in (products, shuffled))
        return genuine, corrupted
