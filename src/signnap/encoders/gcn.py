"""GCN, ResGCN and JKNet of the SIGNNAP paper: one stack of graph convolutions, three ways to join its layers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ..graph import View, multiply, multiply_all
from ..interfaces import Encoder
from ..ops.dense import matmul
from ..ops.dropout import dropout
from ..ops.sparse import convolve


class GraphConvolution(nn.Module):
    """GC(H) = Â(H W) + H W_self + b, with W, W_self and b drawn from U(±1/√out).

    W and W_self are the two halves of one ``weight``, so that each pass reads H once for both.
    """

    def __init__(self, in_dim: int, out_dim: int) -> None:
        super().__init__()
        bound = 1 / math.sqrt(out_dim)
        self.weight = nn.Parameter(torch.empty(in_dim, 2 * out_dim).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(out_dim).uniform_(-bound, bound))

    def forward(self, products: Tensor, views: Sequence[View]) -> Tensor:
        """Compute the layer from ``H @ weight`` of each view, or from one product that all views share."""
        operators = [view.random_walk for view in views]
        values, transposed = [o.values for o in operators], [o.transposed for o in operators]
        return convolve(views[0].pattern, products, self.bias, values, transposed)


class GCNStack(Encoder):
    """Graph convolutions with ReLU and dropout between them; the last one has neither.

    ``join`` says what a middle layer passes on: ``plain`` its output (GCN), ``residual`` the sum of its output and its
    input (ResGCN), ``dense`` its output concatenated with its input (JKNet, a dense block in the authors' code).
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
        """Embed all views together: one product per layer, computed once where views share the features."""
        first, *rest = self.convolutions
        if all(view.x is views[0].x for view in views):
            products = multiply(views[0].x, first.weight)[None]
        else:
            products = torch.stack(multiply_all([view.x for view in views], first.weight))
        h = first(products, views)
        passed_on = products = None  # frees what the backward pass does not need before the next layer runs
        for convolution in rest:
            passed_on = self._joined(dropout(h, self.dropout, self.training, rectify=True), passed_on)
            del h
            h = convolution(matmul(passed_on, convolution.weight), views)
        return list(h.unbind())

    def _joined(self, h: Tensor, before: Tensor | None) -> Tensor:
        if before is None:
            return h
        if self.join == "residual":
            return h + before
        return torch.cat([h, before], dim=-1) if self.join == "dense" else h
