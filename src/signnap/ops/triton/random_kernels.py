"""Random numbers that kernels draw where they need them: feature noise, its products, and random subsets.

Noise on sparse features is dense by nature: 18,333 × 6,805 numbers on coauthor_cs, in two views, forward and backward.
Here each number is a function of a seed, its row and its column. A product draws the numbers it needs and never stores
them. The seed lies on the device, so that every replay of a recorded iteration draws new noise.

Noise has the eleven bits of a float16, so that tensor cores take it as one number. The other factor enters as the sum
of two such numbers, and the error of a product is about that of float32.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from .tiles import SCALE, halves

#: Rows of a tile, and columns of a quarter tile. One call of the generator draws four quarters side by side.
_ROWS, _QUARTER = 64, 32

#: Maximal number of columns of the other factor per program.
_COLUMNS = 128

#: Number of programs that keeps a large device busy; sums over many rows are cut into parts until there are as many.
_PROGRAMS = 512

#: Philox passes all tests of randomness from seven rounds on (Salmon et al., https://doi.org/10.1145/2063384.2063405).
_ROUNDS = tl.constexpr(7)

#: Number of random words in the key of ``without_subset``, one for each round of mixing.
KEY_WORDS = 8

#: Minimal number of bits of a permutation; smaller ones are cut out of a larger one. Two numbers that agree in one half
#: of their bits still do so after two rounds with probability 2^-(bits of the half), and 16^-4 is rare enough.
_MIN_BITS = 8

#: Number of entries per program of ``without_subset``.
_BLOCK = 128


def noise_rows(seed: Tensor, kind: str, start: int, stop: int, width: int) -> Tensor:
    """Rows ``start:stop`` of the noise."""
    out = torch.empty(stop - start, width, device=seed.device)
    grid = (triton.cdiv(stop - start, _ROWS), triton.cdiv(width, 4 * _QUARTER))
    _fill[grid](seed, out, start, stop, width, kind, _ROWS, _QUARTER)
    return out


def noise_times(seed: Tensor, kind: str, rows: int, weight: Tensor) -> Tensor:
    """The product of the noise, of ``rows`` rows, with a matrix."""
    width, dim = weight.shape
    upper, lower = halves(weight.contiguous(), torch.float16, True)
    columns = _tile(dim)
    out = torch.empty(rows, dim, device=weight.device)
    grid = (triton.cdiv(rows, _ROWS), triton.cdiv(dim, columns))
    _times[grid](seed, upper, lower, out, rows, width, kind, dim, _ROWS, _QUARTER, columns, num_stages=1)
    return out


def noise_transposed_times(seed: Tensor, kind: str, width: int, dense: Tensor) -> Tensor:
    """The product of the transposed noise, of ``width`` columns before transposition, with a matrix."""
    rows, dim = dense.shape
    columns, blocks = _tile(dim), triton.cdiv(width, 4 * _QUARTER)
    parts = max(1, min(_PROGRAMS // blocks, rows // (4 * _ROWS)))
    span = triton.cdiv(triton.cdiv(rows, parts), _ROWS) * _ROWS
    out = torch.empty(triton.cdiv(rows, span), width, dim, device=dense.device)
    grid = (blocks, len(out), triton.cdiv(dim, columns))
    _transposed_times[grid](
        seed, dense.contiguous(), out, rows, width, span, kind, dim, _ROWS, _QUARTER, columns, num_warps=8, num_stages=1
    )
    return out.sum(dim=0)  # in a fixed order, so that the same inputs give the same bits


def _tile(dim: int) -> int:
    return min(_COLUMNS, max(16, triton.next_power_of_2(dim)))


@triton.jit
def _fill(
    seed: tl.tensor, out: tl.tensor, start: tl.tensor, stop: tl.tensor, width: tl.tensor,
    KIND: tl.constexpr, ROWS: tl.constexpr, QUARTER: tl.constexpr,
) -> None:  # fmt: skip
    rows = start + tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    first = tl.program_id(1) * 4 * QUARTER
    quarters = _draw(tl.load(seed), rows[:, None], (first // 4 + tl.arange(0, QUARTER))[None, :], KIND)
    for quarter in tl.static_range(4):
        columns = first + quarter * QUARTER + tl.arange(0, QUARTER)
        at = out + (rows - start).to(tl.int64)[:, None] * width + columns[None, :]
        tl.store(at, quarters[quarter].to(tl.float32), mask=(rows < stop)[:, None] & (columns < width)[None, :])


@triton.jit
def _times(
    seed: tl.tensor, upper: tl.tensor, lower: tl.tensor, out: tl.tensor, count: tl.tensor, width: tl.tensor,
    KIND: tl.constexpr, DIM: tl.constexpr, ROWS: tl.constexpr, QUARTER: tl.constexpr, COLUMNS: tl.constexpr,
) -> None:  # fmt: skip
    key = tl.load(seed)
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    total = tl.full((ROWS, COLUMNS), 0.0, tl.float32)
    for first in range(0, width, 4 * QUARTER):
        quarters = _draw(key, rows[:, None], (first // 4 + tl.arange(0, QUARTER))[None, :], KIND)
        for quarter in tl.static_range(4):
            at, inside = _cells(first + quarter * QUARTER + tl.arange(0, QUARTER), width, 1, DIM, COLUMNS)
            total = tl.dot(quarters[quarter], tl.load(upper + at, mask=inside, other=0.0), total)
            total = tl.dot(quarters[quarter], tl.load(lower + at, mask=inside, other=0.0), total)
    at, inside = _cells(rows, count, 1, DIM, COLUMNS)
    tl.store(out + at, total * (1 / SCALE), mask=inside)


@triton.jit
def _transposed_times(
    seed: tl.tensor, dense: tl.tensor, out: tl.tensor, count: tl.tensor, width: tl.tensor, span: tl.tensor,
    KIND: tl.constexpr, DIM: tl.constexpr, ROWS: tl.constexpr, QUARTER: tl.constexpr, COLUMNS: tl.constexpr,
) -> None:  # fmt: skip
    key = tl.load(seed)
    first = tl.program_id(0) * 4 * QUARTER
    columns = (first // 4 + tl.arange(0, QUARTER))[:, None]
    total0 = tl.full((QUARTER, COLUMNS), 0.0, tl.float32)
    total1, total2, total3 = total0, total0, total0
    start = tl.program_id(1) * span
    for row in range(start, tl.minimum(start + span, count), ROWS):
        rows = row + tl.arange(0, ROWS)
        at, inside = _cells(rows, count, 2, DIM, COLUMNS)
        number = tl.load(dense + at, mask=inside, other=0.0)
        upper = _tf32(number)
        noise0, noise1, noise2, noise3 = _draw(key, rows[None, :], columns, KIND)
        total0 = _add(total0, noise0, upper, number - upper)
        total1 = _add(total1, noise1, upper, number - upper)
        total2 = _add(total2, noise2, upper, number - upper)
        total3 = _add(total3, noise3, upper, number - upper)
    totals = (total0, total1, total2, total3)
    part = out + tl.program_id(1).to(tl.int64) * width * DIM
    for quarter in tl.static_range(4):
        at, inside = _cells(first + quarter * QUARTER + tl.arange(0, QUARTER), width, 2, DIM, COLUMNS)
        tl.store(part + at, totals[quarter], mask=inside)


@triton.jit
def _add(total: tl.tensor, noise: tl.tensor, upper: tl.tensor, lower: tl.tensor) -> tl.tensor:
    """Multiply in tf32, which has the mantissa of float16 and the range of float32: gradients may underflow float16."""
    total = tl.dot(noise.to(tl.float32), upper, total, input_precision="tf32")
    return tl.dot(noise.to(tl.float32), lower, total, input_precision="tf32")


@triton.jit
def _tf32(number: tl.tensor) -> tl.tensor:
    """The nearest tf32 number: eight bits of exponent as a float32, ten of mantissa."""
    bits = number.to(tl.int32, bitcast=True)
    return ((bits + 0x1000) & -0x2000).to(tl.float32, bitcast=True)


@triton.jit
def _cells(
    rows: tl.tensor, count: tl.tensor, AXIS: tl.constexpr, DIM: tl.constexpr, COLUMNS: tl.constexpr
) -> tuple[tl.tensor, tl.tensor]:
    """Offsets of rows and this program's columns in a matrix, and which of these cells exist."""
    columns = tl.program_id(AXIS) * COLUMNS + tl.arange(0, COLUMNS)
    return rows.to(tl.int64)[:, None] * DIM + columns[None, :], (rows < count)[:, None] & (columns < DIM)[None, :]


