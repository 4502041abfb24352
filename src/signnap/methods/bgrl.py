"""BGRL: an encoder learns to predict the embedding that a slower copy of it computes from another view.

BGRL uses no negatives: https://arxiv.org/abs/2102.06514.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity

from .. import rng
from ..encoders.conv import ConvolutionalStack
from ..graph import Graph, View
from ..interfaces import Encoder, Objective, Step, Terms
from ..ops.dense import Linear
from .base import Sizes
from .two_views import TwoViewMethod, TwoViews, TwoViewSettings

#: Width of the predictor on all data sets.
_PREDICTOR = 512


@dataclass(frozen=True)
class BgrlSettings(TwoViewSettings):
    """BGRL. For data sets on which its authors say nothing, the rates of dropping are the defaults of GCA's code."""

    method: str = "bgrl"
    dim: int = 256
    hidden: int = 512
    activation: str = "prelu"
    iterations: int = 10000
    lr: float = 5e-4
    schedule: str = "cosine:0.1"
    weight_decay: float = 1e-5
    decoupled_decay: bool = True


class BGRL(TwoViewMethod[BgrlSettings]):
    """Predicts from one view what a slowly following encoder computes from the other; no negatives."""

    name = "bgrl"
    extendable = False  # the speed of the target depends on the number of iterations

    def build_encoder(self, settings: BgrlSettings, sizes: Sizes) -> Encoder:
        widths = [settings.hidden, settings.dim]
        return ConvolutionalStack(sizes.num_features, widths, settings.activation, activate_last=True, momentum=0.01)

    def objective(self, settings: BgrlSettings) -> Objective:
        return Prediction()

    def build_task(self, settings: BgrlSettings, graph: Graph, view: View, encoder: Encoder) -> Bootstrap:
        with rng.as_default(rng.generator(settings.seed, "target")):
            target = Target(self.build_encoder(settings, graph), settings.iterations)
        return Bootstrap(target, *self.parts(settings, view, encoder))


class Bootstrap(TwoViews):
    """Embed two views with the online encoder and with the target encoder."""

    def __init__(self, target: Target, view: View, *parts: Any) -> None:
        super().__init__(view, *parts)
        self.target = target.to(view.stored.device)
        self.modules["target"] = self.target

    def compare(self, views: Sequence[View], z1: Tensor, z2: Tensor) -> Terms:
        with torch.no_grad(), rng.as_default(self.generators["layers"]):
            y1, y2 = self.target.encoder.encode(views)
        return self.objective(torch.cat([z1, z2]), torch.cat([y2, y1]), self.generators["negatives"])

    def advance(self, step: Step) -> None:
        self.target.follow(self.encoder, self.target.share())


class Target(nn.Module):
    """The slow encoder. It has first weights of its own and moves towards the online encoder after every iteration."""

    iteration: Tensor

    def __init__(self, encoder: Encoder, iterations: int) -> None:
        super().__init__()
        self.encoder, self.iterations = encoder.requires_grad_(False), iterations
        # A buffer, because recorded iterations and resumed runs must continue the count.
        self.register_buffer("iteration", torch.zeros((), dtype=torch.int64))

    def share(self) -> Tensor:
        """The share of the distance to move now, from 0.01 down to 0.

        This is one minus the authors' coefficient. The coefficient is near 1, where float32 would round it.
        """
        return 0.01 * (1 + torch.cos(math.pi * self.iteration / self.iterations)) / 2

    @torch.no_grad()
    def follow(self, online: nn.Module, share: Tensor) -> None:
        """Move the parameters by this share of their distance. Each encoder keeps its own statistics of batch norm."""
        for mine, other in zip(self.encoder.parameters(), online.parameters(), strict=True):
            mine.lerp_(other, share)
        self.iteration += 1


class Prediction(Objective):
    """L = 2 − mean cos(q¹, y²) − mean cos(q², y¹), where q is predicted from the online embedding and y is the target.

    Both arguments hold the rows of two views, one below the other: the first argument the online embeddings of the
    first and second view, the second argument the targets in the opposite order.
    """

    def prepare(self, num_nodes: int, dim: int, generator: torch.Generator) -> None:
        """Draw the predictor's weights."""
        place = generator.device
        with rng.as_default(generator):
            self.predictor = nn.Sequential(
                Linear(dim, _PREDICTOR, device=place),
                nn.PReLU(device=place),
                Linear(_PREDICTOR, dim, device=place),
            )

    def forward(self, z1: Tensor, z2: Tensor, generator: torch.Generator) -> Terms:
        misses = 1 - cosine_similarity(self.predictor(z1), z2.detach(), dim=1)
        first, second = misses.view(2, -1).mean(dim=1)
        return Terms(first + second, {"loss_1": first, "loss_2": second})
