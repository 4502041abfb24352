"""Stability: do a node's embeddings stay together when its input is perturbed?

The measure is that of the paper's section "Stability of Node Representations", with two numbers added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import torch
from torch import Tensor

from ..errors import SignnapError
from ..graph.arrays import Array, as_tensor
from ..ops.geometry import ROUNDING, cosines
from ..rows import Embeddings, as_embeddings, expect_finite, mean_row, project, row_dots, take_rows


@dataclass(frozen=True)
class Stability:
    """Cosines between the embeddings of one node in several perturbed copies of its graph.

    ``matrix[a][b]`` is the mean cosine of copies a and b over the nodes (the paper's S̄) and ``mean`` the mean of
    its off-diagonal entries. ``normalized`` is the matrix min-max scaled, as the paper draws it; all ones where
    its entries are equal. ``per_node`` tells of the nodes' own means: "q05" is the bound of the least stable 5 %.

    A map that sends every node to one point scores 1 in plain cosine. ``centred`` is the same mean after
    subtracting the average embedding (over nodes and copies), by which such a map scores 0.

    A zero embedding has cosine 1 with another zero (it did not move), 0 with anything else; after centring, a zero
    is a node that cannot be told from the average, and its cosine is 0 with everything.
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
    """Compare ``copies`` embeddings, each of a freshly perturbed graph made by ``draw()``, over ``nodes`` (all).

    The copies are held together: copies · N · d numbers, and a bounded buffer besides.
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
    """For every two copies a < b: each node's cosine, and its cosine after the average embedding is subtracted.

    With m the average, (x − m)·(y − m) = x·y − x·m − y·m + m·m, so both come from the same products.
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


def _per_node(own: Tensor) -> dict[str, float]:
    """Quantiles of the nodes' own means, by numpy: torch's are of 2^24 numbers at most."""
    q05, median = np.quantile(own.numpy(), [0.05, 0.5]).tolist()
    return {"q05": q05, "median": median}


def min_max(matrix: Tensor) -> Tensor:
    """The matrix scaled to reach from 0 to 1, as the paper draws it; all ones where its entries are equal."""
    low, high = matrix.min(), matrix.max()
    return (matrix - low) / (high - low) if high - low > ROUNDING else torch.ones_like(matrix)
