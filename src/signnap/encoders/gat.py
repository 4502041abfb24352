"""GAT as the authors ran it: heads concatenated in every layer, no bias (spec §2.3)."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import elu

from ..contracts import Encoder
from ..errors import SignnapError
from ..graph import View, attention, drop_features, dropout, multiply, spmm


class GATLayer(nn.Module):
    """Per head: e_{j→i} = LeakyReLU_{0.2}(a_l·W x_j + a_r·W x_i), softmax over i's in-edges, weighted sum.

    W, a_l and a_r are Xavier-normal with gain √2; dropout acts on the input and on the attention weights.
    """

    def __init__(self, in_dim: int, heads: int, head_dim: int, dropout: float) -> None:
        super().__init__()
        self.dropout = dropout
        self.weight = nn.Parameter(nn.init.xavier_normal_(torch.empty(in_dim, heads * head_dim), gain=math.sqrt(2)))
        # The authors' attention vectors have shape (1, heads, head_dim), whose Xavier fans are heads·dim and dim.
        spread = math.sqrt(2) * math.sqrt(2 / (heads * head_dim + head_dim))
        self.to_sender = nn.Parameter(torch.randn(heads, head_dim) * spread)
        self.to_receiver = nn.Parameter(torch.randn(heads, head_dim) * spread)

    def forward(self, product: Tensor, view: View) -> Tensor:
        """Attend, given ``H @ weight``; the result is (N, heads·head_dim)."""
        sender, receiver = (product @ self._directions()).chunk(2, dim=1)
        weights = attention(view.pattern, sender, receiver, view.incoming, slope=0.2)
        return spmm(view.pattern, dropout(weights, self.dropout, self.training), product)

    def _directions(self) -> Tensor:
        """Both attention vectors of every head, each in its own column: (heads·head_dim, 2·heads)."""
        apart = torch.eye(len(self.to_sender), dtype=self.weight.dtype, device=self.weight.device)[:, None, :]
        return torch.cat([(v[:, :, None] * apart).flatten(0, 1) for v in (self.to_sender, self.to_receiver)], dim=1)


class GATStack(Encoder):
    """Attention layers with ELU between them."""

    def __init__(self, in_dim: int, dim: int, layers: int, dropout: float, heads: int) -> None:
        super().__init__()
        if dim % heads:
            raise SignnapError(f"dim is {dim} with {heads} heads: expected a multiple of the number of heads")
        self.dropout = dropout
        widths = [in_dim] + [dim] * (layers - 1)
        self.layers = nn.ModuleList(GATLayer(width, heads, dim // heads, dropout) for width in widths)

    def forward(self, view: View) -> Tensor:
        first, *rest = self.layers
        h = first(multiply(drop_features(view.x, self.dropout, self.training), first.weight), view)
        for layer in rest:
            h = layer(dropout(elu(h), self.dropout, self.training) @ layer.weight, view)
        return h
