"""Long rows of a CSR matrix cut into short pieces, so that a hub keeps many programs busy instead of one for long."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

#: Entries of a piece at most: enough to pay for a program, few enough that all end at about the same time.
LONGEST = 64


class Pieces(NamedTuple):
    """For every piece its row, first entry, end, and where its partial result goes: a slot, or −1 if it is the row.

    ``hubs`` are the rows of several pieces; the slots of hub h are ``firsts[h]`` to ``firsts[h + 1]``.
    """

    rows: Tensor
    starts: Tensor
    stops: Tensor
    slots: Tensor
    hubs: Tensor
    firsts: Tensor


def cut_rows(indptr: Tensor, longest: int = LONGEST) -> Pieces:
    """Cut rows of more than ``longest`` entries (waits for the device: once per matrix, not once per product)."""
    bounds = indptr.cpu().long()
    lengths = bounds.diff()
    counts = ((lengths + longest - 1) // longest).clamp(min=1)  # an empty row is one piece, which writes its zeros
    rows = torch.repeat_interleave(torch.arange(len(lengths)), counts)
    before = counts.cumsum(0) - counts
    starts = bounds[:-1][rows] + (torch.arange(len(rows)) - before[rows]) * longest
    stops = torch.minimum(starts + longest, bounds[1:][rows])
    several = counts[rows] > 1
    slots = torch.where(several, several.cumsum(0) - 1, -1)
    hubs = (counts > 1).nonzero().squeeze(1)
    firsts = torch.cat([torch.zeros(1, dtype=torch.long), counts[hubs].cumsum(0)])
    return Pieces(*(t.int().to(indptr.device) for t in (rows, starts, stops, slots, hubs, firsts)))
