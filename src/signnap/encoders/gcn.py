"""GCN, ResGCN and JKNet: one stack of graph convolutions, three ways to join its layers (spec §2.3)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ..contracts import Encoder
from ..graph import View, multiply, multiply_all
from ..ops.dense import matmul
from ..ops.dropout import dropout
from ..ops.sparse import convolve


class GraphConvolution(nn.Module):
    """GC(H) = Â(H W) + H W_self + b, all three drawn from U(±1/√out).

    W and W_self lie side by side in one ``weight``, so that H is read once for both, forwards and backwards.
    """

    def __init__(self, in_dim: int, out_dim: int) -> None:
        super().__init__()
        bound = 1 / math.sqrt(out_dim)
        self.weight = nn.Parameter(torch.empty(in_dim, 2 * out_dim).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(out_dim).uniform_(-bound, bound))

    def forward(self, products: Tensor, views: Sequence[View]) -> Tensor:
        """Finish the layer, given ``H @ weight`` of each view, or one that all share: (views, N, out)."""
        operators = [view.random_walk for view in views]
        values, transposed = [o.values for o in operators], [o.transposed for o in operators]
        return convolve(views[0].pattern, products, self.bias, values, transposed)


class GCNStack(Encoder):
    """Graph convolutions with ReLU and dropout between them, none of either on the last.

    ``join`` says what a middle layer hands on: ``plain`` its output (GCN), ``residual`` its output plus its input
    (ResGCN), ``dense`` its output beside its input (JKNet, as the authors' code builds it: a dense block).
    """

    def __init__(
        self, in_dim: int, dim: int, layers: int, dropout: float, join: str, out_dim: int | None = None
    ) -> None:
        super().__init__()
        self.join = join
        self.dropout = dropout
        widths = [in_dim] + [dim * (depth if join == "dense" else 1) for depth in range(1, layers)]
        outputs = [dim] * (layers - 1) + [dim if out_dim is None else out_dim]
        self.convolutions = nn.ModuleList(map(GraphConvolution, widths, outputs))

    def forward(self, view: View) -> Tensor:
        return self.encode([view])[0]

    def encode(self, views: Sequence[View]) -> list[Tensor]:
        """All views together: one product per layer, and a single one where views share the features."""
        first, *rest = self.convolutions
        if all(view.x is views[0].x for view in views):
            products = multiply(views[0].x, first.weight)[None]
        else:
            products = torch.stack(multiply_all([view.x for view in views], first.weight))
        h = first(products, views)
        handed_on = products = None  # what backward does not need may go before the next layer comes
        for convolution in rest:
            handed_on = self._joined(dropout(h, self.dropout, self.training, rectify=True), handed_on)
            del h
            h = convolution(matmul(handed_on, convolution.weight), views)
        return list(h.unbind())

    def _joined(self, h: Tensor, before: Tensor | None) -> Tensor:
        if before is None:
            return h
        if self.join == "residual":
            return h + before
        return torch.cat([h, before], dim=-1) if self.join == "dense" else h
