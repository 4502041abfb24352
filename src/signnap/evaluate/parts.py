"""The three parts of a split, checked once for every probe."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..errors import SignnapError
from ..graph import SparseFeatures
from ..graph.arrays import Array, as_tensor
from ..rows import Embeddings, as_embeddings, expect_finite, take_rows

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
    if len(found := parts[0].y.unique()) == 1:
        raise SignnapError(f"the training part holds class {int(found)} only: expected at least two classes")
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
    expect_finite(x, nodes=nodes)
    device = x.values.device if isinstance(x, SparseFeatures) else x.device
    return Part(x, labels.long().to(device))


def balanced_accuracy(right: Tensor, y: Tensor) -> Tensor:
    """The share of right answers (…, n) in each class of ``y`` by itself, averaged over the classes."""
    _, classes, counts = y.unique(return_inverse=True, return_counts=True)
    found = right.new_zeros(*right.shape[:-1], len(counts), dtype=torch.float64)
    return (found.index_add_(-1, classes, right.double()) / counts).mean(dim=-1)
