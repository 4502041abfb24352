"""Arithmetic on the rows of embeddings, whether learned (dense) or raw features (sparse, and never made dense).

Sums are taken in float64: the judges subtract large numbers that are nearly equal.
"""

from __future__ import annotations

from typing import Union

import numpy as np
import torch
from torch import Tensor

from .errors import SignnapError
from .graph import SparseFeatures
from .graph.arrays import Array, as_tensor
from .graph.feature_ops import first_non_finite
from .graph.feature_types import chunk_rows

#: What a judge looks at: one row per node.
Embeddings = Union[Tensor, SparseFeatures]

_CHUNK_ELEMENTS = 1 << 20  # of dense rows at a time
_CHUNK_ROWS = 1 << 16  # of sparse ones


def as_embeddings(z: Embeddings | Array) -> Embeddings:
    """The entrance of every judge: embeddings as whoever made them has them."""
    return z if isinstance(z, SparseFeatures) else as_tensor(z)


def take_rows(z: Embeddings, nodes: Tensor) -> Embeddings:
    """The rows of these nodes without gradients, sparse if ``z`` is."""
    if isinstance(z, SparseFeatures):
        return SparseFeatures.from_scipy(z.to_scipy()[nodes.cpu().numpy()]).to(z.values.device)
    return z.detach().index_select(0, nodes.to(z.device))


def dense_rows(z: Embeddings, nodes: Tensor) -> Tensor:
    """The rows of these (few) nodes as a dense tensor."""
    rows = take_rows(z, nodes)
    return rows.dense() if isinstance(rows, SparseFeatures) else rows


def expect_finite(z: Embeddings, where: str = "", nodes: Tensor | None = None) -> None:
    """Refuse NaN and infinity, naming the node of the first row that has one: row numbers, unless ``nodes`` says."""
    if bad := first_non_finite(z):
        node = bad[0] if nodes is None else int(nodes[bad[0]])
        raise SignnapError(f"the embedding of node {node}{where} holds NaN or infinity: expected finite numbers")


def row_dots(left: Embeddings, right: Embeddings, pairs: Tensor) -> Tensor:
    """left[i] · right[j] for every (i, j) of the (2, P) ``pairs``, with a bounded buffer.

    Whatever compares rows one to one (lengths, cosines, distances) follows from these products.
    """
    if isinstance(left, SparseFeatures) and isinstance(right, SparseFeatures):
        a, b = left.to_scipy().astype(np.float64), right.to_scipy().astype(np.float64)
        chunks = [chunk.numpy() for chunk in pairs.cpu().split(_CHUNK_ROWS, dim=1)]
        dots = np.concatenate([np.asarray(a[i].multiply(b[j]).sum(axis=1)).ravel() for i, j in chunks])
        return torch.from_numpy(dots).to(left.values.device)
    size = chunk_rows(left.shape[1], _CHUNK_ELEMENTS)
    doubles = ((dense_rows(left, i).double(), dense_rows(right, j).double()) for i, j in pairs.split(size, dim=1))
    return torch.cat([torch.einsum("nd,nd->n", a, b) for a, b in doubles])


def project(z: Embeddings, vector: Tensor) -> Tensor:
    """z[i] · vector for every row; the vector is float64."""
    if isinstance(z, SparseFeatures):
        return torch.from_numpy(z.to_scipy() @ vector.cpu().numpy()).to(z.values.device)
    return torch.cat([chunk.double() @ vector for chunk in z.split(chunk_rows(z.shape[1], _CHUNK_ELEMENTS))])


def mean_row(z: Embeddings) -> Tensor:
    """The average of all rows."""
    if isinstance(z, SparseFeatures):
        total = np.asarray(z.to_scipy().sum(axis=0, dtype=np.float64)).ravel()
        return torch.from_numpy(total).to(z.values.device) / z.shape[0]
    return z.mean(dim=0, dtype=torch.float64)
