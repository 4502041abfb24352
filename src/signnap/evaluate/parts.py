"""The three parts of a split, checked once for every probe."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..errors import SignnapError
from ..graph import SparseFeatures
from ..rows import Array, Embeddings, as_embeddings, as_tensor, first_bad_row, take_rows

#: So many classes are taken for granted, however few nodes there are to learn them from.
_CLASSES = 1000


@dataclass(frozen=True, eq=False)
class Part:
    """Embeddings and labels of the nodes of one part, in the order of its index."""

    x: Embeddings
    y: Tensor


@dataclass(frozen=True, eq=False)
class Parts:
    """What a probe learns from, chooses by and is judged on; ``classes`` counts those of all labelled nodes."""

    train: Part
    val: Part
    test: Part
    classes: int


def labelled_parts(embeddings: Embeddings | Array, y: Array | None, train: Array, val: Array, test: Array) -> Parts:
    """Select the three parts, or say in one sentence why they cannot be judged."""
    if y is None:
        raise SignnapError("there are no labels: a probe needs a class number for every node of its split")
    embeddings, labels = as_embeddings(embeddings), as_tensor(y, "labels")
    if len(embeddings.shape) != 2:
        raise SignnapError(f"embeddings have shape {tuple(embeddings.shape)}: expected one row per node")
    if labels.dim() != 1:
        raise SignnapError(f"labels have shape {tuple(labels.shape)}: expected one class number per node")
    if embeddings.shape[0] != len(labels):
        raise SignnapError(f"there are {embeddings.shape[0]} embeddings for {len(labels)} labels: expected one each")
    embeddings = embeddings if isinstance(embeddings, SparseFeatures) else embeddings.float()
    given = {"training": train, "validation": val, "test": test}
    named = {name: as_tensor(nodes, f"{name} part") for name, nodes in given.items()}
    classes, learned = int(labels.max()) + 1, named["training"].numel()
    if classes > max(learned, _CLASSES):
        raise SignnapError(f"there are {classes:,} classes for {learned:,} training nodes: are these labels?")
    parts = [_part(name, embeddings, labels, nodes) for name, nodes in named.items()]
    return Parts(parts[0], parts[1], parts[2], classes)


def _part(name: str, embeddings: Embeddings, y: Tensor, nodes: Tensor) -> Part:
    if not nodes.numel():
        raise SignnapError(f"the {name} part of the split is empty: expected at least one node")
    if nodes.dtype.is_floating_point or nodes.dtype == torch.bool:
        raise SignnapError(f"the {name} part holds {nodes.dtype} values: expected node rows (mask.nonzero().ravel())")
    if nodes.dim() != 1:
        raise SignnapError(f"the {name} part has shape {tuple(nodes.shape)}: expected (nodes,)")
    outside = nodes[(nodes < 0) | (nodes >= len(y))]
    if len(outside):
        raise SignnapError(f"the {name} part names node {int(outside[0])}: expected 0 to {len(y) - 1}")
    labels = y[nodes.to(y.device)]
    missing = (labels < 0).nonzero()
    if len(missing):
        raise SignnapError(f"node {int(nodes[missing[0]])} of the {name} part has no label: expected a class number")
    x = take_rows(embeddings, nodes)
    bad = first_bad_row(x)
    if bad is not None:
        raise SignnapError(f"the embedding of node {int(nodes[bad])} holds NaN or infinity: expected finite numbers")
    device = x.values.device if isinstance(x, SparseFeatures) else x.device
    return Part(x, labels.long().to(device))
