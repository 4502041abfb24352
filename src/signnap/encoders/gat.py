"""GAT as the authors ran it: heads concatenated in every layer, no bias (spec §2.3)."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import elu, leaky_relu

from ..contracts import Encoder
from ..errors import SignnapError
from ..graph import View, drop_features, dropout, multiply, row_softmax, spmm


class GATLayer(nn.Module):
    """Per head: e_{j→i} = LeakyReLU_{0.2}(a_l·W x_j + a_r·W x_i), softmax over i's in-edges, weighted sum.

    W, a_l and a_r are Xavier-normal with gain √2; dropout acts on the input and on the attention weights.
    """

    def __init__(self, in_dim: int, heads: int, head_dim: int, dropout: float) -> None:
        super().__init__()
        self.dropout = dropout
        self.shape = (heads, head_dim)
        self.weight = nn.Parameter(nn.init.xavier_normal_(torch.empty(in_dim, heads * head_dim), gain=math.sqrt(2)))
        # The authors' attention vectors have shape (1, heads, head_dim), whose Xavier fans are heads·dim and dim.
        spread = math.sqrt(2) * math.sqrt(2 / (heads * head_dim + head_dim))
        self.to_sender = nn.Parameter(torch.randn(heads, head_dim) * spread)
        self.to_receiver = nn.Parameter(torch.randn(heads, head_dim) * spread)

    def forward(self, product: Tensor, view: View) -> Tensor:
        """Attend, given ``H @ weight``; the result is (N, heads·head_dim)."""
        pattern = view.pattern
        h = product.view(-1, *self.shape)
        sender = (h * self.to_sender).sum(-1).index_select(0, pattern.indices)
        receiver = (h * self.to_receiver).sum(-1).index_select(0, pattern.rows)
        attention = row_softmax(pattern, leaky_relu(sender + receiver, 0.2), view.incoming)
        attention = dropout(attention, self.dropout, self.training)
        by_head = zip(attention.unbind(1), h.unbind(1), strict=True)
        return torch.cat([spmm(pattern, weights.contiguous(), values) for weights, values in by_head], dim=1)


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
