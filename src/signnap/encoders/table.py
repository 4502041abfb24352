"""An embedding that belongs to the nodes of one graph: there is nothing to compute."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..contracts import Encoder
from ..graph import View


class Table(Encoder):
    """One row for every node of the graph that it was made for; rows begin small and uniform, as word2vec's do."""

    def __init__(self, num_nodes: int, dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter((torch.rand(num_nodes, dim) - 0.5) / dim)

    def forward(self, view: View) -> Tensor:
        return self.weight if torch.is_grad_enabled() else self.weight.clone()  # nobody else's to change
