"""Noise on every entry of a feature matrix, and its products, without the matrix.

Noise on sparse features is dense by nature: 18,333 x 6,805 numbers on coauthor_cs, in two views, forward and backward.
Here each number is a function of a seed, its row and its column, drawn where a product needs it and never written. The
seed lies on the device, so that a recorded iteration draws new noise whenever it is replayed.

Noise has the eleven bits that a tf32 number has, so tensor cores take it whole; what it is multiplied by goes in as two
such numbers, and the products are about as good as those of float32.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

#: Rows of a tile, and columns of a quarter of it: four quarters, side by side, are drawn at once.
_ROWS, _QUARTER = 64, 32
#: Columns at most of what is multiplied that one program takes.
_COLUMNS = 128
#: Programs that keep a large device busy; a sum over many rows is cut until there are so many.
_PROGRAMS = 512


def noise_rows(seed: Tensor, kind: str, start: int, stop: int, width: int) -> Tensor:
    """Rows ``start:stop`` of the noise."""
    out = torch.empty(stop - start, width, device=seed.device)
    grid = (triton.cdiv(stop - start, _ROWS), triton.cdiv(width, 4 * _QUARTER))
    _fill[grid](seed, out, start, stop, width, kind, _ROWS, _QUARTER)
    return out


def noise_times(seed: Tensor, kind: str, rows: int, weight: Tensor) -> Tensor:
    """The product of the noise, which has so many rows, with a matrix."""
    width, dim = weight.shape
    columns = _tile(dim)
    out = torch.empty(rows, dim, device=weight.device)
    grid = (triton.cdiv(rows, _ROWS), triton.cdiv(dim, columns))
    _times[grid](seed, weight.contiguous(), out, rows, width, dim, kind, _ROWS, _QUARTER, columns)
    return out


def noise_transposed_times(seed: Tensor, kind: str, width: int, dense: Tensor) -> Tensor:
    """The product of the transpose of the noise, which has so many columns, with a matrix."""
    rows, dim = dense.shape
    columns, blocks = _tile(dim), triton.cdiv(width, 4 * _QUARTER)
    parts = max(1, min(_PROGRAMS // blocks, rows // (4 * _ROWS)))
    span = triton.cdiv(triton.cdiv(rows, parts), _ROWS) * _ROWS
    out = torch.empty(triton.cdiv(rows, span), width, dim, device=dense.device)
    grid = (blocks, len(out), triton.cdiv(dim, columns))
    _transposed_times[grid](
        seed, dense.contiguous(), out, rows, width, dim, span, kind, _ROWS, _QUARTER, columns, num_warps=8
    )
    return out.sum(dim=0)  # in order: the same numbers always give the same sum


def _tile(dim: int) -> int:
    return min(_COLUMNS, max(16, triton.next_power_of_2(dim)))


@triton.jit
def _fill(
    seed: tl.tensor, out: tl.tensor, start: tl.tensor, stop: tl.tensor, width: tl.tensor,
    KIND: tl.constexpr, ROWS: tl.constexpr, QUARTER: tl.constexpr,
) -> None:  # fmt: skip
    rows = start + tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    first = tl.program_id(1) * 4 * QUARTER
    quarters = _draw(tl.load(seed), rows, first // 4 + tl.arange(0, QUARTER), KIND)
    for quarter in tl.static_range(4):
        columns = first + quarter * QUARTER + tl.arange(0, QUARTER)
        at = out + (rows - start).to(tl.int64)[:, None] * width + columns[None, :]
        tl.store(at, quarters[quarter], mask=(rows < stop)[:, None] & (columns < width)[None, :])


@triton.jit
def _times(
    seed: tl.tensor, weight: tl.tensor, out: tl.tensor, count: tl.tensor, width: tl.tensor, dim: tl.tensor,
    KIND: tl.constexpr, ROWS: tl.constexpr, QUARTER: tl.constexpr, COLUMNS: tl.constexpr,
) -> None:  # fmt: skip
    key = tl.load(seed)
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.full((ROWS, COLUMNS), 0.0, tl.float32)
    for first in range(0, width, 4 * QUARTER):
        quarters = _draw(key, rows, first // 4 + tl.arange(0, QUARTER), KIND)
        for quarter in tl.static_range(4):
            lines = first + quarter * QUARTER + tl.arange(0, QUARTER)
            upper, lower = _halves(weight, lines, width, columns, dim)
            total = tl.dot(quarters[quarter], upper, total, input_precision="tf32")
            total = tl.dot(quarters[quarter], lower, total, input_precision="tf32")
    at = out + rows.to(tl.int64)[:, None] * dim + columns[None, :]
    tl.store(at, total, mask=(rows < count)[:, None] & (columns < dim)[None, :])


@triton.jit
def _transposed_times(
    seed: tl.tensor, dense: tl.tensor, out: tl.tensor, count: tl.tensor, width: tl.tensor, dim: tl.tensor,
    span: tl.tensor, KIND: tl.constexpr, ROWS: tl.constexpr, QUARTER: tl.constexpr, COLUMNS: tl.constexpr,
) -> None:  # fmt: skip
    key = tl.load(seed)
    first = tl.program_id(0) * 4 * QUARTER
    columns = tl.program_id(2) * COLUMNS + tl.arange(0, COLUMNS)
    total0 = tl.full((QUARTER, COLUMNS), 0.0, tl.float32)
    total1, total2, total3 = total0, total0, total0
    start = tl.program_id(1) * span
    for row in range(start, tl.minimum(start + span, count), ROWS):
        rows = row + tl.arange(0, ROWS)
        noise0, noise1, noise2, noise3 = _draw(key, rows, first // 4 + tl.arange(0, QUARTER), KIND)
        upper, lower = _halves(dense, rows, count, columns, dim)
        total0 = _add(total0, noise0, upper, lower)
        total1 = _add(total1, noise1, upper, lower)
        total2 = _add(total2, noise2, upper, lower)
        total3 = _add(total3, noise3, upper, lower)
    totals = (total0, total1, total2, total3)
    for quarter in tl.static_range(4):
        lines = first + quarter * QUARTER + tl.arange(0, QUARTER)
        at = out + (tl.program_id(1).to(tl.int64) * width + lines)[:, None] * dim + columns[None, :]
        tl.store(at, totals[quarter], mask=(lines < width)[:, None] & (columns < dim)[None, :])


@triton.jit
def _add(total: tl.tensor, noise: tl.tensor, upper: tl.tensor, lower: tl.tensor) -> tl.tensor:
    turned = tl.trans(noise)
    total = tl.dot(turned, upper, total, input_precision="tf32")
    return tl.dot(turned, lower, total, input_precision="tf32")


@triton.jit
def _halves(
    matrix: tl.tensor, rows: tl.tensor, count: tl.tensor, columns: tl.tensor, dim: tl.tensor
) -> tuple[tl.tensor, tl.tensor]:
    """A tile of a matrix as the sum of tf32 numbers and the rest; what there is not is zero."""
    inside = (rows < count)[:, None] & (columns < dim)[None, :]
    number = tl.load(matrix + rows.to(tl.int64)[:, None] * dim + columns[None, :], mask=inside, other=0.0)
    upper = _rounded(number)
    return upper, number - upper


@triton.jit
def _draw(
    key: tl.tensor, rows: tl.tensor, columns: tl.tensor, KIND: tl.constexpr
) -> tuple[tl.tensor, tl.tensor, tl.tensor, tl.tensor]:
    """Four tiles of noise: one call of the generator (Philox) gives four numbers for a row and a column."""
    none = tl.full((1, 1), 0, tl.int32)
    lines = rows[:, None] + 0 * columns[None, :]
    bits0, bits1, bits2, bits3 = tl.philox(key, lines, columns[None, :] + 0 * lines, none + 0 * lines, none + 0 * lines)
    u0 = tl.uint_to_uniform_float(bits0)
    u1 = tl.uint_to_uniform_float(bits1)
    u2 = tl.uint_to_uniform_float(bits2)
    u3 = tl.uint_to_uniform_float(bits3)
    if KIND == "gaussian":
        u0, u1 = tl.pair_uniform_to_normal(u0, u1)
        u2, u3 = tl.pair_uniform_to_normal(u2, u3)
    elif KIND == "laplace":
        u0, u1, u2, u3 = _laplace(u0), _laplace(u1), _laplace(u2), _laplace(u3)
    else:
        tl.static_assert(KIND == "uniform", "unknown noise")
    return _rounded(u0), _rounded(u1), _rounded(u2), _rounded(u3)


@triton.jit
def _laplace(uniform: tl.tensor) -> tl.tensor:
    centred = uniform - 0.5
    size = -tl.log(tl.maximum(1.0 - 2.0 * tl.abs(centred), 2e-7))
    return tl.where(centred < 0.0, -size, size)


@triton.jit
def _rounded(number: tl.tensor) -> tl.tensor:
    """The nearest tf32 number: eight bits of exponent as a float32, ten of mantissa."""
    bits = number.to(tl.int32, bitcast=True)
    return ((bits + 0x1000) & -0x2000).to(tl.float32, bitcast=True)