@triton.jit
def _draw(
    key: tl.tensor, rows: tl.tensor, columns: tl.tensor, KIND: tl.constexpr
) -> tuple[tl.tensor, tl.tensor, tl.tensor, tl.tensor]:
    """Four tiles of noise: one call of the Philox generator gives four numbers for a row and a column."""
    lines = rows + 0 * columns
    places = columns + 0 * rows
    bits0, bits1, bits2, bits3 = tl.philox(key, lines, places, 0 * lines, 0 * lines, _ROUNDS)
    if KIND == "gaussian":
        x0, x1 = _gaussian(bits0, bits1)
        x2, x3 = _gaussian(bits2, bits3)
    else:
        x0 = tl.uint_to_uniform_float(bits0)
        x1 = tl.uint_to_uniform_float(bits1)
        x2 = tl.uint_to_uniform_float(bits2)
        x3 = tl.uint_to_uniform_float(bits3)
        if KIND == "laplace":
            x0, x1, x2, x3 = _laplace(x0), _laplace(x1), _laplace(x2), _laplace(x3)
        else:
            tl.static_assert(KIND == "uniform", "unknown noise")
    return x0.to(tl.float16), x1.to(tl.float16), x2.to(tl.float16), x3.to(tl.float16)


@triton.jit
def _gaussian(length: tl.tensor, angle: tl.tensor) -> tuple[tl.tensor, tl.tensor]:
    """Two independent normal numbers by the Box–Muller transform, without the library's sine, which is slow.

    The angle comes from half a circle, where its sine is a short polynomial and its cosine a square root. An unused bit
    of the angle gives the sign of the cosine.
    """
    radius = tl.sqrt(-2.0 * tl.log(tl.maximum(tl.uint_to_uniform_float(length), 1e-7)))
    turn = (angle >> 9).to(tl.int32).to(tl.float32) * (2.0**-24) - 0.25  # 23 bits: from -1/4 to 1/4
    square = turn * turn
    sine = turn * (6.2831852 + square * (-41.341665 + square * (81.601632 + square * (-76.564668 + square * 39.6528))))
    cosine = tl.sqrt(tl.maximum(1.0 - sine * sine, 0.0))
    return radius * sine, radius * tl.where((angle & 1) == 0, cosine, -cosine)


