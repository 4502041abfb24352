"""Properties of embeddings that need no labels: stability, smoothness and identifiability.

The paper defines them in the sections "Stability of Node Representations" and "Smoothness and Identifiability of Node
Representations". All functions read arrays. Sums are taken in float64, because the measures subtract large numbers that
are nearly equal. The cosine of two zero embeddings is 1, that of a zero embedding and any other is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import torch
from torch import Tensor

from ..errors import SignnapError
from ..graph import Pattern, SparseFeatures
from ..graph.arrays import Array, as_tensor
from ..graph.feature_types import chunk_rows
from ..ops.geometry import ROUNDING, cosines, directions, effective_rank, uniformity
from .inputs import Embeddings, as_embeddings, expect_finite, take_rows

#: Cosines that differ by less are a tie. In float64 this covers the rounding of float32 input, which moves a cosine
#: near 1 by the square of 1e-7 only.
_TIE = 1e-9
_CHUNK_ELEMENTS = 1 << 20  # of dense rows at a time
_CHUNK_ROWS = 1 << 16  # of sparse rows at a time


# -- stability -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stability:
    """Cosines between the embeddings of the same node in several perturbed copies of its graph.

    ``matrix[a][b]`` is the mean cosine of copies a and b over the nodes (the paper's S̄), and ``mean`` is the mean of
    its off-diagonal entries. ``normalized`` is the matrix after min-max scaling, as the paper draws it; all ones if the
    entries are equal. ``per_node`` has two quantiles of the mean cosines of single nodes: "q05", below which the least
    stable 5 % lie, and "median".

    A map that sends every node to one point has ``mean`` 1. ``centred`` is the same mean after subtraction of the
    average embedding over nodes and copies; such a map then scores 0. After centring, a zero row is a node that equals
    the average, and its cosine is 0 with every row.
    """

    mean: float
    centred: float
    per_node: dict[str, float]
    matrix: list[list[float]]
    normalized: list[list[float]]
    copies: int
    nodes: int


@torch.no_grad()
def stability(draw: Callable[[], Embeddings | Array], *, copies: int = 10, nodes: Array | None = None) -> Stability:
    """Compare ``copies`` embeddings over ``nodes`` (default: all nodes).

    Each call of ``draw()`` embeds a freshly perturbed graph. All copies are in memory together: copies · N · d numbers,
    and a buffer of bounded size.
    """
    if copies < 2:
        raise SignnapError(f"stability compares perturbed copies with each other: expected at least 2, found {copies}")
    drawn = _drawn(draw, copies, nodes)
    count = drawn[0].shape[0]
    if not count:
        raise SignnapError("stability was asked of no nodes: expected at least one")
    found = torch.eye(copies, dtype=torch.float64)
    own = centred = torch.zeros(count, dtype=torch.float64)
    for a, b, plain, without_average in _pairs_of_copies(drawn):
        found[a, b] = found[b, a] = float(plain.mean())
        own, centred = own + plain.cpu(), centred + without_average.cpu()
    pairs = copies * (copies - 1) / 2
    own, centred = own / pairs, centred / pairs
    return Stability(
        mean=float(own.mean()),
        centred=float(centred.mean()),
        per_node=_per_node(own),
        matrix=found.tolist(),
        normalized=min_max(found).tolist(),
        copies=copies,
        nodes=count,
    )


def _per_node(own: Tensor) -> dict[str, float]:
    """Quantiles of the nodes' mean cosines, by numpy: torch's quantile takes at most 2^24 numbers."""
    q05, median = np.quantile(own.numpy(), [0.05, 0.5]).tolist()
    return {"q05": q05, "median": median}


def min_max(matrix: Tensor) -> Tensor:
    """Scale the matrix to the range from 0 to 1, as the paper draws it; all ones if its entries are equal."""
    low, high = matrix.min(), matrix.max()
    return (matrix - low) / (high - low) if high - low > ROUNDING else torch.ones_like(matrix)


def _drawn(draw: Callable[[], Embeddings | Array], copies: int, nodes: Array | None) -> list[Embeddings]:
    drawn: list[Embeddings] = []
    shape: tuple[int, ...] | None = None
    for copy in range(copies):
        z = as_embeddings(draw())
        shape = shape or tuple(z.shape)
        if tuple(z.shape) != shape:
            raise SignnapError(f"perturbed copy {copy} has embeddings of shape {tuple(z.shape)}: expected {shape}")
        expect_finite(z, f" in perturbed copy {copy}")
        drawn.append(z if nodes is None else take_rows(z, as_tensor(nodes)))
    return drawn


def _pairs_of_copies(drawn: list[Embeddings]) -> Iterator[tuple[int, int, Tensor, Tensor]]:
    """Yield copies a < b with each node's cosine, and its cosine after subtraction of the average embedding.

    With the average m, (x − m)·(y − m) = x·y − x·m − y·m + m·m, so both cosines follow from the same products.
    """
    average = torch.stack([mean_row(z) for z in drawn]).mean(dim=0)
    length = average @ average
    same = torch.arange(drawn[0].shape[0]).expand(2, -1)
    squares = [row_dots(z, z, same) for z in drawn]
    along = [project(z, average) for z in drawn]
    spreads = [square - 2 * on + length for square, on in zip(squares, along, strict=True)]
    spreads = [torch.where(spread > ROUNDING**2 * length, spread, 0) for spread in spreads]
    for a, b in combinations(range(len(drawn)), 2):
        dots = row_dots(drawn[a], drawn[b], same)
        centred = cosines(dots - along[a] - along[b] + length, spreads[a], spreads[b])
        yield a, b, cosines(dots, squares[a], squares[b]), torch.where(spreads[a] * spreads[b] > 0, centred, 0)


# -- smoothness ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Smoothness:
    """Cosines and distances along edges, compared with those of random pairs of nodes.

    ``mean`` is the mean cosine over edges, ``random_pairs`` that over pairs of distinct nodes, and ``gap`` the
    difference. ``dirichlet`` is the mean squared distance over edges divided by its expectation over random pairs
    (twice the total variance): 0 if neighbours coincide, 1 if edges carry no information.

    A value is None if there is nothing to average: without edges (``mean``, ``gap``, ``dirichlet``), with fewer than
    two nodes (all values), or if all embeddings coincide (``dirichlet``).
    """

    mean: float | None
    random_pairs: float | None
    gap: float | None
    dirichlet: float | None
    edges: int


@torch.no_grad()
def smoothness(
    z: Embeddings | Array, pattern: Pattern, generator: torch.Generator, *, sample: int = 100_000
) -> Smoothness:
    """Measure over all edges of ``pattern``, each once, and over ``sample`` random pairs (all pairs if fewer exist)."""
    z = as_embeddings(z)
    if z.shape[0] != pattern.num_nodes:
        raise SignnapError(f"there are {z.shape[0]} embeddings for {pattern.num_nodes} nodes: expected one each")
    expect_finite(z)
    once = pattern.rows < pattern.indices
    edges = torch.stack([pattern.rows[once], pattern.indices[once]])
    squares = row_dots(z, z, torch.arange(pattern.num_nodes).expand(2, -1))
    near, squared = _pair_means(z, squares, edges)
    random, _ = _pair_means(z, squares, _random_pairs(pattern.num_nodes, sample, generator))
    variance = _total_variance(z, squares)
    return Smoothness(
        mean=near,
        random_pairs=random,
        gap=None if near is None or random is None else near - random,
        dirichlet=squared / (2 * variance) if squared is not None and variance else None,
        edges=edges.shape[1],
    )


def _pair_means(z: Embeddings, squares: Tensor, pairs: Tensor) -> tuple[float | None, float | None]:
    """The mean cosine and the mean squared distance over (2, P) pairs of rows; ``squares`` are the squared lengths."""
    if not pairs.shape[1]:
        return None, None
    dots = row_dots(z, z, pairs)
    left, right = squares[pairs.to(squares.device)]
    return float(cosines(dots, left, right).mean()), float((left + right - 2 * dots).mean())


def _random_pairs(n: int, sample: int, generator: torch.Generator) -> Tensor:
    if n * (n - 1) // 2 <= sample:
        return torch.triu_indices(n, n, offset=1)
    first = torch.randint(n, (sample,), generator=generator, device=generator.device)
    step = torch.randint(1, n, (sample,), generator=generator, device=generator.device)
    return torch.stack([first, (first + step) % n])


def _total_variance(z: Embeddings, squares: Tensor) -> float:
    """Σ‖z − mean‖² / (N − 1); 0 if the differences are rounding, or if there is one row."""
    n, mean = z.shape[0], mean_row(z)
    centre = n * float(mean @ mean)
    spread = float(squares.sum()) - centre
    return 0.0 if n < 2 or spread <= ROUNDING**2 * centre else spread / (n - 1)


# -- identifiability -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Identifiability:
    """How well nodes can be recognised in another perturbed copy by their embeddings.

    ``mean`` is the fraction of nodes whose nearest embedding (cosine) in the other copy is their own, averaged over
    both directions. A tie does not count as recognised, so a map that sends all nodes to one point scores 0. ``margin``
    is the mean of own cosine − best other cosine, and ``separation`` is 1 − the mean cosine of distinct nodes. These
    three are None for a single node. ``effective_rank`` and ``uniformity`` (see ``signnap.ops.geometry``) are those of
    the sampled nodes, averaged over the two copies.
    """

    mean: float | None
    margin: float | None
    separation: float | None
    effective_rank: float
    uniformity: float
    nodes: int


@torch.no_grad()
def identifiability(
    z1: Embeddings | Array, z2: Embeddings | Array, generator: torch.Generator, *, sample: int = 2000
) -> Identifiability:
    """Compare two perturbed copies over ``sample`` random nodes (all nodes if there are fewer)."""
    z1, z2 = as_embeddings(z1), as_embeddings(z2)
    if tuple(z1.shape) != tuple(z2.shape):
        raise SignnapError(f"the two copies have shapes {tuple(z1.shape)} and {tuple(z2.shape)}: expected equal ones")
    if sample < 1 or not z1.shape[0]:
        raise SignnapError("identifiability was asked of no nodes: expected at least one")
    for name, z in (("first", z1), ("second", z2)):
        expect_finite(z, f" in the {name} copy")
    nodes = torch.randperm(z1.shape[0], generator=generator, device=generator.device)[:sample]
    first, second = dense_rows(z1, nodes).double(), dense_rows(z2, nodes).double()
    mean = margin = separation = None
    if len(nodes) > 1:
        cosine = directions(first) @ directions(second).t()
        own = cosine.diagonal().clone()
        separation = 1 - float((cosine.sum() - own.sum()) / (cosine.numel() - len(own)))
        others = cosine.fill_diagonal_(-torch.inf)
        margins = torch.cat([own - others.amax(dim=1), own - others.amax(dim=0)])
        mean, margin = float((margins > _TIE).double().mean()), float(margins.mean())
    return Identifiability(
        mean=mean,
        margin=margin,
        separation=separation,
        effective_rank=(effective_rank(first) + effective_rank(second)) / 2,
        uniformity=(uniformity(first, sample) + uniformity(second, sample)) / 2,
        nodes=len(nodes),
    )


# -- rows, dense or sparse -------------------------------------------------------------------------------------------


def dense_rows(z: Embeddings, nodes: Tensor) -> Tensor:
    """The rows of a few nodes as a dense tensor."""
    rows = take_rows(z, nodes)
    return rows.dense() if isinstance(rows, SparseFeatures) else rows


def row_dots(left: Embeddings, right: Embeddings, pairs: Tensor) -> Tensor:
    """left[i] · right[j] for every (i, j) of the (2, P) ``pairs``, with a buffer of bounded size."""
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
