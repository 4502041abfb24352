"""Encoders by name, from modules that were written for PyG, and without a network: a table of rows."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..errors import SignnapError
from ..graph import View, as_dense
from ..interfaces import Encoder
from ..registry import ENCODERS


def build_encoder(
    backbone: str | nn.Module,
    *,
    in_dim: int,
    dim: int = 128,
    layers: int = 2,
    dropout: float = 0.5,
    heads: int = 8,
    out_dim: int | None = None,
) -> Encoder:
    """Build the encoder of this name, or wrap a module that takes ``(x, edge_index)``.

    All layers are ``dim`` wide. The last one is ``out_dim`` wide if that is given.
    """
    if isinstance(backbone, Encoder):
        return backbone
    if isinstance(backbone, nn.Module):
        return Adapted(backbone)
    part = ENCODERS.find(backbone)
    if layers < 1 or dim < 1:
        raise SignnapError(f"{backbone} has {layers} layers of width {dim}: expected at least one of each")
    out_dim = dim if out_dim is None else out_dim
    return part.build(in_dim=in_dim, dim=dim, layers=layers, dropout=dropout, heads=heads, out_dim=out_dim)


class Adapted(Encoder):
    """Calls a module with the features as a dense tensor and the kept edges as ``edge_index``.

    ``edge_index`` has no self-loops, because PyG's layers add them. Sparse features become dense here, because modules
    from outside take nothing else.
    """

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, view: View) -> Tensor:
        return self.module(as_dense(view.x), view.edge_index())


class Table(Encoder):
    """One trained row for each node of one graph. Rows start uniform in ±1/(2·dim), as in word2vec."""

    def __init__(self, num_nodes: int, dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter((torch.rand(num_nodes, dim) - 0.5) / dim)

    def forward(self, view: View) -> Tensor:
        # A copy outside training: callers may change what they get.
        return self.weight if torch.is_grad_enabled() else self.weight.clone()
