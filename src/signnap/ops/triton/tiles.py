"""Functions that kernels on tiles of embeddings have in common: split numbers, rows, products, sums of exponentials.

Tensor cores multiply 16-bit numbers. A float32 number is, but for its last bits, the sum of an upper and a lower 16-bit
half. Three products of halves (upper·upper, upper·lower, lower·upper) have about the error of one float32 product.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

#: Factors are scaled by this number, so that their lower halves do not underflow float16.
SCALE = tl.constexpr(256.0)


class Launch(NamedTuple):
    """Rows and columns of one tile of scores, and the warps and pipeline stages that compute it."""

    rows: int
    columns: int
    warps: int
    stages: int


#: Launches for tiles whose rows all meet the same columns, by the embedding width rounded up to a power of two.
SHARED = {
    16: Launch(64, 64, 4, 2),
    32: Launch(64, 64, 4, 2),
    64: Launch(64, 64, 4, 2),
    128: Launch(64, 64, 4, 2),
    256: Launch(64, 32, 4, 2),
}

#: The product of each precision. A float16 has as many mantissa bits as a tf32 number, and takes half the space.
PRODUCTS = {"float32": ("split", torch.float16), "tf32": ("single", torch.float16), "bf16": ("single", torch.bfloat16)}


def halves(matrix: Tensor, kind: torch.dtype, both: bool) -> tuple[Tensor, Tensor | None]:
    """The upper halves of the scaled matrix and, with ``both``, the lower halves."""
    upper = torch.empty(matrix.shape, dtype=kind, device=matrix.device)
    lower = torch.empty_like(upper) if both else None
    grid = (triton.cdiv(matrix.numel(), 1024),)
    _split_matrix[grid](matrix, matrix.stride(0), upper, lower, matrix.numel(), matrix.shape[1], 1024)
    return upper, lower


@triton.jit
def _split_matrix(
    matrix: tl.tensor, stride: tl.tensor, upper: tl.tensor, lower: tl.tensor | None, size: tl.tensor,
    DIM: tl.constexpr, BLOCK: tl.constexpr,
) -> None:  # fmt: skip
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < size
    number = tl.load(matrix + (at // DIM * stride + at % DIM), mask=inside, other=0.0)
    above, below = split(number * SCALE, upper.dtype.element_ty)
    tl.store(upper + at, above, mask=inside)
    if lower is not None:
        tl.store(lower + at, below, mask=inside)


@triton.jit
def split(x: tl.tensor, KIND: tl.constexpr) -> tuple[tl.tensor, tl.tensor]:
    """Upper and lower 16-bit half of each number."""
    upper = x.to(KIND)
    return upper, (x - upper.to(tl.float32)).to(KIND)


@triton.jit
def load_rows(
    matrix: tl.tensor, index: tl.tensor, stride: tl.tensor, present: tl.tensor,
    DIM: tl.constexpr, PADDED: tl.constexpr, AXIS: tl.constexpr,
) -> tl.tensor:  # fmt: skip
    """Rows of a matrix or, for axis 0, one row; absent rows and padding are zero."""
    at, inside = cells_of(matrix, index, stride, present, DIM, PADDED, AXIS)
    return tl.load(at, mask=inside, other=0.0)


@triton.jit
def cells_of(
    matrix: tl.tensor, index: tl.tensor, stride: tl.tensor, present: tl.tensor,
    DIM: tl.constexpr, PADDED: tl.constexpr, AXIS: tl.constexpr,
) -> tuple[tl.tensor, tl.tensor]:  # fmt: skip
    """Addresses of the cells of these rows, and a mask of the cells that exist."""
    columns = tl.arange(0, PADDED)
    inside = columns < DIM
    if AXIS == 1:
        inside = present[:, None] & inside[None, :]
    return matrix + (across(index, AXIS) * stride + columns), inside


@triton.jit
def across(values: tl.tensor, AXIS: tl.constexpr) -> tl.tensor:
    """One value per row, shaped to broadcast over columns; for axis 0 the scalar itself."""
    if AXIS == 1:
        values = values[:, None]
    return values


@triton.jit
def products_of(
    upper: tl.tensor, lower: tl.tensor, rows: tl.tensor, rests: tl.tensor, PRODUCT: tl.constexpr
) -> tl.tensor:
    """Products of the anchors' halves (upper, lower) with the rows' halves (rows, rests)."""
    if PRODUCT == "rowwise":
        scores = tl.sum(upper[None, :] * rows, 1)
    else:
        scores = tl.dot(upper, tl.trans(rows))
        if PRODUCT == "split":
            scores = tl.dot(upper, tl.trans(rests), scores)
            scores = tl.dot(lower, tl.trans(rows), scores)
    return scores


@triton.jit
def add_rows(onto: tl.tensor, slopes: tl.tensor, rows: tl.tensor, rests: tl.tensor, PRODUCT: tl.constexpr) -> tl.tensor:
    """Add every row times its slope. Except for "rowwise" products, the result is SCALE² times as large."""
    if PRODUCT == "rowwise":
        onto += tl.sum(slopes[:, None] * rows, 0)
    else:
        upper, lower = split(slopes * SCALE, rows.dtype)
        onto = tl.dot(upper, rows, onto)
        if PRODUCT == "split":
            onto = tl.dot(upper, rests, onto)
            onto = tl.dot(lower, rows, onto)
    return onto


@triton.jit
def accumulate(
    scores: tl.tensor, peak: tl.tensor, total: tl.tensor, AXIS: tl.constexpr
) -> tuple[tl.tensor, tl.tensor, tl.tensor, tl.tensor]:
    """Add a tile to the running sum Σ exp(score) = total·exp(peak).

    Returns exp(score − peak) with the new peak, the new peak, the new total, and the factor by which earlier terms
    shrink.
    """
    higher = tl.maximum(peak, tl.max(scores, AXIS))
    fade = tl.exp(peak - higher)
    raised = tl.exp(scores - across(higher, AXIS))
    return raised, higher, total * fade + tl.sum(raised, AXIS), fade
