"""Bring your own encoder: any module that takes ``(x, edge_index)``, as PyG's models do."""

from __future__ import annotations

from torch import Tensor, nn

from ..contracts import Encoder
from ..graph import View, as_dense


class Adapted(Encoder):
    """Hand a foreign module the kept edges as ``edge_index`` and the features as a dense tensor.

    Edges come without self-loops, since PyG's layers add their own. Sparse features are made dense here, and
    only here: a foreign module cannot be expected to take anything else.
    """

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, view: View) -> Tensor:
        return self.module(as_dense(view.x), view.edge_index())
