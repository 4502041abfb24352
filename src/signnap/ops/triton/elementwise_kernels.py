"""Passes over a matrix that fuse several elementwise operations: ReLU with dropout, and the memory bank's update."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

#: Number of elements per program of ReLU with dropout.
_BLOCK = 1024

#: Number of rows per program of the bank's update.
_ROWS = 4


@triton.jit
def _rectify_block(
    x: tl.tensor, noise: tl.tensor, out: tl.tensor, size: tl.tensor, dropped: tl.tensor, scale: tl.tensor,
    BLOCK: tl.constexpr,
) -> None:  # fmt: skip
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < size
    value = tl.load(x + at, mask=inside, other=0.0)
    kept = (tl.load(noise + at, mask=inside, other=0).to(tl.int32) >= dropped) & (value > 0)
    tl.store(out + at, tl.where(kept, value * scale, 0.0), mask=inside)


@triton.jit
def _pass_block(
    grad: tl.tensor, out: tl.tensor, result: tl.tensor, size: tl.tensor, scale: tl.tensor, BLOCK: tl.constexpr
) -> None:
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < size
    passes = tl.load(out + at, mask=inside, other=0.0) > 0
    tl.store(result + at, tl.where(passes, tl.load(grad + at, mask=inside, other=0.0) * scale, 0.0), mask=inside)


def rectified(x: Tensor, noise: Tensor, dropped: int, scale: float) -> Tensor:
    """scale · relu(x) where the noise, one integer per element, is at least ``dropped``; else 0."""
    x, out = x.contiguous(), torch.empty(x.shape, dtype=x.dtype, device=x.device)
    _rectify_block[(triton.cdiv(x.numel(), _BLOCK),)](x, noise, out, x.numel(), dropped, scale, _BLOCK)
    return out


def rectified_backward(grad: Tensor, out: Tensor, scale: float) -> Tensor:
    """scale · grad where the output of ``rectified`` is positive; else 0."""
    grad, result = grad.contiguous(), torch.empty_like(out)
    _pass_block[(triton.cdiv(out.numel(), _BLOCK),)](grad, out, result, out.numel(), scale, _BLOCK)
    return result


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
