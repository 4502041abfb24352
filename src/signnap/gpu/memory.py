"""The memory bank in one pass: moved towards the embeddings and back to unit length (spec §2.4, step 5)."""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

_ROWS = 4


@triton.jit
def _remember_rows(
    bank: tl.tensor,
    z: tl.tensor,
    count: tl.tensor,
    z_stride: tl.tensor,
    momentum: tl.tensor,
    DIM: tl.constexpr,
    PADDED: tl.constexpr,
    ROWS: tl.constexpr,
) -> None:
    rows = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)[:, None]
    columns = tl.arange(0, PADDED)[None, :]
    inside = (rows < count) & (columns < DIM)
    new = tl.load(z + (rows * z_stride + columns), mask=inside, other=0.0)
    moved = momentum * tl.load(bank + (rows * DIM + columns), mask=inside, other=0.0) + (1 - momentum) * new
    length = tl.maximum(tl.sqrt(tl.sum(moved * moved, axis=1)), 1e-12)
    tl.store(bank + (rows * DIM + columns), moved / length[:, None], mask=inside)


def remember(bank: Tensor, z: Tensor, momentum: float) -> None:
    """bank ← normalise(momentum · bank + (1 − momentum) · z), in place; a zero row stays zero."""
    count, dim = bank.shape
    z = z if z.stride(1) == 1 else z.contiguous()
    padded = triton.next_power_of_2(dim)
    _remember_rows[(triton.cdiv(count, _ROWS),)](
        bank, z, count, z.stride(0), momentum, DIM=dim, PADDED=padded, ROWS=_ROWS, num_warps=max(1, padded // 128)
    )
