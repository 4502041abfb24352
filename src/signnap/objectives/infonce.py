"""InfoNCE: the objective of the paper's text, Eq. 3–6."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn.functional import normalize

from ..contracts import Terms
from .bank import BankObjective, draw_negatives
from .contrast import contrast


class InfoNCE(BankObjective):
    """L = L₁ + L₂, each the cross-entropy of picking a node's other view among K remembered others.

    The positive is the live embedding of the other view, as in Eq. 3; negatives come from the memory bank. The
    score exp(z·z'/τ) is the RBF kernel the paper calls it only for unit vectors, so embeddings are normalised
    unless ``normalize`` is off.
    """

    def __init__(
        self,
        negatives: int = 1024,
        temperature: float = 0.1,
        momentum: float = 0.5,
        share: int = 512,
        precision: str = "float32",
        normalize: bool = True,
    ) -> None:
        super().__init__(negatives, temperature, momentum, share, precision)
        self.normalize = normalize

    def forward(self, z1: Tensor, z2: Tensor, generator: torch.Generator) -> Terms:
        drawn = draw_negatives(len(z1), self.negatives, self.share, generator)
        if self.normalize:
            z1, z2 = normalize(z1, dim=1), normalize(z2, dim=1)
        rule = SoftmaxRule()
        first, _ = contrast(z1, z2, self.bank.second, drawn, self.temperature, rule, self.precision)
        second, _ = contrast(z2, z1, self.bank.first, drawn, self.temperature, rule, self.precision)
        total = first + second
        return Terms(total, first, second, math.log(self.negatives) - 0.5 * total.detach())

    def chance(self) -> float:
        """2·log(K+1): every candidate equally likely."""
        return 2 * math.log(self.negatives + 1)


class SoftmaxRule:
    """Cross-entropy of the positive among a row's K negatives and itself."""

    shift = None

    def __call__(self, scores: Tensor, positive: Tensor, spare: Tensor) -> tuple[Tensor, Tensor]:
        log_sum = scores.logsumexp(dim=1)
        log_all = torch.logaddexp(log_sum, positive)
        scores.sub_(log_all[:, None]).exp_()
        return log_all, log_sum

    def finish(self, negative: Tensor, positive: Tensor) -> tuple[Tensor, Tensor]:
        return negative - positive, torch.expm1(positive - negative)
