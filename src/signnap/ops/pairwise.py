"""The cross-entropy over all pairs of rows and its gradient, exact and in linear memory.

The rows w = [u; v] are two views of N unit vectors each. The candidates of a row are all other rows, and its positive
is the same node in the other view. With the symmetric matrix S = w·wᵀ/τ:

    L = 1/(2N) Σ_a ( log D_a − S_aa' ),   D_a = Σ_{b≠a} exp S_ab
    ∂L/∂w_a = 1/(2Nτ) ( Σ_{b≠a} exp(S_ab)·(1/D_a + 1/D_b)·w_b − 2·w_a' )

Torch visits S tile by tile, on and above its diagonal only: once for D, and once for the gradient. Both visits together
take 8·N²·d multiplications; one visit row by row would have to see all of S and take 12·N²·d. The kernels of
``triton/pairwise_kernels.py`` visit all of S twice: they compute more products, but no tile leaves the registers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from .dense import add_gradients, by_onednn, pairs
from .triton import EXP_IS_SAFE, MAX_DIM, usable

#: Rows and columns of a tile of scores. Those of the CPU are the fastest on two cores, with MKL and with oneDNN; those
#: of a GPU are large enough to keep it busy.
_CPU_TILE, _ONEDNN_TILE, _GPU_TILE = (512, 4096), (1024, 1024), (8192, 8192)


def all_pairs_loss(w: Tensor, temperature: float, precision: str = "float32") -> tuple[Tensor, Tensor, Tensor]:
    """The loss L of the stacked unit rows w = [u; v], and its halves for the anchors of u and of v.

    Gradients flow from the first result alone. On a GPU, ``precision`` "tf32" or "bf16" computes products with fewer
    bits.
    """
    return _AllPairs.apply(w.contiguous(), temperature, precision)


class Tile(NamedTuple):
    """The scores of some rows with some columns, and a buffer of the same size. The next tile overwrites both."""

    rows: slice
    columns: slice
    scores: Tensor
    spare: Tensor


class Tiles:
    """The tiles of w·wᵀ/τ on and above its diagonal. The diagonal is −∞, because no row is its own candidate.

    If ``base_2``, the scores are multiplied by log₂ e, since exp2 is one vectorised pass on every processor and exp is
    one on Intel's alone. That requires scores whose exponentials are float32 numbers.
    """

    def __init__(self, w: Tensor, temperature: float) -> None:
        # With rows of MKL's operand spread apart, a product whose long side comes last uses whole vectors.
        fast = by_onednn(w, w)
        self.w = w if fast else w.t().contiguous().t()
        self.base_2 = 1 / temperature < EXP_IS_SAFE
        self.scaled = self.w * ((math.log2(math.e) if self.base_2 else 1.0) / temperature)
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
        """log D of every row. A tile off the diagonal adds to its rows and, as its own transpose, to its columns."""
        found = self.w.new_full((len(self.w),), 0.0 if self.base_2 else -math.inf)
        join = torch.add if self.base_2 else torch.logaddexp
        for rows, columns, scores, _ in self:
            reduce = scores.exp2_().sum if self.base_2 else scores.logsumexp
            found[rows] = join(found[rows], reduce(dim=1))
            if rows != columns:
                found[columns] = join(found[columns], reduce(dim=0))
        return found.log_() if self.base_2 else found

    def pull(self, log_sums: Tensor) -> Tensor:
        """Σ_b exp(S_ab)·(1/D_a + 1/D_b)·w_b for every row a."""
        shares, found = log_sums.neg().exp_(), torch.zeros_like(self.w)
        for rows, columns, scores, spare in self:
            if self.base_2:
                weights = scores.exp2_().mul_(torch.add(shares[rows, None], shares[columns], out=spare))
            else:
                torch.sub(scores, log_sums[rows, None], out=spare).exp_()
                weights = scores.sub_(log_sums[columns]).exp_().add_(spare)
            mirror = None if rows == columns else found[columns]
            add_gradients(weights, self.w[rows], self.w[columns], found[rows], mirror)
        return found.contiguous()


class Kernels(NamedTuple):
    """The same two results by ``triton/pairwise_kernels.py``."""

    w: Tensor
    temperature: float
    precision: str

    def log_sums(self) -> Tensor:
        from .triton.pairwise_kernels import log_sums

        return log_sums(self.w, self.temperature, self.precision)

    def pull(self, log_sums: Tensor) -> Tensor:
        from .triton.pairwise_kernels import pull

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
