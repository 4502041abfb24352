"""GAT: attention layers with concatenated heads, as SIGNNAP's authors ran it, and its variants."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from ..errors import SignnapError
from ..graph import View, drop_features, multiply
from ..interfaces import Encoder
from ..ops.dense import matmul
from ..ops.dropout import dropout
from ..ops.sparse import attention, spmm
from .conv import find_activation


class GATLayer(nn.Module):
    """Per head: e_{j→i} = LeakyReLU_{0.2}(a_l·W x_j + a_r·W x_i), softmax over the in-edges of i, weighted sum.

    These are Eq. 1 to 5 of https://arxiv.org/abs/1710.10903. W, a_l and a_r are Xavier-normal with gain √2. Dropout
    acts on the attention weights. The bias, if there is one, starts at zero. The module ``then`` follows the layer.
    """

    def __init__(
        self,
        in_dim: int,
        heads: int,
        head_dim: int,
        dropout: float,
        *,
        bias: bool = False,
        then: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.dropout = dropout
        self.weight = nn.Parameter(nn.init.xavier_normal_(torch.empty(in_dim, heads * head_dim), gain=math.sqrt(2)))
        # The authors' attention vectors have the shape (1, heads, head_dim), so Xavier's fans are heads·dim and dim.
        spread = math.sqrt(2) * math.sqrt(2 / (heads * head_dim + head_dim))
        self.to_sender = nn.Parameter(torch.randn(heads, head_dim) * spread)
        self.to_receiver = nn.Parameter(torch.randn(heads, head_dim) * spread)
        self.bias = nn.Parameter(torch.zeros(heads * head_dim)) if bias else None
        self.then = nn.Identity() if then is None else then

    def forward(self, product: Tensor, view: View) -> Tensor:
        """Compute the layer from ``H @ weight``: (N, heads·head_dim)."""
        found = self.attend(product @ self.directions(), product, view)
        return self.then(found if self.bias is None else found + self.bias)

    def attend(self, scores: Tensor, values: Tensor, view: View) -> Tensor:
        """Average rows of ``values`` by the attention of each head; ``scores`` are ``H @ weight @ directions()``."""
        sender, receiver = scores.chunk(2, dim=1)
        weights = attention(view.pattern, sender, receiver, view.incoming, slope=0.2)
        return spmm(view.pattern, dropout(weights, self.dropout, self.training), values)

    def directions(self) -> Tensor:
        """A matrix with one column per attention vector, two for each head: (heads·head_dim, 2·heads)."""
        apart = torch.eye(len(self.to_sender), dtype=self.weight.dtype, device=self.weight.device)[:, None, :]
        return torch.cat([(v[:, :, None] * apart).flatten(0, 1) for v in (self.to_sender, self.to_receiver)], dim=1)


class GATStack(Encoder):
    """Attention layers with an activation between them and, with ``activate_last``, after the last.

    Dropout acts on the input and on the attention weights of every layer. ``attention_dropout`` is a separate rate for
    the attention weights.
    """

    def __init__(
        self,
        in_dim: int,
        dim: int,
        layers: int,
        dropout: float,
        heads: int,
        out_dim: int | None = None,
        *,
        attention_dropout: float | None = None,
        activation: str = "elu",
        activate_last: bool = False,
        bias: bool = False,
    ) -> None:
        super().__init__()
        widths = [dim] * (layers - 1) + [dim if out_dim is None else out_dim]
        if odd := [width for width in widths if width % heads]:
            raise SignnapError(f"dim is {odd[0]} with {heads} heads: expected a multiple of the number of heads")
        activate = find_activation(activation)
        self.dropout = dropout
        rate = dropout if attention_dropout is None else attention_dropout
        self.layers = nn.ModuleList()
        for number, (before, width) in enumerate(zip([in_dim, *widths], widths, strict=False), 1):
            then = activate(1) if activate_last or number < layers else None
            self.layers.append(GATLayer(before, heads, width // heads, rate, bias=bias, then=then))

    def forward(self, view: View) -> Tensor:
        return self.finish(self.begin(view), view)

    def begin(self, view: View) -> Tensor:
        """Multiply the features, after dropout, with the first weight."""
        return multiply(drop_features(view.x, self.dropout, self.training), self.layers[0].weight)

    def finish(self, product: Tensor, view: View) -> Tensor:
        """Embed a view from the product of its features with the first weight."""
        first, *rest = self.layers
        h = first(product, view)
        for layer in rest:
            h = layer(matmul(dropout(h, self.dropout, self.training), layer.weight), view)
        return h
