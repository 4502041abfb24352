"""Stability: do a node's embeddings stay together when its input is perturbed?

The measure is that of the paper's section "Stability of Node Representations", with two numbers added.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from ..errors import SignnapError
from ..geometry import ROUNDING, Embeddings, dense_rows, directions, first_bad_row, in_chunks, unit_rows


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

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@torch.no_grad()
def stability(draw: Callable[[], Embeddings], *, copies: int = 10, nodes: Tensor | None = None) -> Stability:
    """Compare ``copies`` embeddings, each of a freshly perturbed graph made by ``draw()``, over ``nodes`` (all).

    The copies are held together: copies · N · d numbers, and a bounded buffer besides.
    """
    if copies < 2:
        raise SignnapError(f"stability compares perturbed copies with each other: expected at least 2, found {copies}")
    drawn = _drawn(draw, copies)
    chosen = torch.arange(drawn[0].shape[0]) if nodes is None else nodes
    if not len(chosen):
        raise SignnapError("stability was asked of no nodes: expected at least one")
    chunks = in_chunks(chosen, copies * drawn[0].shape[1])
    average = _average(drawn, chunks)
    floor = ROUNDING * float(average.norm())
    total = torch.zeros(copies, copies, dtype=torch.float64, device=average.device)
    own, centred = [], []
    for chunk in chunks:
        rows = torch.stack([dense_rows(z, chunk) for z in drawn], dim=1)
        cosines = _cosines(directions(rows))
        total += cosines.sum(dim=0)
        own.append(_off_diagonal(cosines))
        centred.append(_off_diagonal(_cosines(unit_rows(rows - average.to(rows.dtype), floor))))
    matrix, own_means = total / len(chosen), torch.cat(own)
    return Stability(
        mean=float(_off_diagonal(matrix)),
        centred=float(torch.cat(centred).mean()),
        per_node={"q05": float(own_means.quantile(0.05)), "median": float(own_means.quantile(0.5))},
        matrix=matrix.tolist(),
        normalized=_min_max(matrix).tolist(),
        copies=copies,
        nodes=len(chosen),
    )


def _drawn(draw: Callable[[], Embeddings], copies: int) -> list[Embeddings]:
    drawn: list[Embeddings] = []
    for copy in range(copies):
        z = draw()
        if drawn and tuple(z.shape) != tuple(drawn[0].shape):
            shapes = f"{tuple(z.shape)} for copy {copy}, {tuple(drawn[0].shape)} for copy 0"
            raise SignnapError(f"perturbed copies have embeddings of different shapes: {shapes}")
        bad = first_bad_row(z)
        if bad is not None:
            raise SignnapError(f"the embedding of node {bad} in perturbed copy {copy} holds NaN or infinity")
        drawn.append(z)
    return drawn


def _average(drawn: list[Embeddings], chunks: tuple[Tensor, ...]) -> Tensor:
    sums = [dense_rows(z, chunk).sum(dim=0, dtype=torch.float64) for chunk in chunks for z in drawn]
    return torch.stack(sums).sum(dim=0) / (len(drawn) * sum(len(chunk) for chunk in chunks))


def _cosines(unit: Tensor) -> Tensor:
    """(n, copies, d) -> (n, copies, copies)."""
    return (unit @ unit.transpose(1, 2)).double()


def _off_diagonal(square: Tensor) -> Tensor:
    """The mean of the entries off the diagonal of the last two dimensions."""
    size = square.shape[-1]
    trace = square.diagonal(dim1=-2, dim2=-1).sum(dim=-1)
    return (square.sum(dim=(-2, -1)) - trace) / (size * (size - 1))


def _min_max(matrix: Tensor) -> Tensor:
    low, high = matrix.min(), matrix.max()
    return (matrix - low) / (high - low) if high - low > ROUNDING else torch.ones_like(matrix)
