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
from torch.nn.functional import linear, normalize

from .. import rng
from ..contracts import Objective, Terms
from ..errors import SignnapError, unknown_name
from ..gpu import MAX_DIM, PRECISIONS, usable

#: Rows and columns of a tile of scores: what two cores were fastest with, or large enough to keep a GPU busy.
_CPU_TILE, _GPU_TILE = (512, 4096), (8192, 8192)

#: exp of this, times as many nodes as anybody has, is a float32 number, and so is its reciprocal.
_EXP_IS_SAFE = 60.0


class AllPairs(Objective):
    """L = ½ (L₁ + L₂), each the cross-entropy of picking a node's other view among all 2N − 1 other embeddings.

    Scores are cosines over the temperature. With a ``projector`` of some width they are those of
    Linear–ELU–Linear of the embeddings; it is trained along, saved with the state, and not part of the encoder.
    ``first`` and ``second`` of the terms are for the log: gradients flow from ``total`` alone. A ``precision`` of
    "tf32" or "bf16" allows a GPU coarser products.
    """

    def __init__(self, temperature: float = 0.5, projector: int | None = None, precision: str = "float32") -> None:
        super().__init__()
        if temperature <= 0:
            raise SignnapError(f"the temperature is {temperature}: expected a positive number")
        if projector is not None and projector < 1:
            raise SignnapError(f"the width of the projector is {projector}: expected at least 1, or None for none")
        if precision not in PRECISIONS:
            raise unknown_name("precision", precision, PRECISIONS)
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
                    nn.Linear(dim, self.width, device=place), nn.ELU(), nn.Linear(self.width, dim, device=place)
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


def tiles(columns_of: Tensor, temperature: float) -> Iterator[Tile]:
    """Yield w·wᵀ/τ on and above its diagonal, where it is −∞: no row is its own candidate. ``columns_of`` is wᵀ."""
    count = columns_of.shape[1]
    high, wide = (min(side, count) for side in (_GPU_TILE if columns_of.is_cuda else _CPU_TILE))
    scaled, buffers = columns_of / temperature, columns_of.new_empty(2, high * max(high, wide))
    for above in range(0, count, high):
        below = min(above + high, count)
        for left in (above, *range(below, count, wide)):
            rows = slice(above, below)
            columns = rows if left == above else slice(left, min(left + wide, count))
            shape = below - above, columns.stop - columns.start
            scores, spare = (buffer[: math.prod(shape)].view(shape) for buffer in buffers)
            torch.mm(scaled[:, rows].t(), columns_of[:, columns], out=scores)
            if rows == columns:
                scores.fill_diagonal_(-math.inf)
            yield Tile(rows, columns, scores, spare)


class _AllPairs(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, w: Tensor, temperature: float, precision: str) -> tuple[Tensor, Tensor, Tensor]:
        u, v = w.chunk(2)
        log_sums = _log_sums(w, temperature, precision)
        losses = log_sums.view(2, -1).mean(dim=1) - torch.linalg.vecdot(u, v).mean() / temperature
        if ctx.needs_input_grad[0]:
            pull = _pull(w, temperature, log_sums, precision).sub_(torch.cat([v, u]), alpha=2)
            ctx.save_for_backward(pull.div_(temperature * len(w)))
        first, second = losses
        ctx.mark_non_differentiable(first, second)
        return losses.mean(), first, second

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        (grad,) = ctx.saved_tensors
        return grad * grads[0], None, None


def _has_kernels(w: Tensor) -> bool:
    """Whether ``gpu/all_pairs.py`` takes these rows."""
    return usable(w) and w.shape[1] <= MAX_DIM


def _log_sums(w: Tensor, temperature: float, precision: str) -> Tensor:
    """log D of every row. A tile adds to its rows and, standing also for its mirror image, to its columns."""
    if _has_kernels(w):
        from ..gpu.all_pairs import log_sums

        return log_sums(w, temperature, precision)
    plain = 1 / temperature < _EXP_IS_SAFE
    found, join = w.new_full((len(w),), 0.0 if plain else -math.inf), torch.add if plain else torch.logaddexp
    for rows, columns, scores, _ in tiles(w.t().contiguous(), temperature):
        reduce = scores.exp_().sum if plain else scores.logsumexp
        found[rows] = join(found[rows], reduce(dim=1))
        if rows != columns:
            found[columns] = join(found[columns], reduce(dim=0))
    return found.log_() if plain else found


def _pull(w: Tensor, temperature: float, log_sums: Tensor, precision: str) -> Tensor:
    """Σ_b exp(S_ab)·(1/D_a + 1/D_b)·w_b for every row a."""
    if _has_kernels(w):
        from ..gpu.all_pairs import pull as by_kernel

        return by_kernel(w, temperature, log_sums, precision)
    # Everything is transposed: a product whose long side comes last uses whole vectors, however few coordinates.
    columns_of, shares = w.t().contiguous(), log_sums.neg().exp_()
    pull = torch.zeros_like(columns_of)
    for rows, columns, scores, spare in tiles(columns_of, temperature):
        if 1 / temperature < _EXP_IS_SAFE:
            weights = scores.exp_().mul_(torch.add(shares[rows, None], shares[columns], out=spare))
        else:
            torch.sub(scores, log_sums[rows, None], out=spare).exp_()
            weights = scores.sub_(log_sums[columns]).exp_().add_(spare)
        pull[:, rows].addmm_(columns_of[:, columns], weights.t())
        if rows != columns:
            pull[:, columns].addmm_(columns_of[:, rows], weights)
    return pull.t().contiguous()
