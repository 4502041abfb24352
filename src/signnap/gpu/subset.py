"""An exact random subset without sorting: which entries a perturbed view drops."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

#: Random words that ``without_subset`` takes as its key: one for each round of mixing.
KEY_WORDS = 8
#: Permutations of fewer than 2^8 numbers are cut out of larger ones. A pair of numbers that agree in one half of their
#: bits stays a pair of that kind through two rounds with probability 2^-(bits of the half): 16^-4 is rare enough.
_LEAST_BITS = 8
_BLOCK = 128


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
    """Write the stored values of those whose rank is not chosen."""
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
    """The stored values with exactly ``count`` of those that have a rank (0 to ``size`` − 1; others −1) set to zero.

    They are chosen by a key of KEY_WORDS random words on the device: rank i if π(i) < count, where the key makes the
    permutation π, a Feistel network (each half of the bits is changed in turn by a hash of the other) over a power of
    two that is not below the size, applied again until the result is below it. So the count is exact, with no sorting
    and no waiting for the device.
    """
    if count == 0:
        return stored.clone()  # no result would ever be below a size of 0
    stored = stored.contiguous()
    out = torch.empty_like(stored)
    bits = max(_LEAST_BITS, (size - 1).bit_length())
    low_mask = 2 ** (bits // 2) - 1
    high_mask = 2**bits - 1 - low_mask
    numbers = (out.numel(), size, count, low_mask, high_mask)
    # One warp for each block: the end of the walk is then agreed upon without a barrier.
    grid = (triton.cdiv(out.numel(), _BLOCK),)
    _subset_block[grid](key, stored, ranks, out, *numbers, ROUNDS=KEY_WORDS, BLOCK=_BLOCK, num_warps=1)
    return out
