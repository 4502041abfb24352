"""The limits of this machine: the rates of a large product and a large copy, and the time of a step at these rates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import torch

from signnap.errors import SignnapError
from signnap.graph import Graph, SparseFeatures
from signnap.methods.settings import Settings
from signnap.ops.dense import matmul

from .timing import best_seconds

_PRECISE = {"float32": "highest", "tf32": "high", "bf16": "highest"}  # as torch calls them
#: The backbones whose operations are known.
COUNTED = ("gat", "gcn", "jknet", "resgcn", "sage")
_CONVOLUTIONS = ("gcn", "resgcn", "jknet")
_VIEWS = 2


def matmul_rate(device: torch.device, precision: str = "float32", size: int | None = None) -> float:
    """Return the floating-point operations per second of a square matrix product: 2·size³ by the best of a few."""
    size = size or (8192 if device.type == "cuda" else 2048)
    kind = torch.bfloat16 if precision == "bf16" else torch.float32
    left, right = (torch.randn(size, size, device=device).to(kind) for _ in range(2))
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(_PRECISE[precision])
    try:
        return 2 * size**3 / best_seconds(lambda: matmul(left, right), device)
    finally:
        torch.set_float32_matmul_precision(before)


def copy_rate(device: torch.device, megabytes: int | None = None) -> float:
    """Return the bytes per second of a copy, counted once as read and once as written."""
    megabytes = megabytes or (2048 if device.type == "cuda" else 256)
    source = torch.ones(megabytes << 18, device=device)
    target = torch.empty_like(source)
    return 2 * source.nbytes / best_seconds(lambda: target.copy_(source), device)


class Work(NamedTuple):
    """Floating-point operations, and bytes read or written."""

    operations: int
    bytes: int

    def times(self, number: int) -> Work:
        return Work(number * self.operations, number * self.bytes)


def step_operations(graph: Graph, settings: Settings) -> dict[str, Work]:
    """Return the work of one iteration by part: both views, forwards and backwards.

    With N nodes, E entries of the pattern, f stored feature values, width d and K negatives, where a layer's weight
    has m columns (2d in a graph convolution, which holds W and W_self; d in SAGE and GAT):

    * features: X·W and its gradient Xᵀ·G, 2·f·m each; of every view, but once where graph convolutions share them;
    * layers: H·W and its gradients G·Wᵀ and Hᵀ·G of every later layer and view, 2·N·w·m each, w wide at its input;
    * propagation: Â·H and its gradient Âᵀ·G of every layer and view, 2·E·d each, and in GAT a third such product, the
      gradient of its weights;
    * scores: of every view the products with K negatives and a positive, and their gradient, 2·N·(K+1)·d each.

    Each product moves its three matrices once, in numbers of four bytes; a sparse matrix has a column number beside
    the values of each entry, and scores are never stored. Everything but products (dropout, softmax, the
    draws, the memory bank, the optimiser) is left out: no step does less.
    """
    if settings.backbone not in COUNTED:
        raise SignnapError(f"the operations of backbone {settings.backbone!r} are not known: only those of {COUNTED}")
    nodes, entries, width = graph.num_nodes, graph.pattern.num_entries, settings.dim
    convolutions, attends = settings.backbone in _CONVOLUTIONS, settings.backbone == "gat"
    columns = 2 * width if convolutions else width
    perturbed = settings.mask_features > 0 or settings.noise != "none"
    sparse = isinstance(graph.x, SparseFeatures) and settings.noise == "none"
    first = _product(nodes, graph.num_features, columns, graph.x.values.numel() if sparse else None)
    widths = [width * (depth if settings.backbone == "jknet" else 1) for depth in range(1, settings.layers)]
    later = [_product(nodes, inner, columns) for inner in widths]
    pass_over_edges = _product(nodes, nodes, width, entries, settings.heads if attends else 1)
    return {
        "features": first.times(2 * (1 if convolutions and not perturbed else _VIEWS)),
        "layers": Work(sum(p.operations for p in later), sum(p.bytes for p in later)).times(3 * _VIEWS),
        "propagation": pass_over_edges.times((3 if attends else 2) * settings.layers * _VIEWS),
        "scores": _scores(nodes, settings).times(_VIEWS),
    }


def _product(rows: int, inner: int, columns: int, stored: int | None = None, values: int = 1) -> Work:
    """Return the work of a (rows × inner) matrix, dense or with so many stored entries, times a dense one.

    Its gradients are products of the same three matrices in other places, and as much work.
    """
    filled = rows * inner if stored is None else stored
    left = 4 * filled if stored is None else 4 * (1 + values) * filled
    return Work(2 * filled * columns, left + 4 * columns * (inner + rows))


def _scores(nodes: int, settings: Settings) -> Work:
    """Return the work of one view: embeddings, positives, drawn bank rows (each once), gradients and draws."""
    groups = 1 if settings.share == 0 else -(-nodes // settings.share)
    drawn = groups * settings.negatives
    numbers = (3 * nodes + min(drawn, nodes)) * settings.dim + drawn
    return Work(4 * nodes * (settings.negatives + 1) * settings.dim, 4 * numbers)


def floor_ms(operations: Mapping[str, Work], flops_per_second: float, bytes_per_second: float) -> float:
    """Return the milliseconds of the parts in sequence, each bound by its arithmetic or by its traffic."""
    seconds = (max(work.operations / flops_per_second, work.bytes / bytes_per_second) for work in operations.values())
    return 1e3 * sum(seconds)
