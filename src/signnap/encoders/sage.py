"""GraphSAGE as the SIGNNAP authors ran it: all nodes at once, with DGL's aggregator "gcn"."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from ..graph import View, drop_features, multiply
from ..interfaces import Encoder
from ..ops.dense import matmul
from ..ops.dropout import dropout


class SAGEStack(Encoder):
    """h_i = φ( W · (Σ_{j∈P(i)} x_j + x_i) / (|P(i)|+1) + b ), where P(i) contains i.

    A node therefore counts twice in its own mean. Dropout acts before every layer, including on the features. ReLU
    follows every layer except the last. W is Xavier-uniform with gain √2, b from U(±1/√in).
    """

    def __init__(self, in_dim: int, dim: int, layers: int, dropout: float, out_dim: int | None = None) -> None:
        super().__init__()
        self.dropout = dropout
        widths = [in_dim] + [dim] * (layers - 1)
        sizes = [*zip(widths, [dim] * (layers - 1) + [dim if out_dim is None else out_dim], strict=True)]
        self.weights = nn.ParameterList(_xavier_uniform(width, out) for width, out in sizes)
        self.biases = nn.ParameterList(torch.empty(out).uniform_(-1, 1) / math.sqrt(width) for width, out in sizes)

    def forward(self, view: View) -> Tensor:
        h = multiply(drop_features(view.x, self.dropout, self.training), self.weights[0])
        h = view.neighbour_mean(h) + self.biases[0]
        for weight, bias in zip(self.weights[1:], self.biases[1:], strict=True):
            h = dropout(h, self.dropout, self.training, rectify=True)
            h = view.neighbour_mean(matmul(h, weight)) + bias
        return h


def _xavier_uniform(in_dim: int, out_dim: int) -> Tensor:
    return nn.init.xavier_uniform_(torch.empty(in_dim, out_dim), gain=math.sqrt(2))