@triton.jit
def _laplace(uniform: tl.tensor) -> tl.tensor:
    centred = uniform - 0.5
    size = -tl.log(tl.maximum(1.0 - 2.0 * tl.abs(centred), 2e-7))
    return tl.where(centred < 0.0, -size, size)


@triton.jit
def _scrambled(x: tl.tensor) -> tl.tensor:
    """A 32-bit word in which every bit depends on every bit of ``x``: the finaliser of MurmurHash3."""
    x = (x ^ (x >> 16)) * 0x85EBCA6B
    x = (x ^ (x >> 13)) * 0xC2B2AE35
    return x ^ (x >> 16)


@triton.jit
def _subset_block(
    key: tl.tensor,
    stored: tl.tensor,
    ranks: tl.tensor,
    out: tl.tensor,
    length: tl.tensor,
    size: tl.tensor,
    count: tl.tensor,
    low_mask: tl.tensor,
    high_mask: tl.tensor,
    ROUNDS: tl.constexpr,
    BLOCK: tl.constexpr,
) -> None:
    """Write the stored values, and 0 where the entry's rank is chosen."""
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = index < length
    rank = tl.load(ranks + index, mask=inside, other=-1)
    ranked = (rank >= 0) & (rank < size)
    place = tl.where(ranked, rank, 0).to(tl.uint32)
    walking = index >= 0
    while tl.max(walking.to(tl.int32), axis=0) > 0:
        moved = place
        for turn in range(0, ROUNDS, 2):
            moved ^= _scrambled((moved & low_mask) ^ tl.load(key + turn).to(tl.uint32)) & high_mask
            moved ^= _scrambled((moved & high_mask) ^ tl.load(key + turn + 1).to(tl.uint32)) & low_mask
        place = tl.where(walking, moved, place)
        walking = place >= size
    chosen = ranked & (place < count)
    tl.store(out + index, tl.where(chosen, 0.0, tl.load(stored + index, mask=inside, other=0.0)), mask=inside)


def without_subset(stored: Tensor, ranks: Tensor, size: int, count: int, key: Tensor) -> Tensor:
    """The stored values with exactly ``count`` random ones of ``size`` set to zero, without sorting them.

    ``ranks`` numbers the entries to choose from, 0 to ``size`` − 1; all other entries have −1. A key of KEY_WORDS
    random words on the device determines a permutation π, and rank i is chosen if π(i) < count. π is a Feistel network:
    a hash of each half of the bits changes the other half in turn. It permutes the numbers below a power of two that is
    at least ``size``, and is applied again until the result is below ``size``. So the count is exact, and nothing waits
    for the device.
    """
    if count == 0:
        return stored.clone()  # with a size of 0 no result would ever be small enough
    stored = stored.contiguous()
    out = torch.empty_like(stored)
    bits = max(_MIN_BITS, (size - 1).bit_length())
    low_mask = 2 ** (bits // 2) - 1
    high_mask = 2**bits - 1 - low_mask
    numbers = (out.numel(), size, count, low_mask, high_mask)
    # One warp per block, so that the loop ends without a barrier.
    grid = (triton.cdiv(out.numel(), _BLOCK),)
    _subset_block[grid](key, stored, ranks, out, *numbers, ROUNDS=KEY_WORDS, BLOCK=_BLOCK, num_warps=1)
    return out
