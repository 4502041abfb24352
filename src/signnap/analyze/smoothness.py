"""Smoothness: are neighbours embedded closer to each other than strangers?"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..errors import SignnapError
from ..graph import Pattern
from ..graph.arrays import Array
from ..ops.geometry import ROUNDING, cosines
from ..rows import Embeddings, as_embeddings, expect_finite, mean_row, row_dots


@dataclass(frozen=True)
class Smoothness:
    """Cosines and distances along edges, compared with those of random pairs.

    ``mean`` is the mean cosine over edges, ``random_pairs`` that over pairs of distinct nodes, ``gap`` the
    difference. ``dirichlet`` is the mean squared distance over edges divided by its expectation over random pairs
    (twice the total variance): 0 when neighbours coincide, 1 when edges tell nothing.

    None means that there is nothing to take a mean of: no edges (``mean``, ``gap``, ``dirichlet``), fewer than two
    nodes (all), or embeddings that all coincide (``dirichlet``). A zero embedding has cosine 1 with another zero
    and 0 with anything else.
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
    """Measure over every edge of ``pattern`` once, and over ``sample`` random pairs (all, when there are no more)."""
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
    """The mean cosine and the mean squared distance over (2, P) pairs of rows whose squared lengths are given."""
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
    """Σ‖z − mean‖² / (N − 1), or 0 where the differences are rounding (or there is one row)."""
    n, mean = z.shape[0], mean_row(z)
    centre = n * float(mean @ mean)
    spread = float(squares.sum()) - centre
    return 0.0 if n < 2 or spread <= ROUNDING**2 * centre else spread / (n - 1)
