"""Two readings of one graph: over its edges, and over a diffusion along them (MVGRL, spec §4.5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ..contracts import Encoder
from ..errors import SignnapError
from ..graph import Operator, Pattern, View, multiply
from ..ops.sparse import spmm
from .convolutional import SymmetricConvolution

#: Columns that are diffused together on a CPU: few enough to stay in its cache for all steps, which is up to four times
#: as fast as 512 at once.
_COLUMNS = 64


class _Diffuse(torch.autograd.Function):
    """A polynomial in a matrix. Its adjoint is the same one in the transposed matrix, so no step is remembered."""

    @staticmethod
    def forward(ctx: Any, dense: Tensor, operator: Operator, alpha: float, hops: int) -> Tensor:
        ctx.operator, ctx.constants = operator, (alpha, hops)
        return _iterate(operator.pattern, operator.values, dense, alpha, hops)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None, None]:
        operator = ctx.operator
        return _iterate(operator.pattern, operator.transposed, grads[0], *ctx.constants), None, None, None


def _iterate(pattern: Pattern, values: Tensor, dense: Tensor, alpha: float, hops: int) -> Tensor:
    kept, found = (1 - alpha) * values, torch.empty_like(dense, memory_format=torch.contiguous_format)
    width = dense.shape[1] if dense.is_cuda else _COLUMNS
    for columns, into in zip(dense.split(width, dim=1), found.split(width, dim=1), strict=True):
        spread, restarted = columns.contiguous(), alpha * columns
        for _ in range(hops):
            spread = spmm(pattern, kept, spread).add_(restarted)
        into.copy_(spread)
    return found


def diffuse(operator: Operator, dense: Tensor, alpha: float = 0.2, hops: int = 20) -> Tensor:
    """S · dense for S = α (I − (1−α) P)⁻¹, personalised PageRank, by y ← (1−α) P y + α · dense; S is never formed.

    Every step leaves (1−α) P of the error. Where P is symmetric with eigenvalues in [−1, 1] (a clean view's
    ``symmetric``) no column is further off than (1−α)^hops of its length: 1.2 % after 20 steps with α = 0.2, and less
    by far where P is smooth, since what P keeps as it is, S keeps as well. Differentiable in ``dense``, with the exact
    gradient of these steps.
    """
    return _Diffuse.apply(dense, operator, alpha, hops)


class DiffusedConvolution(SymmetricConvolution):
    """then(S (H W) + b): a graph convolution whose neighbourhood is the whole component, nearer nodes weighing more."""

    def __init__(self, in_dim: int, out_dim: int, then: nn.Module, alpha: float, hops: int) -> None:
        super().__init__(in_dim, out_dim, then)
        if not 0 < alpha <= 1:
            raise SignnapError(f"alpha is {alpha}: expected a number above 0 and up to 1")
        self.alpha, self.hops = alpha, hops

    def forward(self, product: Tensor, view: View) -> Tensor:
        return self.then(diffuse(view.symmetric, product, self.alpha, self.hops) + self.bias)


class EdgesAndDiffusion(Encoder):
    """h¹ + h², where h¹ = PReLU(Â X W₁ + b₁) reads the edges and h² = PReLU(S X W₂ + b₂) a diffusion.

    Both Â and S are those of the view at hand, each self-loop counted once, so an unseen graph needs nothing special.
    Each branch has weights of its own and one slope.
    """

    def __init__(self, in_dim: int, dim: int, alpha: float = 0.2, hops: int = 20) -> None:
        super().__init__()
        self.edges = SymmetricConvolution(in_dim, dim, nn.PReLU())
        self.diffusion = DiffusedConvolution(in_dim, dim, nn.PReLU(), alpha, hops)

    def forward(self, view: View) -> Tensor:
        first, second = self.finish(self.products(view), view)
        return first + second

    def products(self, view: View) -> list[Tensor]:
        """The features times the weight of each branch."""
        return [multiply(view.x, branch.weight) for branch in (self.edges, self.diffusion)]

    def finish(self, products: Sequence[Tensor], view: View) -> tuple[Tensor, Tensor]:
        """h¹ and h², given those products."""
        first, second = products
        return self.edges(first, view), self.diffusion(second, view)
