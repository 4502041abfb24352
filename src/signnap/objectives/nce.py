"""Noise-contrastive objectives on a memory bank: binary NCE and InfoNCE."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import normalize

from ..interfaces import Terms
from ..ops.contrast import BinaryRule, SoftmaxRule, contrast, log_normaliser
from .bank import BankObjective, draw_negatives


class NCE(BankObjective):
    """Tell each node's remembered other view from K random bank rows, one binary decision each.

    This is the objective of the authors' code. With s = exp(z·m/τ), p = s/Z and c = K/N the loss of an anchor is

        −log p₀/(p₀+c) − Σ_k log c/(p_k+c) = softplus(−a₀) + Σ_k softplus(a_k),  a = z·m/τ − log Z − log c.

    Z is N times the mean of s over the first iteration's scores (positives included) and constant afterwards. Bank
    rows are normalised, z is not. The authors add ε = 1e-12 inside the logarithms. This class does not. The ε matters
    only where p₀/(p₀+c) is near 1e-12, which row-normalised features do not reach. Unscaled features may reach it;
    then this loss keeps growing where theirs stops.
    """

    log_z: Tensor

    def __init__(
        self,
        negatives: int = 1024,
        temperature: float = 0.1,
        momentum: float = 0.5,
        negatives_group: int = 512,
        precision: str = "float32",
    ) -> None:
        super().__init__(negatives, temperature, momentum, negatives_group, precision)
        self.register_buffer("log_z", torch.full((2,), math.nan))
        self._frozen = False  # whether log_z is known; kept apart so that no iteration has to read the device

    def prepare(self, num_nodes: int, dim: int, generator: torch.Generator) -> None:
        super().prepare(num_nodes, dim, generator)
        self.log_z = torch.full((2,), math.nan, device=generator.device)
        self._frozen = False

    def _load_from_state_dict(self, *args: Any, **options: Any) -> None:
        super()._load_from_state_dict(*args, **options)
        self._frozen = not bool(self.log_z.isnan().any())

    def forward(self, z1: Tensor, z2: Tensor, generator: torch.Generator) -> Terms:
        drawn = draw_negatives(len(z1), self.negatives, self.negatives_group, generator)
        losses, informations, constants = [], [], []
        for view, (z, bank) in enumerate(((z1, self.bank.second), (z2, self.bank.first))):
            log_z = self.log_z[view] if self._frozen else log_normaliser(z.detach(), bank, drawn, self.temperature)
            rule = self._rule(z.detach(), log_z)
            loss, information = contrast(z, bank, bank, drawn, self.temperature, rule, self.precision)
            losses.append(loss)
            informations.append(information)
            constants.append(log_z)
        bound = math.log(self.negatives) - 0.5 * (informations[0] + informations[1])
        first, second = losses
        return Terms(
            first + second, {"loss_1": first, "loss_2": second}, bound, carry={"log_z": torch.stack(constants)}
        )

    def _rule(self, z: Tensor, log_z: Tensor) -> BinaryRule:
        """The rule for these embeddings. On a GPU it has no bound, because computing one would wait for the device."""
        shift = log_z + math.log(self.negatives / len(z))
        if z.is_cuda:
            return BinaryRule(shift)
        # No bank row is longer than √3, so no score exceeds √3 times the longest embedding, over the temperature.
        largest = 3**0.5 * float(torch.linalg.vector_norm(z, dim=1).max()) / self.temperature
        return BinaryRule(shift, largest + abs(float(shift)))

    def update(self, z1: Tensor, z2: Tensor, terms: Terms) -> None:
        self.log_z.copy_(terms.carry["log_z"])
        self._frozen = True
        super().update(z1, z2, terms)

    def chance(self) -> float:
        """2·(log(K+1) + K·log(1+1/K)), the loss if all scores are equal: then p = 1/N for every candidate."""
        return 2 * (math.log(self.negatives + 1) + self.negatives * math.log1p(1 / self.negatives))


class InfoNCE(BankObjective):
    """L = L₁ + L₂, each the cross-entropy of picking a node's other view among K remembered others (Eq. 3 to 6).

    This is the objective of the paper's text. The positive is the live embedding of the other view, as in Eq. 3;
    negatives come from the memory bank. The paper calls the score exp(z·z'/τ) an RBF kernel, which holds only for unit
    vectors. Embeddings are therefore normalised, unless ``normalize`` is off.
    """

    def __init__(
        self,
        negatives: int = 1024,
        temperature: float = 0.1,
        momentum: float = 0.5,
        negatives_group: int = 512,
        precision: str = "float32",
        normalize: bool = True,
    ) -> None:
        super().__init__(negatives, temperature, momentum, negatives_group, precision)
        self.normalize = normalize

    def forward(self, z1: Tensor, z2: Tensor, generator: torch.Generator) -> Terms:
        drawn = draw_negatives(len(z1), self.negatives, self.negatives_group, generator)
        if self.normalize:
            z1, z2 = normalize(z1, dim=1), normalize(z2, dim=1)
        rule = SoftmaxRule()
        first, _ = contrast(z1, z2, self.bank.second, drawn, self.temperature, rule, self.precision)
        second, _ = contrast(z2, z1, self.bank.first, drawn, self.temperature, rule, self.precision)
        total = first + second
        return Terms(total, {"loss_1": first, "loss_2": second}, math.log(self.negatives) - 0.5 * total.detach())

    def chance(self) -> float:
        """2·log(K+1), the loss if every candidate is equally likely."""
        return 2 * math.log(self.negatives + 1)
