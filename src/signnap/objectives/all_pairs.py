"""All other nodes of both views as negatives: the loss of GRACE and GCA (spec §4.7), exact and in linear memory.

Stack the unit embeddings of both views to w = [u; v], 2N rows. The candidates of a row are then all rows but itself,
its positive is the same node in the other view, and both directions are one symmetric matrix S = w·wᵀ/τ:

    L = 1/(2N) Σ_a ( log D_a − S_aa' ),   D_a = Σ_{b≠a} exp S_ab
    ∂L/∂w_a = 1/(2Nτ) ( Σ_{b≠a} exp(S_ab)·(1/D_a + 1/D_b)·w_b − 2·w_a' )

S is visited tile by tile, and only on and above its diagonal: once for D, once more for the gradient. These two visits
take 8·N²·d multiplications; a single one, row by row, would have to see all of S and take 12·N²·d. On a GPU, kernels
visit all of S twice (``gpu/all_pairs.py``): more products, but no tile ever leaves the registers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import normalize

from .. import rng
from ..contracts import Objective, Terms
from ..errors import SignnapError
from ..gpu import EXP_IS_SAFE, MAX_DIM, usable
from ..products import Linear, add_gradients, by_onednn, linear, pairs
from .checks import expect_scores

#: Rows and columns of a tile of scores: what two cores were fastest with, by MKL and by oneDNN, or large enough to keep
#: a GPU busy.
_CPU_TILE, _ONEDNN_TILE, _GPU_TILE = (512, 4096), (1024, 1024), (8192, 8192)


class AllPairs(Objective):
    """L = ½ (L₁ + L₂), each the cross-entropy of picking a node's other view among all 2N − 1 other embeddings.

    Scores are cosines over the temperature. With a ``projector`` of some width they are those of
    Linear–ELU–Linear of the embeddings; it is trained along, saved with the state, and not part of the encoder.
    ``first`` and ``second`` of the terms are for the log: gradients flow from ``total`` alone. A ``precision`` of
    "tf32" or "bf16" allows a GPU coarser products.
    """

    def __init__(self, temperature: float = 0.5, projector: int | None = None, precision: str = "float32") -> None:
        super().__init__()
        expect_scores(temperature, precision)
        if projector is not None and projector < 1:
            raise SignnapError(f"the width of the projector is {projector}: expected at least 1, or None for none")
        self.temperature, self.precision = temperature, precision
        self.width = projector
        self.projector: nn.Sequential | None = None
        self.num_nodes: int | None = None

    def prepare(self, num_nodes: int, dim: int, generator: torch.Generator) -> None:
        """Draw the projector's weights: whoever trains them asks for the parameters only after this."""
        self.num_nodes = num_nodes
        if self.width is not None:
            place = generator.device
            with rng.as_default(generator):
                self.projector = nn.Sequential(
                    Linear(dim, self.width, device=place), nn.ELU(), Linear(self.width, dim, device=place)
                )

    def forward(self, z1: Tensor, z2: Tensor, generator: torch.Generator) -> Terms:
        if self.num_nodes is None:
            raise SignnapError("this AllPairs knows no graph yet: call prepare first")
        w = self._compared(torch.cat([z1, z2]))
        total, first, second = _AllPairs.apply(w.contiguous(), self.temperature, self.precision)
        # Candidates of the own view only raise the loss above that of InfoNCE with the N of the other view, whose
        # bound is log N − loss.
        return Terms(total, first, second, math.log(len(z1)) - total.detach())

    def _compared(self, both: Tensor) -> Tensor:
        """The rows whose products are scores, of length one.

        Those that a projector makes end in a Linear, so they and their gradients lie in the span of its weight and
        bias. If that is narrow they are given in a basis of it: fewer coordinates, the same cosines, all exact. Only
        off a GPU, where the basis would have to be waited for.
        """
        if self.projector is None:
            return normalize(both, dim=1)
        first, activation, last = self.projector
        weight, bias = last.weight, last.bias
        if last.in_features + 1 < last.out_features and not both.is_cuda:
            basis = torch.linalg.qr(torch.cat([weight, bias[:, None]], dim=1).detach()).Q
            weight, bias = basis.t() @ weight, basis.t() @ bias
        return normalize(linear(activation(first(both)), weight, bias), dim=1)

    def chance(self) -> float | None:
        """log(2N − 1): every candidate equally likely. None before the graph is known."""
        return None if self.num_nodes is None else math.log(2 * self.num_nodes - 1)


