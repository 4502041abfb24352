"""The cross-entropy over all pairs and its gradient in two kernels that keep no pair in memory (see ``ops.pairwise``).

A program keeps a block of rows of w, visits all of w tile by tile, and writes the results of its own rows only. It
needs no atomics, so every launch gives the same bits. The first kernel computes log D. The second computes the pull and
reads log D of every column. Products use 16-bit halves (see ``tiles``).
"""

from __future__ import annotations

import math
from typing import Any

import triton
import triton.language as tl
from torch import Tensor

from . import EXP_IS_SAFE
from .tiles import PRODUCTS, SCALE, SHARED, accumulate, add_rows, cells_of, halves, load_rows, products_of

#: Number of columns, by kind of product, after which a partial pull is added to memory; a multiple of the tile width.
#: Tensor cores may round their sums towards zero, and one sum over a whole graph would lose more digits than products.
SECTIONS = {"split": 1024, "single": 8192}

#: A pair weighs at most 2, and most pairs weigh about 1/N. This factor keeps the lower halves within float16.
BOOST = tl.constexpr(64.0)


def log_sums(w: Tensor, temperature: float, precision: str = "float32") -> Tensor:
    """log D of every row, D_a = Σ_{b≠a} exp(w_a·w_b/τ), for at least two rows of length at most one."""
    found = w.new_empty(len(w))
    grid, given, options = _launch(w, temperature, precision)
    _log_sums[grid](found, *given, **options)
    return found


def pull(w: Tensor, temperature: float, log_sums: Tensor, precision: str = "float32") -> Tensor:
    """Σ_{b≠a} exp(w_a·w_b/τ)·(1/D_a + 1/D_b)·w_b for every row a."""
    found = w.new_zeros(w.shape)
    grid, given, options = _launch(w, temperature, precision)
    # If exp(score) and 1/D are float32 numbers, a weight is their product, which saves an exponential.
    section, safe = SECTIONS[PRODUCTS[precision][0]], 1 / temperature < EXP_IS_SAFE
    levels = log_sums - math.log(BOOST.value)
    _pull[grid](found, levels.neg_().exp_() if safe else levels, *given, section, safe, **options)
    return found


def _launch(w: Tensor, temperature: float, precision: str) -> tuple[tuple[int], tuple[Any, ...], dict[str, int]]:
    """The common grid, arguments and options of both kernels."""
    count, dim = w.shape
    padded = max(16, triton.next_power_of_2(dim))
    tile, (product, kind) = SHARED[padded], PRODUCTS[precision]
    sizes = (count, 1 / temperature, dim, padded, tile.rows, tile.columns, product)
    options = {"num_warps": tile.warps, "num_stages": tile.stages}
    return (triton.cdiv(count, tile.rows),), (*halves(w, kind, product == "split"), *sizes), options


@triton.jit
def _log_sums(
    log_sums: tl.tensor, w: tl.tensor, w_lower: tl.tensor | None, count: tl.tensor, sharpness: tl.tensor,
    DIM: tl.constexpr, PADDED: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, PRODUCT: tl.constexpr,
) -> None:  # fmt: skip
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    upper, lower = _both_halves(w, w_lower, rows, count, DIM, PADDED, PRODUCT)
    peak = tl.full([ROWS], float("-inf"), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    for start in range(0, count, COLUMNS):
        columns = start + tl.arange(0, COLUMNS)
        tile, rests = _both_halves(w, w_lower, columns, count, DIM, PADDED, PRODUCT)
        scores = _others(products_of(upper, lower, tile, rests, PRODUCT), rows, columns, count, sharpness)
        # The first tile has at least two columns, so no peak stays at −∞.
        _raised, peak, total, _fade = accumulate(scores, peak, total, 1)
    tl.store(log_sums + rows, peak + tl.log(total), mask=rows < count)


@triton.jit
def _pull(
    pull: tl.tensor, levels: tl.tensor, w: tl.tensor, w_lower: tl.tensor | None,
    count: tl.tensor, sharpness: tl.tensor,
    DIM: tl.constexpr, PADDED: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, PRODUCT: tl.constexpr,
    SECTION: tl.constexpr, SAFE: tl.constexpr,
) -> None:  # fmt: skip
    """``levels`` are log(D/BOOST) or, if SAFE, BOOST/D."""
    tl.static_assert(SECTION % COLUMNS == 0, "no tile may reach into the next section")
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    upper, lower = _both_halves(w, w_lower, rows, count, DIM, PADDED, PRODUCT)
    row_levels = tl.load(levels + rows, mask=rows < count, other=0.0)
    block = pull + tl.program_id(0).to(tl.int64) * (ROWS * DIM)
    at, inside = cells_of(block, tl.arange(0, ROWS), DIM, rows < count, DIM, PADDED, 1)
    for section in range(0, count, SECTION):
        part = tl.zeros([ROWS, PADDED], tl.float32)
        for start in range(section, tl.minimum(section + SECTION, count), COLUMNS):
            columns = start + tl.arange(0, COLUMNS)
            tile, rests = _both_halves(w, w_lower, columns, count, DIM, PADDED, PRODUCT)
            column_levels = tl.load(levels + columns, mask=columns < count, other=0.0)
            scores = _others(products_of(upper, lower, tile, rests, PRODUCT), rows, columns, count, sharpness)
            part = add_rows(part, _weights(scores, row_levels, column_levels, SAFE), tile, rests, PRODUCT)
        tl.store(at, tl.load(at, mask=inside, other=0.0) + part / (BOOST * SCALE * SCALE), mask=inside)
        tl.debug_barrier()  # another thread may read these cells next


@triton.jit
def _both_halves(
    w: tl.tensor, w_lower: tl.tensor | None, index: tl.tensor, count: tl.tensor,
    DIM: tl.constexpr, PADDED: tl.constexpr, PRODUCT: tl.constexpr,
) -> tuple[tl.tensor, tl.tensor]:  # fmt: skip
    """Both halves of rows of w; single products ignore the second result."""
    upper = load_rows(w, index.to(tl.int64), DIM, index < count, DIM, PADDED, 1)
    lower = upper if PRODUCT != "split" else load_rows(w_lower, index.to(tl.int64), DIM, index < count, DIM, PADDED, 1)
    return upper, lower


@triton.jit
def _others(
    products: tl.tensor, rows: tl.tensor, columns: tl.tensor, count: tl.tensor, sharpness: tl.tensor
) -> tl.tensor:
    """Scores from scaled products; −∞ where a row meets itself or an absent column.

    Absent rows have scores of zero and possibly infinite weights; no program writes them.
    """
    other = (rows[:, None] != columns[None, :]) & (columns < count)[None, :]
    return tl.where(other, products * (sharpness / (SCALE * SCALE)), float("-inf"))


@triton.jit
def _weights(scores: tl.tensor, row_levels: tl.tensor, column_levels: tl.tensor, SAFE: tl.constexpr) -> tl.tensor:
    """The weights of pairs: BOOST · exp(score)·(1/D_row + 1/D_column)."""
    if SAFE:
        weights = tl.exp(scores) * (row_levels[:, None] + column_levels[None, :])
    else:
        weights = tl.exp(scores - row_levels[:, None]) + tl.exp(scores - column_levels[None, :])
    return weights
