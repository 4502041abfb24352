"""ARWMF: attributed random walks as matrix factorisation, in closed form.

Lei Chen, Shunwang Gong, Joan Bruna and Michael Bronstein, Attributed Random Walk as Matrix Factorization, 2019.
"""

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
from ..ops.geometry import ROUNDING
from ..rng import generator
from ..train.progress import Report
from .base import ClosedForm, Sizes
from .settings import BaseSettings

#: The number of columns of M that are computed at a time: they stay in a cache, and sparse products start rarely.
_COLUMNS = 64
#: The width of the blocks that are multiplied, relative to the rank.
_WIDER = 1.5


@dataclass(frozen=True)
class ArwmfSettings(BaseSettings):
    """ARWMF: walks of up to ``window`` steps, and ``passes`` over their matrix to find its rank ``dim``."""

    method: str = "arwmf"
    dim: int = 200
    window: int = 5
    passes: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        self._expect(("window", "passes"), lambda value: value >= 1, "a whole number of at least 1")


class ARWMF(ClosedForm):
    """Factorises the log matrix of random walks over edges and attributes, in closed form.

    A walker steps to a neighbour or to an attribute, with probability ½ each, and from an attribute back to a node.
    The embedding is U √S of M = log max(1, vol·D_B^{-1/2} (1/w Σ_{r=1..w} T^r) D_B^{-1/2}), which its authors call
    "Ours 3". The authors first reduce T to its 200 leading eigenpairs and sum one power too many; here T is whole.
    """

    name = "arwmf"
    time = "quadratic"
    inductive = False
    unit = "block"

    def num_steps(self, settings: ArwmfSettings, nodes: int) -> int:
        return settings.passes * -(-nodes // _COLUMNS)

    def build_encoder(self, settings: ArwmfSettings, sizes: Sizes) -> Encoder:
        return Table(sizes.num_nodes, settings.dim).requires_grad_(False)

    def prepare(self, settings: ArwmfSettings, view: View, encoder: Any, report: Report) -> None:
        walks, done = AttributedWalks.over(view.pattern, view.x, settings.window), count(1)
        source = generator(settings.seed, "arwmf")
        found = embed(walks, settings.dim, settings.passes, source, lambda: report(next(done)))
        encoder.weight.zero_()[:, : found.shape[1]] = found  # a graph with fewer nodes has fewer directions


def embed(
    walks: AttributedWalks, dim: int, passes: int, source: torch.Generator, after: Callable[[], None] = lambda: None
) -> Tensor:
    """U √S of the walks' matrix, with at most ``dim`` columns and at most as many as there are nodes.

    ``after`` is called after every block of columns, to report the progress.

    The search starts from the columns of M at random nodes. A product of M with random numbers would be a combination
    of columns, and computing a few columns costs a small part of that product.
    """
    nodes = walks.scale.numel()
    drawn = torch.randperm(nodes, generator=source)[: round(_WIDER * dim)].to(walks.scale.device)
    return factor(*leading_eigenpairs(partial(walks.times, after=after), walks.columns(drawn), dim, passes))


@dataclass(frozen=True, eq=False)
class AttributedWalks:
    """The matrix M over pairs of nodes, computed in blocks of columns and never stored.

    With T = [[S, C], [Cᵀ, 0]] over nodes and attributes, a column of Σ T^r takes products with S and C only, so the
    entries of M are exact and memory is linear. Leading eigenpairs of T (Lanczos) would make a column a few times
    cheaper, but wrong: on pubmed the 400th eigenvalue is still 0.43, and finding so many took as long as three passes
    over M.
    """

    neighbours: Operator  # S
    attributes: Tensor | SparseFeatures  # C
    scale: Tensor  # √(vol/w) D_B^{-1/2} of the nodes
    window: int

    @staticmethod
    def over(pattern: Pattern, x: Any, window: int) -> AttributedWalks:
        """The walks of a graph. Features enter with their absolute values, because they become probabilities.

        No walk reaches a node without neighbours, or an attribute that only such nodes have; their rows are zero.
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
        """The columns of M at these nodes (N, n). M is symmetric, so its rows are the same.

        Walks are followed over nodes only: an edge takes one of the ``window`` steps, the way through an attribute two.
        """
        started = (nodes, torch.arange(len(nodes), device=nodes.device))
        before, now = None, self.scale.new_zeros(len(self.scale), len(nodes))
        for _ in range(self.window):
            now[started] += 1  # starts the walks of every length; this one takes all steps that are left
            after = self.neighbours(now)
            if before is not None:
                after += multiply(self.attributes, _transposed_times(self.attributes, before))
            before, now = now, after
        return now.mul_(self.scale[:, None]).mul_(self.scale[nodes]).clamp_(min=1).log_()

    def times(self, dense: Tensor, after: Callable[[], None] = lambda: None) -> Tensor:
        """M·dense, block by block; no block of M is kept."""
        product = torch.empty_like(dense)  # allocated first: results between such large blocks would fragment memory
        for nodes in torch.arange(len(dense), device=dense.device).split(_COLUMNS):
            product[nodes] = self.columns(nodes).t() @ dense
            after()
        return product


def _inverse_root(weights: Tensor) -> Tensor:
    """1/√weight, and 0 for a weight of 0."""
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


def leading_eigenpairs(
    times: Callable[[Tensor], Tensor], start: Tensor, rank: int, passes: int
) -> tuple[Tensor, Tensor]:
    """The eigenvalues of largest absolute value and their vectors, found with ``passes`` products M·block.

    M is symmetric and given by its product. Products are expensive, so all blocks ``start``, M·``start``, M²·``start``…
    are kept, and the result is the best approximation in the span of all of them (block Krylov, Rayleigh–Ritz). It is
    exact if the blocks fill the whole space. There are at most ``rank`` pairs, and at most as many as rows.
    """
    basis = images = start[:, :0]
    image = start
    for _ in range(passes):
        block = _new_directions(basis, image)
        if not block.shape[1]:
            break
        image = times(block)
        basis, images = torch.cat([basis, block], dim=1), torch.cat([images, image], dim=1)
    small = (basis.t() @ images).double()
    values, vectors = torch.linalg.eigh((small + small.t()) / 2)
    chosen = values.abs().argsort(descending=True, stable=True)[:rank]
    return values[chosen].to(basis.dtype), _signed(basis @ vectors[:, chosen].to(basis.dtype))


def factor(values: Tensor, vectors: Tensor) -> Tensor:
    """U √S of a symmetric matrix with these eigenpairs. Directions that are rounding errors become zero."""
    sizes = values.abs()
    return vectors * torch.where(sizes > ROUNDING * sizes.max(), sizes, 0).sqrt()


def _new_directions(basis: Tensor, block: Tensor) -> Tensor:
    """Orthonormal columns that span the block together with the basis, at most as many as the space has room for.

    A block that adds nothing to the basis still gives columns, with Householder's reflections: arbitrary other ones.
    """
    return torch.linalg.qr(torch.cat([basis, block], dim=1)).Q[:, basis.shape[1] :]


def _signed(vectors: Tensor) -> Tensor:
    """Every column with the sign that makes its largest entry positive, since signs of eigenvectors are arbitrary."""
    return vectors * vectors.gather(0, vectors.abs().argmax(dim=0, keepdim=True)).sign()
