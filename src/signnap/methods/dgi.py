"""Deep Graph Infomax: embeddings fit a summary of their graph, embeddings of shuffled features do not.

DGI: https://arxiv.org/abs/1809.10341. The comparison of the SIGNNAP paper ran DGL's version: two layers, a critic
without bias, and a loss that is twice the original one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from .. import rng
from ..encoders.conv import ConvolutionalStack
from ..graph import Graph, View, multiply
from ..interfaces import Encoder, Objective, Step, Task, Terms, region
from .base import Method, Sizes
from .settings import BaseSettings

C = TypeVar("C", bound="Critic")


@dataclass(frozen=True)
class DgiSettings(BaseSettings):
    """DGI as in the comparison of the SIGNNAP paper; with ``layers=1`` as published by DGI's authors."""

    method: str = "dgi"
    dim: int = 512
    hidden: int = 512
    layers: int = 2
    iterations: int = 300
    patience: int = 20


class DGI(Method):
    """Deep Graph Infomax: embeddings fit a summary of the graph, those of shuffled features do not."""

    name = "dgi"

    def build_encoder(self, settings: DgiSettings, sizes: Sizes) -> ConvolutionalStack:
        if settings.layers == 1:  # as published by DGI's authors
            return ConvolutionalStack(sizes.num_features, [settings.dim], "prelu", activate_last=True)
        widths = [*[settings.hidden] * (settings.layers - 1), settings.dim]
        return ConvolutionalStack(sizes.num_features, widths, "prelu", slope_per_unit=True)

    def build_task(self, settings: DgiSettings, graph: Graph, view: View, encoder: Encoder) -> Shuffling:
        critic = (OriginalCritic if settings.layers == 1 else Critic).drawn(settings.dim, settings.seed)
        return Shuffling(view, encoder, critic, settings.seed, settings.allow_tf32)


class Critic(Objective):
    """Distinguish the embeddings h of a graph from those of a corrupted copy by the summary s = sigmoid(mean h).

    The score of a row is hᵀWs. The loss is the sum of the means of binary cross-entropy over h (part "loss_1") and over
    the copy (part "loss_2"), as in the comparison of the SIGNNAP paper. The original loss is half of it.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(dim, dim).uniform_(-(dim**-0.5), dim**-0.5))

    @classmethod
    def drawn(cls: type[C], dim: int, seed: int) -> C:
        """A critic with the first weights of this seed."""
        with rng.as_default(rng.generator(seed, "critic")):
            return cls(dim)

    def forward(self, z1: Tensor, z2: Tensor, generator: torch.Generator) -> Terms:
        first, second = self.compare(z1, z1, z2)
        return Terms(first + second, {"loss_1": first, "loss_2": second})

    def compare(self, summarized: Tensor, genuine: Tensor, corrupted: Tensor) -> tuple[Tensor, Tensor]:
        """Mean cross-entropy of rows that should fit the summary, and of rows that should not."""
        probe = self.weight @ summarized.mean(dim=0).sigmoid()
        return softplus(-self.score(genuine, probe)).mean(), softplus(self.score(corrupted, probe)).mean()

    def score(self, z: Tensor, probe: Tensor) -> Tensor:
        """The score of every row, given Ws."""
        return z @ probe

    def chance(self) -> float:
        return 2 * math.log(2)


class OriginalCritic(Critic):
    """The critic of DGI's authors: with a bias, and W drawn with Xavier's bound for their 1×d×d tensor.

    At width 512 that bound is ten times smaller than the other one.
    """

    def __init__(self, dim: int) -> None:
        super().__init__(dim)
        nn.init.xavier_uniform_(self.weight[None])
        self.bias = nn.Parameter(torch.zeros(()))

    def score(self, z: Tensor, probe: Tensor) -> Tensor:
        return super().score(z, probe) + self.bias


class Shuffling(Task):
    """Train a critic and an encoder on the graph and on a copy whose nodes have exchanged their features."""

    def __init__(self, view: View, encoder: Encoder, critic: Critic, seed: int, allow_tf32: bool = False) -> None:
        self.view, self.allow_tf32 = view, allow_tf32
        device = view.stored.device
        self.generators = rng.generators(seed, ["views"], device)
        self.encoder, self.objective = encoder.to(device), critic.to(device)
        self.modules = nn.ModuleDict({"encoder": self.encoder, "objective": self.objective})

    def step(self) -> Step:
        source = self.generators["views"]
        with region("views"):
            order = torch.randperm(self.view.pattern.num_nodes, generator=source, device=source.device)
        with region("encoder"):
            z, shuffled = self.embed(order)
        with region("contrast"):
            terms = self.objective(z, shuffled, source)
        return Step(terms.total, terms.numbers())

    def embed(self, order: Tensor) -> tuple[Tensor, Tensor]:
        """The embeddings of the graph, and of the copy in which node i has the features of node ``order[i]``."""
        assert isinstance(self.encoder, ConvolutionalStack)
        return encode_shuffled(self.encoder, self.view, order)


def encode_shuffled(encoder: ConvolutionalStack, view: View, order: Tensor) -> tuple[Tensor, Tensor]:
    """Embed a view, and its copy in which node i has the features of node ``order[i]``.

    The rows of the first product are permuted instead of the features. The result is the same, one product suffices
    for both, and sparse features stay as they are.
    """
    product = multiply(view.x, encoder.layers[0].weight)
    z, shuffled = encoder.finish([product, product.index_select(0, order)], [view, view])
    return z, shuffled
