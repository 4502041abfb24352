"""Skip-gram with negative sampling on whole walks: a node's vector predicts the nodes near it on a walk.

Eq. 4 of Mikolov et al., https://arxiv.org/abs/1310.4546, with the walks of DeepWalk or Node2Vec as sentences.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding

from ..interfaces import Objective, Terms

#: Number of negatives per walk, common to all its positions.
SHARED = 64
#: Lower limit of log σ(x), because exp of a smaller number underflows float32.
_MIN_LOG = -87.0


class _LogSigmoid(torch.autograd.Function):
    """log σ(x), computed from the σ(x) that the gradient needs; torch's own takes ten times as long on a CPU."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        chance = x.sigmoid()
        ctx.save_for_backward(chance)
        return chance.log().clamp_(min=_MIN_LOG)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        (chance,) = ctx.saved_tensors
        return grads[0] * (1 - chance)


def window_weights(length: int, window: int) -> Tensor:
    """(length, length): the expected number of times that word2vec pairs the positions i and j of a walk.

    Word2vec draws the size of each window from 1 to ``window``. The expectation, 1 − (|i − j| − 1) / window, gives the
    same objective as the draws with less noise.
    """
    place = torch.arange(length)
    apart = (place[:, None] - place).abs()
    return torch.where(apart > 0, 1 - (apart - 1) / window, 0.0).clamp(min=0)


class SkipGram(Objective):
    """−log σ(u_j·v_i) for every pair of a walk within the window, and −Σ E_n log σ(−u_n·v_i) over ``negatives`` n.

    v are the embeddings, u is a table of the objective, and negatives are drawn in proportion to visits^¾. All pairs of
    a walk use one draw of ``SHARED`` negatives, weighted so that the expected gradient is that of separate draws. So
    all scores of a walk are one matrix product. The part "loss_1" is that of the pairs and "loss_2" that of the
    negatives, both per pair.
    """

    context: nn.Parameter
    cumulative: Tensor
    weights: Tensor
    signs: Tensor

    def __init__(self, visits: Tensor, dim: int, length: int, window: int, negatives: int) -> None:
        super().__init__()
        self.negatives = negatives
        self.context = nn.Parameter(visits.new_zeros(len(visits), dim, dtype=torch.float32))
        pairs = window_weights(length, window)
        shared = (pairs.sum(dim=1, keepdim=True) * negatives / SHARED).expand(-1, SHARED)
        none = torch.zeros_like
        weights = torch.stack([torch.cat([pairs, none(shared)], dim=1), torch.cat([none(pairs), shared], dim=1)])
        signs = torch.cat([torch.ones(length), -torch.ones(SHARED)])
        cumulative = visits.double().pow(0.75).cumsum(0)
        self.register_buffer("cumulative", cumulative / cumulative[-1], persistent=False)
        self.register_buffer("weights", (weights / pairs.sum()).view(2, -1).to(visits.device), persistent=False)
        self.register_buffer("signs", signs.to(visits.device), persistent=False)

    def forward(self, embeddings: Tensor, walks: Tensor, generator: torch.Generator) -> Terms:
        """The loss of the embeddings of all nodes on walks (B, length), rows of node numbers.

        A walk that never left its node does not count.
        """
        drawn = self.draw_negatives(len(walks), generator)
        return self.compare(embeddings, walks, drawn)

    def draw_negatives(self, walks: int, generator: torch.Generator) -> Tensor:
        """``SHARED`` nodes for each walk."""
        shape = (walks, SHARED)
        quantile = torch.rand(shape, generator=generator, device=generator.device, dtype=torch.float64)
        return torch.searchsorted(self.cumulative, quantile, right=True)

    def compare(self, embeddings: Tensor, walks: Tensor, drawn: Tensor) -> Terms:
        """The terms for these negatives."""
        moved = (walks[:, 0] != walks[:, 1]).to(embeddings.dtype)
        centres = embedding(walks, embeddings)
        others = embedding(torch.cat([walks, drawn], dim=1), self.context)
        scores = torch.bmm(centres, (others * self.signs[:, None]).transpose(1, 2))
        found = -(_LogSigmoid.apply(scores).flatten(1) @ self.weights.t())
        first, second = (moved @ found) / moved.sum().clamp(min=1)
        return Terms(first + second, {"loss_1": first, "loss_2": second})

    def chance(self) -> float:
        return (1 + self.negatives) * math.log(2)
