"""The inputs of all measures: embeddings, dense or sparse, and the labelled nodes of a split."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union

import torch
from torch import Tensor

from ..errors import SignnapError
from ..graph import SparseFeatures
from ..graph.arrays import Array, as_tensor
from ..graph.feature_ops import first_non_finite

#: One row per node. Learned embeddings are dense; raw features can be sparse and stay sparse.
Embeddings = Union[Tensor, SparseFeatures]

#: With more classes than this and than training nodes, the labels are probably no labels.
_CLASSES = 1000


def as_embeddings(z: Embeddings | Array) -> Embeddings:
    """Embeddings from any kind of array. Every measure passes its input through this function."""
    return z if isinstance(z, SparseFeatures) else as_tensor(z)


def take_rows(z: Embeddings, nodes: Tensor) -> Embeddings:
    """The rows of these nodes without gradients; sparse if ``z`` is sparse."""
    if isinstance(z, SparseFeatures):
        return SparseFeatures.from_scipy(z.to_scipy()[nodes.cpu().numpy()]).to(z.values.device)
    return z.detach().index_select(0, nodes.to(z.device))


def expect_finite(z: Embeddings, where: str = "", nodes: Tensor | None = None) -> None:
    """Refuse NaN and infinity. The error names the node of the first such row: ``nodes[row]``, or the row number."""
    if bad := first_non_finite(z):
        node = bad[0] if nodes is None else int(nodes[bad[0]])
        raise SignnapError(f"the embedding of node {node}{where} holds NaN or infinity: expected finite numbers")


@dataclass(frozen=True, eq=False)
class Part:
    """Embeddings and labels of one part of a split, in the order of its nodes."""

    x: Embeddings
    y: Tensor


@dataclass(frozen=True, eq=False)
class Parts:
    """The parts on which a probe is trained, chosen and tested. ``classes`` counts the classes of all nodes."""

    train: Part
    val: Part
    test: Part
    classes: int


def labelled_parts(embeddings: Embeddings | Array, y: Array | None, train: Array, val: Array, test: Array) -> Parts:
    """Select the three parts. Embeddings, labels or nodes that do not fit together are an error."""
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
    """The mean over classes of the fraction of right answers (…, n) among the nodes of the class."""
    _, classes, counts = y.unique(return_inverse=True, return_counts=True)
    found = right.new_zeros(*right.shape[:-1], len(counts), dtype=torch.float64)
    return (found.index_add_(-1, classes, right.double()) / counts).mean(dim=-1)
