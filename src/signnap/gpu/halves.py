"""float32 numbers as sums of two 16-bit ones, which tensor cores are made for.

Such a sum holds a float32 but for its last bits, and three products of halves (upper·upper, upper·lower, lower·upper)
err about as one product of float32 does.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

#: Factors are brought to about this size, so that their lower halves are not too small for a float16.
SCALE = tl.constexpr(256.0)


def halves(matrix: Tensor, kind: torch.dtype, both: bool) -> tuple[Tensor, Tensor | None]:
    """The upper halves of a matrix's numbers, scaled, and the lower halves if they are needed."""
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
    """Numbers as sums of two 16-bit ones."""
    upper = x.to(KIND)
    return upper, (x - upper.to(tl.float32)).to(KIND)
