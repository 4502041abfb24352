"""BGRL: an encoder learns to predict what a slower copy of itself says of another view; no negatives (spec §4.9)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity

from .. import rng
from ..encoders.conv import ConvolutionalStack
from ..graph import Graph, View
from ..interfaces import Encoder, Objective, Step, Terms
from ..ops.dense import Linear
from .baseline_settings import BgrlSettings
from .contrastive import TwoViewMethod
from .sizes import Sizes
from .two_views import TwoViews

#: Width of the predictor, for every data set.
_PREDICTOR = 512


class Prediction(Objective):
    """L = 2 − mean cos(q¹, y²) − mean cos(q², y¹), where q is predicted from the online embedding and y is the target.

    Both arguments hold two views, one below the other: the online embeddings of the first and the second, the targets
    in the opposite order.
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


class Target(nn.Module):
    """The slow encoder: drawn by itself, moved towards the online one after every iteration, never by gradient."""

    iteration: Tensor

    def __init__(self, encoder: Encoder, iterations: int) -> None:
        super().__init__()
        self.encoder, self.iterations = encoder.requires_grad_(False), iterations
        # On the device and in checkpoints: a recorded iteration and a resumed run have to count on.
        self.register_buffer("iteration", torch.zeros((), dtype=torch.int64))

    def share(self) -> Tensor:
        """How far to move now, from 0.01 down to 0: one minus the authors' coefficient, which float32 would round."""
        return 0.01 * (1 + torch.cos(math.pi * self.iteration / self.iterations)) / 2

    @torch.no_grad()
    def follow(self, online: nn.Module, share: Tensor) -> None:
        """Move the parameters by this share of their distance; the statistics of batch norm are each encoder's own."""
        for mine, other in zip(self.encoder.parameters(), online.parameters(), strict=True):
            mine.lerp_(other, share)
        self.iteration += 1


class Bootstrap(TwoViews):
    """Two views, embedded by both encoders, as a task for the loop."""

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


class BGRL(TwoViewMethod[BgrlSettings]):
    """Predicts what a slowly following encoder says of the other view (spec §4.9)."""

    name = "bgrl"
    extendable = False  # the target slows down towards the last iteration

    def build_encoder(self, settings: BgrlSettings, sizes: Sizes) -> Encoder:
        widths = [settings.hidden, settings.dim]
        return ConvolutionalStack(sizes.features, widths, settings.activation, activate_last=True, momentum=0.01)

    def objective(self, settings: BgrlSettings) -> Objective:
        return Prediction()

    def build_task(self, settings: BgrlSettings, graph: Graph, view: View, encoder: Encoder) -> Bootstrap:
        with rng.as_default(rng.generator(settings.seed, "target")):
            target = Target(self.build_encoder(settings, Sizes.of(graph)), settings.iterations)
        return Bootstrap(target, *self.parts(settings, view, encoder))
