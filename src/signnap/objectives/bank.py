"""The memory bank of earlier embeddings, and objectives that draw their negatives from it."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from ..errors import SignnapError, unknown_name
from ..interfaces import Objective, Terms
from ..ops.triton import PRECISIONS, usable


class MemoryBank(nn.Module):
    """One unit vector per node and view, which follows the embeddings with momentum."""

    first: Tensor
    second: Tensor

    def __init__(self, momentum: float = 0.5) -> None:
        super().__init__()
        if not 0 <= momentum <= 1:
            raise SignnapError(f"the momentum is {momentum}: expected a number from 0 to 1")
        self.momentum = momentum
        self.register_buffer("first", torch.empty(0, 0))
        self.register_buffer("second", torch.empty(0, 0))

    def prepare(self, num_nodes: int, dim: int, generator: torch.Generator) -> None:
        """Fill both banks from U(±√(3/dim)), whose rows have expected squared norm one."""
        bound = math.sqrt(3 / dim)
        for name in ("first", "second"):
            drawn = torch.rand(num_nodes, dim, generator=generator, device=generator.device)
            setattr(self, name, drawn.mul_(2 * bound).sub_(bound))

    @torch.no_grad()
    def update(self, z1: Tensor, z2: Tensor) -> None:
        """M ← normalise(m·M + (1−m)·z); a zero row stays zero instead of becoming NaN."""
        for bank, z in ((self.first, z1), (self.second, z2)):
            if usable(bank, z):
                from ..ops.triton.elementwise_kernels import remember

                remember(bank, z, self.momentum)
                continue
            bank.lerp_(z.detach().to(bank.dtype), 1 - self.momentum)
            bank.div_(torch.linalg.vector_norm(bank, dim=1, keepdim=True).clamp_(min=1e-12))


class BankObjective(Objective):
    """What NCE and InfoNCE have in common: a memory bank, negatives drawn from it, and scores over a temperature."""

    def __init__(
        self, negatives: int, temperature: float, momentum: float, negatives_group: int, precision: str
    ) -> None:
        super().__init__()
        expect_scores(temperature, precision)
        if negatives < 1:
            raise SignnapError(f"the number of negatives is {negatives}: expected at least 1")
        if negatives_group < 0:
            raise SignnapError(
                f"the number of anchors that share negatives is {negatives_group}: expected at least 1, or 0 for all"
            )
        self.negatives, self.temperature = negatives, temperature
        self.negatives_group, self.precision = negatives_group, precision
        self.bank = MemoryBank(momentum)

    def prepare(self, num_nodes: int, dim: int, generator: torch.Generator) -> None:
        self.bank.prepare(num_nodes, dim, generator)

    def update(self, z1: Tensor, z2: Tensor, terms: Terms) -> None:
        self.bank.update(z1, z2)


def draw_negatives(num_nodes: int, num_negatives: int, negatives_group: int, generator: torch.Generator) -> Tensor:
    """Draw the negatives of every group of ``negatives_group`` consecutive anchors: (groups, K) node numbers.

    They are uniform with replacement over all nodes, the anchor included, as in the authors' code. With groups of 1
    every anchor has its own negatives. Larger groups turn gathers into matrix products and leave the distribution of
    each single anchor unchanged. With 0 all anchors form one group.
    """
    groups = 1 if negatives_group == 0 else -(-num_nodes // negatives_group)
    return torch.randint(
        num_nodes, (groups, num_negatives), generator=generator, dtype=torch.int32, device=generator.device
    )


def expect_scores(temperature: float, precision: str) -> None:
    """Raise an error for a temperature or a precision that scores cannot be computed with."""
    if not 0 < temperature < math.inf:
        raise SignnapError(f"the temperature is {temperature}: expected a positive number")
    if precision not in PRECISIONS:
        raise unknown_name("precision", precision, PRECISIONS)
