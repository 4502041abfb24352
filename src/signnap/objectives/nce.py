"""Binary noise-contrastive estimation with frozen constants: what the authors' code trains (spec §2.4)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import softplus

from ..contracts import Terms
from ..gpu import EXP_IS_SAFE
from .bank import BankObjective, draw_negatives
from .contrast import contrast, score_chunks

_LOG2_E = math.log2(math.e)
#: What the logarithm of a float32 may be at most.
_LARGEST_LOG = 88.0


class NCE(BankObjective):
    """Tell each node's remembered other view from K random bank rows, one binary decision each.

    With s = exp(z·m/τ), p = s/Z and c = K/N the loss of an anchor is

        −log p₀/(p₀+c) − Σ_k log c/(p_k+c) = softplus(−a₀) + Σ_k softplus(a_k),  a = z·m/τ − log Z − log c.

    Z is N times the mean of s over the first iteration's scores (positives included), then frozen. z is not
    normalised, bank rows are. The authors' ε = 1e-12 inside the logarithms is left out: it matters only where p₀/(p₀+c)
    comes near it, from which row-normalised features are far. Features of any scale may not be; the loss then goes on
    growing where theirs would not.
    """

    log_z: Tensor

    def __init__(
        self,
        negatives: int = 1024,
        temperature: float = 0.1,
        momentum: float = 0.5,
        share: int = 512,
        precision: str = "float32",
    ) -> None:
        super().__init__(negatives, temperature, momentum, share, precision)
        self.register_buffer("log_z", torch.full((2,), math.nan))
        self._frozen = False  # whether log_z is known, so that no iteration has to look at the numbers themselves

    def prepare(self, num_nodes: int, dim: int, generator: torch.Generator) -> None:
        super().prepare(num_nodes, dim, generator)
        self.log_z = torch.full((2,), math.nan, device=generator.device)
        self._frozen = False

    def _load_from_state_dict(self, *args: Any, **options: Any) -> None:
        super()._load_from_state_dict(*args, **options)
        self._frozen = not bool(self.log_z.isnan().any())

    def forward(self, z1: Tensor, z2: Tensor, generator: torch.Generator) -> Terms:
        drawn = draw_negatives(len(z1), self.negatives, self.share, generator)
        losses, informations, constants = [], [], []
        for view, (z, bank) in enumerate(((z1, self.bank.second), (z2, self.bank.first))):
            log_z = self.log_z[view] if self._frozen else _log_normaliser(z.detach(), bank, drawn, self.temperature)
            rule = self._rule(z.detach(), log_z)
            loss, information = contrast(z, bank, bank, drawn, self.temperature, rule, self.precision)
            losses.append(loss)
            informations.append(information)
            constants.append(log_z)
        bound = math.log(self.negatives) - 0.5 * (informations[0] + informations[1])
        first, second = losses
        return Terms(first + second, first, second, bound, carry={"log_z": torch.stack(constants)})

    def _rule(self, z: Tensor, log_z: Tensor) -> BinaryRule:
        """The rule for these embeddings; on a GPU the careful one, since looking at them would be to wait for them."""
        shift = log_z + math.log(self.negatives / len(z))
        if z.is_cuda:
            return BinaryRule(shift)
        # No score exceeds the longest embedding times √3, the longest that a bank row can be, over the temperature.
        largest = 3**0.5 * float(torch.linalg.vector_norm(z, dim=1).max()) / self.temperature
        return BinaryRule(shift, largest + abs(float(shift)))

    def update(self, z1: Tensor, z2: Tensor, terms: Terms) -> None:
        self.log_z.copy_(terms.carry["log_z"])
        self._frozen = True
        super().update(z1, z2, terms)

    def chance(self) -> float:
        """2·(log(K+1) + K·log(1+1/K)): every score equal (spec §2.8)."""
        return 2 * (math.log(self.negatives + 1) + self.negatives * math.log1p(1 / self.negatives))


@dataclass(frozen=True)
class BinaryRule:
    """One binary decision per candidate, with ``shift`` = log Z + log c; no |score − shift| exceeds the ``bound``.

    With o = exp(score − shift), the odds: softplus(score − shift) = log(1 + o), and its slope is o/(1 + o). Where the
    odds may be no float32, the same numbers take twice the passes.
    """

    shift: Tensor
    bound: float = math.inf

    def __call__(self, scores: Tensor, positive: Tensor, spare: Tensor) -> tuple[Tensor, Tensor]:
        return (self._raised if self.bound < EXP_IS_SAFE else self._careful)(scores, spare)

    def finish(self, negative: Tensor, positive: Tensor) -> tuple[Tensor, Tensor]:
        odds = positive - self.shift
        return negative + softplus(-odds), torch.sigmoid(odds) - 1

    def _raised(self, scores: Tensor, spare: Tensor) -> tuple[Tensor, Tensor]:
        # Powers of two are raised in one pass of vectors on every processor, those of e on Intel's alone.
        odds = torch.add(self.shift * -_LOG2_E, scores, alpha=_LOG2_E, out=scores).exp2_()
        total = odds.sum(dim=1)
        above = torch.add(odds, 1, out=spare)
        odds.div_(above)
        return _sum_of_logs(above, self.bound), total.log_() + self.shift

    def _careful(self, scores: Tensor, spare: Tensor) -> tuple[Tensor, Tensor]:
        log_sum = scores.logsumexp(dim=1)
        negative = softplus(scores.sub_(self.shift)).sum(dim=1)
        scores.sigmoid_()
        return negative, log_sum


def _sum_of_logs(above: Tensor, bound: float) -> Tensor:
    """Σ_k log above_k of every row, with 1 ≤ above_k ≤ 1 + exp(bound).

    A logarithm takes as long as ten products: those of up to 16 numbers are taken at once, as many as surely have a
    product that is a float32, and divide a row.
    """
    count, k = above.shape
    together = 16
    while k % together or together * (max(bound, 0.0) + math.log(2)) > _LARGEST_LOG:
        together //= 2
    return above.view(count, together, -1).prod(dim=1).log_().sum(dim=1)


def _log_normaliser(z: Tensor, bank: Tensor, negatives: Tensor, temperature: float) -> Tensor:
    """log( N · mean of exp(score) ) over all anchors and their K+1 candidates."""
    chunks = score_chunks(z / temperature, bank, negatives)
    parts = [chunk.scores.logsumexp(dim=1).logsumexp(dim=0) for chunk in chunks]
    parts.append((torch.linalg.vecdot(z, bank) / temperature).logsumexp(dim=0))
    return torch.stack(parts).logsumexp(dim=0) - math.log(negatives.shape[1] + 1)
