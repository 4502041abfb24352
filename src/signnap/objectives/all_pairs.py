"""All other nodes of both views as negatives: the loss of GRACE and GCA.

GRACE: https://arxiv.org/abs/2006.04131. GCA: https://doi.org/10.1145/3442381.3449802.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from .. import rng
from ..errors import SignnapError
from ..interfaces import Objective, Terms
from ..ops.dense import Linear, linear
from ..ops.pairwise import all_pairs_loss
from .bank import expect_scores


class AllPairs(Objective):
    """L = ½ (L₁ + L₂), each the cross-entropy of picking a node's other view among all 2N − 1 other embeddings.

    Scores are cosines over the temperature. With a ``projector`` of some width they are the cosines of
    Linear–ELU–Linear of the embeddings. The projector is trained and saved with the objective; it is not part of the
    encoder. Gradients flow from ``total`` alone, not from the parts. On a GPU,
    ``precision`` "tf32" or "bf16" computes products with fewer bits.
    """

    def __init__(self, temperature: float = 0.5, projector: int | None = None, precision: str = "float32") -> None:
        super().__init__()
        expect_scores(temperature, precision)
        if projector is not None and projector < 1:
            raise SignnapError(f"the width of the projector is {projector}: expected at least 1, or None for none")
        self.temperature, self.precision = temperature, precision
        self.width = projector
        self.projector: nn.Sequential | None = None
        self.num_nodes: int | None = None

    def prepare(self, num_nodes: int, dim: int, generator: torch.Generator) -> None:
        """Draw the projector's weights; before this call the objective has no parameters to train."""
        self.num_nodes = num_nodes
        if self.width is not None:
            place = generator.device
            with rng.as_default(generator):
                self.projector = nn.Sequential(
                    Linear(dim, self.width, device=place), nn.ELU(), Linear(self.width, dim, device=place)
                )

    def forward(self, z1: Tensor, z2: Tensor, generator: torch.Generator) -> Terms:
        if self.num_nodes is None:
            raise SignnapError("this AllPairs knows no graph yet: call prepare first")
        w = self._unit_rows(torch.cat([z1, z2]))
        total, first, second = all_pairs_loss(w, self.temperature, self.precision)
        # Candidates of the own view only raise the loss above that of InfoNCE with the N candidates of the other view,
        # whose bound of the mutual information is log N − loss.
        return Terms(total, {"loss_1": first, "loss_2": second}, math.log(len(z1)) - total.detach())

    def _unit_rows(self, both: Tensor) -> Tensor:
        """Unit vectors whose products are the cosines that the loss compares.

        The projector ends in a Linear layer, so its outputs and their gradients lie in the span of that layer's weight
        and bias. If the span is narrower than the output, the outputs are computed in a basis of the span: fewer
        coordinates, exactly the same cosines. A GPU skips this, because it would have to wait for the basis.
        """
        if self.projector is None:
            return normalize(both, dim=1)
        first, activation, last = self.projector
        weight, bias = last.weight, last.bias
        if last.in_features + 1 < last.out_features and not both.is_cuda:
            basis = torch.linalg.qr(torch.cat([weight, bias[:, None]], dim=1).detach()).Q
            weight, bias = basis.t() @ weight, basis.t() @ bias
        return normalize(linear(activation(first(both)), weight, bias), dim=1)

    def chance(self) -> float | None:
        """log(2N − 1), the loss if every candidate is equally likely. None before the graph is known."""
        return None if self.num_nodes is None else math.log(2 * self.num_nodes - 1)
