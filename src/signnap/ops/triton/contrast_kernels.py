"""Scores, losses and gradients of blocks of anchors in one kernel, which writes nothing of size N×K.

The kernel gathers each tile of negatives once. The scores, their losses and the slopes of the losses stay in registers.
The slopes multiply the tile into the gradient before the kernel loads the next tile. Σ exp(score) is kept relative to
the largest score so far, beginning with the positive's. Under softmax the gradient is rescaled with it.

Products with shared negatives use 16-bit halves (see ``tiles``). The bank is split once, before the blocks read it.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from .tiles import (
    PRODUCTS,
    SCALE,
    SHARED,
    Launch,
    accumulate,
    across,
    add_rows,
    cells_of,
    halves,
    load_rows,
    products_of,
    split,
)  # fmt: skip

#: Launches for anchors with separate negatives, like ``SHARED``. With one warp each, sums over a tile need neither
#: shared memory nor barriers.
OWN = {
    16: Launch(1, 32, 1, 2),
    32: Launch(1, 32, 1, 2),
    64: Launch(1, 32, 1, 2),
    128: Launch(1, 16, 1, 2),
    256: Launch(1, 8, 1, 2),
}


def contrast(
    z: Tensor,
    other: Tensor,
    bank: Tensor,
    negatives: Tensor,
    temperature: float,
    shift: Tensor | None,
    precision: str = "float32",
    want_other: bool = False,
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Loss and InfoNCE value of every anchor, and τ times the gradients of their sum in ``z`` and ``other``.

    The gradient in ``other`` is None unless ``want_other``. Group g of ``negatives`` (groups, K) serves the anchors
    from g·size on, with size = ⌈N / groups⌉. With ``shift`` = log Z + log c, a tensor without dimensions, the loss is
    that of binary NCE; without it, that of softmax. Rows of a matrix may lie any distance apart, but each row is
    contiguous. The bank's numbers are below 255. ``precision`` applies to the matrix products with shared negatives
    only; positives and separate negatives are multiplied in float32.
    """
    count, dim = z.shape
    group_size = -(-count // len(negatives))
    padded = max(16, triton.next_power_of_2(dim))
    if group_size == 1:
        tile, product, upper, lower = OWN[padded], "rowwise", bank, None
    else:
        tile, (product, kind) = SHARED[padded], PRODUCTS[precision]
        upper, lower = halves(bank, kind, product == "split")
    loss, info, z_grad = z.new_empty(count), z.new_empty(count), z.new_empty(count, dim)
    other_grad = torch.empty_like(z_grad) if want_other else None
    matrices = [part for matrix in (z, other, upper, negatives) for part in (matrix, matrix.stride(0))]
    outputs = (loss, info, z_grad, other_grad)
    sizes = (count, group_size, negatives.shape[1], 1 / temperature)
    constants = (dim, padded, tile.rows, tile.columns, product)
    _contrast[(triton.cdiv(count, group_size) * triton.cdiv(group_size, tile.rows),)](
        *matrices, lower, shift, *outputs, *sizes, *constants, num_warps=tile.warps, num_stages=tile.stages
    )
    return loss, info, z_grad, other_grad


@triton.jit
def _contrast(
    z: tl.tensor, z_stride: tl.tensor, other: tl.tensor, other_stride: tl.tensor,
    bank: tl.tensor, bank_stride: tl.tensor, negatives: tl.tensor, negatives_stride: tl.tensor,
    bank_lower: tl.tensor | None, shift: tl.tensor | None,
    loss: tl.tensor, info: tl.tensor, z_grad: tl.tensor, other_grad: tl.tensor | None,
    count: tl.tensor, group_size: tl.tensor, num_negatives: tl.tensor, sharpness: tl.tensor,
    DIM: tl.constexpr, PADDED: tl.constexpr,
    ANCHORS: tl.constexpr, NEGATIVES: tl.constexpr, PRODUCT: tl.constexpr,
) -> None:  # fmt: skip
    """One block of anchors with common negatives or, if rowwise, one anchor, whose values are scalars."""
    tl.static_assert(NEGATIVES <= 64, "see _binary_losses")
    axis: tl.constexpr = 0 if PRODUCT == "rowwise" else 1
    binary: tl.constexpr = shift is not None
    group, anchors, present = _block(count, group_size, ANCHORS, axis)
    scaled = load_rows(z, anchors, z_stride, present, DIM, PADDED, axis) * sharpness
    partner = load_rows(other, anchors, other_stride, present, DIM, PADDED, axis)
    positive = tl.sum(scaled * partner, axis)
    size, upper, lower = _factors(scaled, bank.dtype.element_ty, PRODUCT)
    peak, total, pull = positive, tl.exp(positive - positive), tl.zeros_like(scaled)
    if binary:
        level = tl.load(shift)
        floor, above, rise = _softplus(level - positive)
        cost, slope = floor + tl.log(above), -rise
    for start in range(0, num_negatives, NEGATIVES):
        places = start + tl.arange(0, NEGATIVES)
        listed = places < num_negatives
        index = tl.load(negatives + (group * negatives_stride + places), mask=listed, other=0).to(tl.int64)
        rows = load_rows(bank, index, bank_stride, listed, DIM, PADDED, 1)
        rests = rows if PRODUCT != "split" else load_rows(bank_lower, index, bank_stride, listed, DIM, PADDED, 1)
        # A score of −∞ adds nothing to the loss, the slopes and the sum.
        scores = tl.where(listed, products_of(upper, lower, rows, rests, PRODUCT) * size, float("-inf"))
        slopes, peak, total, fade = accumulate(scores, peak, total, axis)
        if binary:
            slopes, losses = _binary_losses(scores - level, axis)
            cost += losses
        else:
            pull *= across(fade, axis)
        pull = add_rows(pull, slopes, rows, rests, PRODUCT)
    pull = pull if PRODUCT == "rowwise" else pull / (SCALE * SCALE)
    information = peak - positive + tl.log(total)
    if not binary:
        cost, slope = information, tl.exp(-information) - 1
        pull /= across(total, axis)
    tl.store(loss + anchors, cost, mask=present)
    tl.store(info + anchors, information, mask=present)
    slope = across(slope, axis)
    _store_rows(z_grad, pull + slope * partner, anchors, present, DIM, PADDED, axis)
    if other_grad is not None:
        _store_rows(other_grad, slope * scaled / sharpness, anchors, present, DIM, PADDED, axis)


@triton.jit
def _block(
    count: tl.tensor, group_size: tl.tensor, ANCHORS: tl.constexpr, AXIS: tl.constexpr
) -> tuple[tl.tensor, tl.tensor, tl.tensor]:
    """The group and the anchors of this program, and which of the anchors exist."""
    program = tl.program_id(0)
    if AXIS == 0:
        group = program.to(tl.int64)
        anchors = group
        present = group < count
    else:
        blocks = tl.cdiv(group_size, ANCHORS)
        group = (program // blocks).to(tl.int64)
        places = program % blocks * ANCHORS + tl.arange(0, ANCHORS)
        anchors = group * group_size + places
        present = (places < group_size) & (anchors < count)
    return group, anchors, present


@triton.jit
def _store_rows(
    matrix: tl.tensor, rows: tl.tensor, index: tl.tensor, present: tl.tensor,
    DIM: tl.constexpr, PADDED: tl.constexpr, AXIS: tl.constexpr,
) -> None:  # fmt: skip
    """Write rows of a contiguous matrix."""
    at, inside = cells_of(matrix, index, DIM, present, DIM, PADDED, AXIS)
    tl.store(at, rows, mask=inside)


@triton.jit
def _factors(scaled: tl.tensor, KIND: tl.constexpr, PRODUCT: tl.constexpr) -> tuple[tl.tensor, tl.tensor, tl.tensor]:
    """The factor that undoes the scaling of products, and both halves of the scaled embeddings.

    Every anchor has its own scale, a power of two, so that no embedding overflows or underflows 16 bits.
    """
    if PRODUCT == "rowwise":
        size = 1.0
        upper = scaled
        lower = scaled
    else:
        length = tl.exp2(tl.ceil(tl.log2(tl.maximum(tl.max(tl.abs(scaled), 1), 1e-30))))[:, None]
        size = length / (SCALE * SCALE)
        upper, lower = split(scaled / length * SCALE, KIND)
    return size, upper, lower


@triton.jit
def _binary_losses(odds: tl.tensor, AXIS: tl.constexpr) -> tuple[tl.tensor, tl.tensor]:
    """The slope of every softplus, and the sum of all softplus over a tile.

    The sum of logarithms is computed as the logarithm of one product. At most 64 factors of at most 2 cannot overflow.
    """
    floor, above, slopes = _softplus(odds)
    return slopes, tl.sum(floor, AXIS) + tl.log(tl.reduce(above, AXIS, _times))


@triton.jit
def _softplus(x: tl.tensor) -> tuple[tl.tensor, tl.tensor, tl.tensor]:
    """log(1 + exp(x)) = floor + log(above), and its slope, without overflow."""
    small = tl.exp(-tl.abs(x))
    above = 1 + small
    return tl.maximum(x, 0.0), above, tl.where(x >= 0, 1.0, small) / above


@triton.jit
def _times(left: tl.tensor, right: tl.tensor) -> tl.tensor:
    return left * right
