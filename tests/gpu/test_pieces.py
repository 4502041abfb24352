"""Rows cut into pieces: every entry once, in order, and no piece too long."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from signnap.ops.csr import cut_rows


@given(st.lists(st.integers(0, 40), min_size=1, max_size=12), st.integers(1, 9))
def test_pieces_tile_the_rows(lengths, longest):
    indptr = torch.tensor([0, *torch.tensor(lengths).cumsum(0)], dtype=torch.int32)
    pieces = cut_rows(indptr, longest)
    assert all(part.dtype == torch.int32 for part in pieces)
    rows, starts, stops, slots, hubs, firsts = (part.tolist() for part in pieces)
    for row, length in enumerate(lengths):
        own = [p for p, r in enumerate(rows) if r == row]
        assert own == list(range(own[0], own[-1] + 1)) and len(own) == max(1, -(-length // longest))
        assert [e for p in own for e in range(starts[p], stops[p])] == list(range(*indptr[row : row + 2].tolist()))
        assert all(stops[p] - starts[p] <= longest for p in own)
        if len(own) == 1:
            assert slots[own[0]] == -1 and row not in hubs
        else:
            hub = hubs.index(row)
            assert [slots[p] for p in own] == list(range(firsts[hub], firsts[hub + 1]))
    assert rows == sorted(rows) and firsts[-1] == sum(slot >= 0 for slot in slots) and hubs == sorted(hubs)
