"""GCN, ResGCN and JKNet: one stack of graph convolutions, three ways to join its layers (spec §2.3)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ..contracts import Encoder
from ..graph import Features, View, dropout, multiply


class GraphConvolution(nn.Module):
    """GC(H) = Â(H W) + H W_self + b, all three drawn from U(±1/√out).

    Â does not depend on the weights, so H W may be computed once for several views (``products``).
    """

    def __init__(self, in_dim: int, out_dim: int) -> None:
        super().__init__()
        bound = 1 / math.sqrt(out_dim)
        self.weight = nn.Parameter(torch.empty(in_dim, out_dim).uniform_(-bound, bound))
        self.own_weight = nn.Parameter(torch.empty(in_dim, out_dim).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(out_dim).uniform_(-bound, bound))

    def products(self, h: Features) -> tuple[Tensor, Tensor]:
        """H W and H W_self + b: the part of the layer that no perturbation of edges touches."""
        return multiply(h, self.weight), multiply(h, self.own_weight).add_(self.bias)

    def propagate(self, products: tuple[Tensor, Tensor], view: View) -> Tensor:
        """Finish the layer on one view."""
        return view.random_walk(*products)


class GCNStack(Encoder):
    """Graph convolutions with ReLU and dropout between them, none of either on the last.

    ``join`` says what a middle layer hands on: ``plain`` its output (GCN), ``residual`` its output plus its input
    (ResGCN), ``dense`` its output beside its input (JKNet, as the authors' code builds it: a dense block).
    """

    def __init__(self, in_dim: int, dim: int, layers: int, dropout: float, join: str) -> None:
        super().__init__()
        self.join = join
        self.dropout = dropout
        widths = [in_dim] + [dim * (depth if join == "dense" else 1) for depth in range(1, layers)]
        self.convolutions = nn.ModuleList(GraphConvolution(width, dim) for width in widths)

    def forward(self, view: View) -> Tensor:
        return self.encode([view])[0]

    def encode(self, views: Sequence[View]) -> list[Tensor]:
        """Views with the same features share the first product, usually the most expensive one."""
        features = {id(view.x): view.x for view in views}
        products = {key: self.convolutions[0].products(x) for key, x in features.items()}
        return [self._from_first(products[id(view.x)], view) for view in views]

    def _from_first(self, products: tuple[Tensor, Tensor], view: View) -> Tensor:
        first, *rest = self.convolutions
        h = first.propagate(products, view)
        handed_on = None
        for convolution in rest:
            handed_on = self._joined(dropout(h, self.dropout, self.training, rectify=True), handed_on)
            h = convolution.propagate(convolution.products(handed_on), view)
        return h

    def _joined(self, h: Tensor, before: Tensor | None) -> Tensor:
        if before is None:
            return h
        if self.join == "residual":
            return h + before
        return torch.cat([h, before], dim=1) if self.join == "dense" else h
