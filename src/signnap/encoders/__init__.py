"""Encoders: from a view to one embedding per node."""

from __future__ import annotations

from collections.abc import Callable

from torch import nn

from ..contracts import Encoder
from ..errors import SignnapError, unknown_name
from .adapt import Adapted
from .authors import redraw
from .convolutional import ConvolutionalStack
from .gat import GATStack
from .gcn import GCNStack
from .nudge import nudge
from .sage import SAGEStack
from .table import Table

#: name -> a function of (in_dim, dim, layers, dropout, heads, out_dim). The first five are the paper's; the others are
#: GCN and GAT as their own authors have them: neighbours by symmetric weights and no second weight for the node itself
#: (spec §3.1), and attention with a bias (spec §2.3).
ENCODERS: dict[str, Callable[..., Encoder]] = {
    "gcn": lambda heads, **sizes: GCNStack(join="plain", **sizes),
    "resgcn": lambda heads, **sizes: GCNStack(join="residual", **sizes),
    "jknet": lambda heads, **sizes: GCNStack(join="dense", **sizes),
    "sage": lambda heads, **sizes: SAGEStack(**sizes),
    "gat": GATStack,
    "gcn-original": lambda heads, in_dim, dim, layers, dropout, out_dim: ConvolutionalStack(
        in_dim, [dim] * (layers - 1) + [out_dim], dropout=dropout
    ),
    "gat-original": lambda **sizes: GATStack(bias=True, **sizes),
}


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
    """Build a named backbone, or adapt a module that takes ``(x, edge_index)``.

    All layers are ``dim`` wide, the last one ``out_dim`` where that is given.
    """
    if isinstance(backbone, Encoder):
        return backbone
    if isinstance(backbone, nn.Module):
        return Adapted(backbone)
    if backbone not in ENCODERS:
        raise unknown_name("backbone", backbone, ENCODERS)
    if layers < 1 or dim < 1:
        raise SignnapError(f"{backbone} has {layers} layers of width {dim}: expected at least one of each")
    sizes = {"in_dim": in_dim, "dim": dim, "layers": layers, "out_dim": dim if out_dim is None else out_dim}
    return ENCODERS[backbone](dropout=dropout, heads=heads, **sizes)


__all__ = [
    "ENCODERS",
    "Adapted",
    "ConvolutionalStack",
    "GATStack",
    "GCNStack",
    "SAGEStack",
    "Table",
    "build_encoder",
    "nudge",
    "redraw",
]