class Tile(NamedTuple):
    """The scores of some rows with some columns, and a spare buffer as large; the next tile overwrites both."""

    rows: slice
    columns: slice
    scores: Tensor
    spare: Tensor


class Tiles:
    """w·wᵀ/τ on and above its diagonal, where it is −∞, for no row is its own candidate; as often as it is asked for.

    Where exponentials are safe (``plain``), scores are given in bits: powers of two are raised in one pass of vectors
    on every processor, those of e on Intel's alone.
    """

    def __init__(self, w: Tensor, temperature: float) -> None:
        # MKL wants rows to lie apart: a product whose long side comes last uses whole vectors, however few coordinates.
        fast = by_onednn(w, w)
        self.w = w if fast else w.t().contiguous().t()
        self.plain = 1 / temperature < EXP_IS_SAFE
        self.scaled = self.w * ((math.log2(math.e) if self.plain else 1.0) / temperature)
        tile = _GPU_TILE if w.is_cuda else _ONEDNN_TILE if fast else _CPU_TILE
        self.high, self.wide = (min(side, len(w)) for side in tile)
        self.buffers = w.new_empty(2, self.high * max(self.high, self.wide))

    def __iter__(self) -> Iterator[Tile]:
        count = len(self.w)
        for above in range(0, count, self.high):
            below = min(above + self.high, count)
            for left in (above, *range(below, count, self.wide)):
                rows = slice(above, below)
                columns = rows if left == above else slice(left, min(left + self.wide, count))
                shape = below - above, columns.stop - columns.start
                buffer, spare = (buffer[: math.prod(shape)].view(shape) for buffer in self.buffers)
                scores = pairs(self.scaled[rows], self.w[columns], out=buffer)
                if rows == columns:
                    scores.fill_diagonal_(-math.inf)
                yield Tile(rows, columns, scores, spare)

    def log_sums(self) -> Tensor:
        """log D of every row. A tile adds to its rows and, standing also for its mirror image, to its columns."""
        found = self.w.new_full((len(self.w),), 0.0 if self.plain else -math.inf)
        join = torch.add if self.plain else torch.logaddexp
        for rows, columns, scores, _ in self:
            reduce = scores.exp2_().sum if self.plain else scores.logsumexp
            found[rows] = join(found[rows], reduce(dim=1))
            if rows != columns:
                found[columns] = join(found[columns], reduce(dim=0))
        return found.log_() if self.plain else found

    def pull(self, log_sums: Tensor) -> Tensor:
        """Σ_b exp(S_ab)·(1/D_a + 1/D_b)·w_b for every row a."""
        shares, found = log_sums.neg().exp_(), torch.zeros_like(self.w)
        for rows, columns, scores, spare in self:
            if self.plain:
                weights = scores.exp2_().mul_(torch.add(shares[rows, None], shares[columns], out=spare))
            else:
                torch.sub(scores, log_sums[rows, None], out=spare).exp_()
                weights = scores.sub_(log_sums[columns]).exp_().add_(spare)
            mirror = None if rows == columns else found[columns]
            add_gradients(weights, self.w[rows], self.w[columns], found[rows], mirror)
        return found.contiguous()


class Kernels(NamedTuple):
    """The same by ``gpu/all_pairs.py``."""

    w: Tensor
    temperature: float
    precision: str

    def log_sums(self) -> Tensor:
        from ..gpu.all_pairs import log_sums

        return log_sums(self.w, self.temperature, self.precision)

    def pull(self, log_sums: Tensor) -> Tensor:
        from ..gpu.all_pairs import pull

        return pull(self.w, self.temperature, log_sums, self.precision)


class _AllPairs(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, w: Tensor, temperature: float, precision: str) -> tuple[Tensor, Tensor, Tensor]:
        u, v = w.chunk(2)
        kernels = usable(w) and w.shape[1] <= MAX_DIM
        scores = Kernels(w, temperature, precision) if kernels else Tiles(w, temperature)
        log_sums = scores.log_sums()
        losses = log_sums.view(2, -1).mean(dim=1) - torch.linalg.vecdot(u, v).mean() / temperature
        if ctx.needs_input_grad[0]:
            pull = scores.pull(log_sums).sub_(torch.cat([v, u]), alpha=2)
            ctx.save_for_backward(pull.div_(temperature * len(w)))
        first, second = losses
        ctx.mark_non_differentiable(first, second)
        return losses.mean(), first, second

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        (grad,) = ctx.saved_tensors
        return grad * grads[0], None, None
