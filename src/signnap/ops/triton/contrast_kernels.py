"""Score, loss and gradient of blocks of anchors in one kernel, which never writes anything of size N×K (spec §2.4).

Each tile of negatives is gathered once: its scores, their losses and the slopes of these stay in registers, and the
slopes multiply the tile into the gradient before the next one comes. Σ exp(score) is kept with the largest score so
far taken out, beginning with the positive's; under softmax the gradient is rescaled along with it.

Products with shared negatives are of 16-bit halves (see ``halves``); the bank is split once, before all blocks need it.
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

#: As ``SHARED``, for anchors that have negatives of their own. One warp each: sums over a tile then need neither shared
#: memory nor barriers.
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
    """Loss and InfoNCE value of every anchor; τ times the gradients of their sum in ``z`` and, if wanted, ``other``.

    ``negatives`` is (groups, K): group g serves the anchors from g·share on, where share = ⌈N / groups⌉. With
    ``shift`` = log Z + log c, a tensor without dimensions, the loss is binary NCE's; without, it is softmax's. Rows
    of a matrix may be any distance apart, but each is contiguous; the bank's numbers are below 255. ``precision``
    concerns only the matrix products with shared negatives: positives, and negatives of an anchor's own, are
    multiplied in float32.
    """
    count, dim = z.shape
    share = -(-count // len(negatives))
    padded = max(16, triton.next_power_of_2(dim))
    if share == 1:
        tile, product, upper, lower = OWN[padded], "rowwise", bank, None
    else:
        tile, (product, kind) = SHARED[padded], PRODUCTS[precision]
        upper, lower = halves(bank, kind, product == "split")
    loss, info, z_grad = z.new_empty(count), z.new_empty(count), z.new_empty(count, dim)
    other_grad = torch.empty_like(z_grad) if want_other else None
    matrices = [part for matrix in (z, other, upper, negatives) for part in (matrix, matrix.stride(0))]
    outputs = (loss, info, z_grad, other_grad)
    sizes = (count, share, negatives.shape[1], 1 / temperature)
    constants = (dim, padded, tile.rows, tile.columns, product)
    _contrast[(triton.cdiv(count, share) * triton.cdiv(share, tile.rows),)](
        *matrices, lower, shift, *outputs, *sizes, *constants, num_warps=tile.warps, num_stages=tile.stages
    )
    return loss, info, z_grad, other_grad


@triton.jit
def _contrast(
    z: tl.tensor, z_stride: tl.tensor, other: tl.tensor, other_stride: tl.tensor,
    bank: tl.tensor, bank_stride: tl.tensor, negatives: tl.tensor, negatives_stride: tl.tensor,
    bank_lower: tl.tensor | None, shift: tl.tensor | None,
    loss: tl.tensor, info: tl.tensor, z_grad: tl.tensor, other_grad: tl.tensor | None,
    count: tl.tensor, share: tl.tensor, num_negatives: tl.tensor, sharpness: tl.tensor,
    DIM: tl.constexpr, PADDED: tl.constexpr,
    ANCHORS: tl.constexpr, NEGATIVES: tl.constexpr, PRODUCT: tl.constexpr,
) -> None:  # fmt: skip
    """One block of anchors that share their negatives or, rowwise, one anchor, whose own values are then scalars."""
    tl.static_assert(NEGATIVES <= 64, "see _judge")
    axis: tl.constexpr = 0 if PRODUCT == "rowwise" else 1
    binary: tl.constexpr = shift is not None
    group, anchors, present = _block(count, share, ANCHORS, axis)
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
        # A score of −∞ adds nothing: no loss, no slope, no part in the sum.
        scores = tl.where(listed, products_of(upper, lower, rows, rests, PRODUCT) * size, float("-inf"))
        slopes, peak, total, fade = accumulate(scores, peak, total, axis)
        if binary:
            slopes, losses = _judge(scores - level, axis)
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
    count: tl.tensor, share: tl.tensor, ANCHORS: tl.constexpr, AXIS: tl.constexpr
) -> tuple[tl.tensor, tl.tensor, tl.tensor]:
    """The group this program works for, its anchors in it, and which of these there are."""
    program = tl.program_id(0)
    if AXIS == 0:
        group = program.to(tl.int64)
        anchors = group
        present = group < count
    else:
        blocks = tl.cdiv(share, ANCHORS)
        group = (program // blocks).to(tl.int64)
        places = program % blocks * ANCHORS + tl.arange(0, ANCHORS)
        anchors = group * share + places
        present = (places < share) & (anchors < count)
    return group, anchors, present


@triton.jit
def _store_rows(
    matrix: tl.tensor, rows: tl.tensor, index: tl.tensor, present: tl.tensor,
    DIM: tl.constexpr, PADDED: tl.constexpr, AXIS: tl.constexpr,
) -> None:  # fmt: skip
    """Write such rows, one after another."""
    at, inside = cells_of(matrix, index, DIM, present, DIM, PADDED, AXIS)
    tl.store(at, rows, mask=inside)


@triton.jit
def _factors(scaled: tl.tensor, KIND: tl.constexpr, PRODUCT: tl.constexpr) -> tuple[tl.tensor, tl.tensor, tl.tensor]:
    """Embeddings as both halves of factors, and what their products with bank rows are to be multiplied by.

    Every anchor has a scale of its own, a power of two, so that no embedding is too long or too short.
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
def _judge(odds: tl.tensor, AXIS: tl.constexpr) -> tuple[tl.tensor, tl.tensor]:
    """Slope of every softplus, and their sum over a tile.

    A sum of logarithms is the logarithm of a product, which costs one instead of one each. At most 64 factors, none
    above 2, cannot overflow.
    """
    floor, above, slopes = _softplus(odds)
    return slopes, tl.sum(floor, AXIS) + tl.log(tl.reduce(above, AXIS, _times))


@triton.jit
def _softplus(x: tl.tensor) -> tuple[tl.tensor, tl.tensor, tl.tensor]:
    """log(1 + exp(x)) = floor + log(above), and its slope; nothing here overflows."""
    small = tl.exp(-tl.abs(x))
    above = 1 + small
    return tl.maximum(x, 0.0), above, tl.where(x >= 0, 1.0, small) / above


@triton.jit
def _times(left: tl.tensor, right: tl.tensor) -> tl.tensor:
    return left * right
