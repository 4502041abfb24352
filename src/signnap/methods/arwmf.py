"""ARWMF: walks over edges and attributes, factorised in closed form (spec §4.3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any

import torch
from torch import Tensor

from ..encoders.wrap import Table
from ..graph import Operator, Pattern, SparseFeatures, View, multiply, row_normalized
from ..interfaces import Encoder
from ..rng import generator
from ..train.progress import Report
from .baseline_settings import ArwmfSettings
from .factorize import factor, leading_eigenpairs
from .sizes import Sizes
from .trivial import Fixed

#: Columns of M made at a time: few enough to stay in a cache, many enough for a sparse product to be worth its start.
_COLUMNS = 64
#: Width of the blocks that are multiplied, over the rank that is wanted.
_WIDER = 1.5


class ARWMF(Fixed):
    """Attributed random walks as matrix factorisation: the leading directions of how often walks bring nodes together.

    A walker steps to a neighbour or to an attribute, with probability ½ each, and from an attribute back to a node.
    The embedding is U √S of M = log max(1, vol·D_B^{-1/2} (1/w Σ_{r=1..w} T^r) D_B^{-1/2}), "Ours 3" of its authors,
    but of the whole T: they first cut it to its 200 leading eigenpairs, and count a power too many.
    """

    name = "arwmf"
    time = "quadratic"
    inductive = False
    unit = "block"

    def num_steps(self, settings: ArwmfSettings, nodes: int) -> int:
        return settings.passes * -(-nodes // _COLUMNS)

    def build_encoder(self, settings: ArwmfSettings, sizes: Sizes) -> Encoder:
        return Table(sizes.nodes, settings.dim).requires_grad_(False)

    def adjust(self, encoder: Any, view: View, settings: ArwmfSettings, report: Report) -> None:
        walks, done = AttributedWalks.over(view.pattern, view.x, settings.window), count(1)
        source = generator(settings.seed, "arwmf")
        found = embed(walks, settings.dim, settings.passes, source, lambda: report(next(done)))
        encoder.weight.zero_()[:, : found.shape[1]] = found  # fewer nodes than that have fewer directions


def embed(
    walks: AttributedWalks, dim: int, passes: int, source: torch.Generator, after: Callable[[], None] = lambda: None
) -> Tensor:
    """U √S of the walks' matrix, with at most ``dim`` columns and as many as there are nodes.

    ``after`` every block of its columns something may be called, to tell how far this is.

    The search starts from columns of M at randomly drawn nodes. They cost a small part of a product, and save one: a
    product with random numbers would have led to combinations of such columns.
    """
    nodes = walks.scale.numel()
    drawn = torch.randperm(nodes, generator=source)[: round(_WIDER * dim)].to(walks.scale.device)
    return factor(*leading_eigenpairs(partial(walks.times, after=after), walks.columns(drawn), dim, passes))


@dataclass(frozen=True, eq=False)
class AttributedWalks:
    """The matrix M over pairs of nodes, made column block by column block and never held.

    With T = [[S, C], [Cᵀ, 0]] over nodes and attributes, a column of Σ T^r takes products with S and C only: what M
    needs is exact, and memory linear. With leading eigenpairs of T (Lanczos) a column would be some times cheaper, but
    wrong: on Pubmed the 400th eigenvalue is still 0.43, and to find that many took as long as three passes over M.
    """

    neighbours: Operator  # S
    attributes: Tensor | SparseFeatures  # C
    scale: Tensor  # √(vol/w) D_B^{-1/2} of the nodes
    window: int

    @staticmethod
    def over(pattern: Pattern, x: Any, window: int) -> AttributedWalks:
        """The walks of a graph. Of features with a sign the size is taken: a step has a probability.

        Nodes without neighbours are never reached, nor are attributes that only those have: their rows are zero.
        """
        x = row_normalized(_absolute(x))
        degree = pattern.degree.to(torch.float32)
        weight = degree * (1 + multiply(x, degree.new_ones(x.shape[1], 1)).squeeze(1))
        popularity = _transposed_times(x, degree[:, None]).squeeze(1)
        root = _inverse_root(weight)
        entries = root.index_select(0, pattern.rows) * root.index_select(0, pattern.indices)
        entries.index_fill_(0, pattern.diagonal.long(), 0)
        volume = weight.sum(dtype=torch.float64) + popularity.sum(dtype=torch.float64)
        return AttributedWalks(
            neighbours=Operator(pattern, entries),
            attributes=_scaled(x, degree * root, _inverse_root(popularity)),
            scale=root * (volume / window).sqrt().to(root.dtype),
            window=window,
        )

    def columns(self, nodes: Tensor) -> Tensor:
        """The columns of M at these nodes (N, n); its rows are the same, for M is symmetric.

        Walks are followed over nodes alone: a step over an edge takes one of the ``window`` steps, the way over an
        attribute takes two.
        """
        started = (nodes, torch.arange(len(nodes), device=nodes.device))
        before, now = None, self.scale.new_zeros(len(self.scale), len(nodes))
        for _ in range(self.window):
            now[started] += 1  # a walk for every length: this one takes all the steps that are left
            after = self.neighbours(now)
            if before is not None:
                after += multiply(self.attributes, _transposed_times(self.attributes, before))
            before, now = now, after
        return now.mul_(self.scale[:, None]).mul_(self.scale[nodes]).clamp_(min=1).log_()

    def times(self, dense: Tensor, after: Callable[[], None] = lambda: None) -> Tensor:
        """M·dense, from rows that are made, used and forgotten."""
        product = torch.empty_like(dense)  # results kept between such large blocks would fragment memory
        for nodes in torch.arange(len(dense), device=dense.device).split(_COLUMNS):
            product[nodes] = self.columns(nodes).t() @ dense
            after()
        return product


def _inverse_root(weights: Tensor) -> Tensor:
    """1/√weight, and 0 where nothing leads to."""
    return torch.where(weights > 0, weights.rsqrt(), 0)


def _absolute(x: Any) -> Any:
    return x.with_values(x.values.abs()) if isinstance(x, SparseFeatures) else x.abs()


def _transposed_times(x: Any, dense: Tensor) -> Tensor:
    return x.transposed_times(dense) if isinstance(x, SparseFeatures) else x.t() @ dense


def _scaled(x: Any, rows: Tensor, columns: Tensor) -> Any:
    """diag(rows) · x · diag(columns)."""
    if not isinstance(x, SparseFeatures):
        return rows[:, None] * x * columns
    each = rows.repeat_interleave(x.indptr.diff(), output_size=x.values.numel())
    return x.with_values(x.values * each * columns.index_select(0, x.indices))
