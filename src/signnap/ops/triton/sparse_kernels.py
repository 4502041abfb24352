"""Products with a CSR matrix: message passing (spmm), and its gradient in the matrix values (sddmm).

One program computes one piece of a row (see ``csr.Pieces``). It visits the entries of the piece in tiles of (entries,
heads, columns of a head), so that every step is a wide gather. A second kernel adds up the pieces of long rows in a
fixed order, so that the same inputs always give the same bits.
"""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from ..csr import Pieces, cut_rows

_COLUMNS = 128


@triton.jit
def _spmm_piece(
    rows: tl.tensor,
    starts: tl.tensor,
    stops: tl.tensor,
    slots: tl.tensor,
    indices: tl.tensor,
    values: tl.tensor,
    order: tl.tensor | None,
    dense: tl.tensor,
    plus: tl.tensor | None,
    bias: tl.tensor | None,
    out: tl.tensor,
    partial: tl.tensor,
    dense_stride: tl.tensor,
    plus_stride: tl.tensor,
    out_stride: tl.tensor,
    NUM_HEADS: tl.constexpr,
    HEAD_WIDTH: tl.constexpr,
    ENTRIES: tl.constexpr,
    HEADS: tl.constexpr,
    COLUMNS: tl.constexpr,
) -> None:
    piece = tl.program_id(0)
    heads = tl.arange(0, HEADS)
    columns, inside = _columns(heads, NUM_HEADS, HEAD_WIDTH, COLUMNS)
    start = tl.load(starts + piece)
    stop = tl.load(stops + piece)
    entries = start + tl.arange(0, ENTRIES)
    neighbours, weights = _tile(indices, values, order, entries, stop, heads, NUM_HEADS)
    total = tl.full((ENTRIES, HEADS, COLUMNS), 0.0, tl.float32)
    for _ in range(start, stop, ENTRIES):
        # Load the next tile while gathering this one, so that both loads overlap.
        entries += ENTRIES
        next_neighbours, next_weights = _tile(indices, values, order, entries, stop, heads, NUM_HEADS)
        # Dropped entries, and entries behind the end of the piece, have weight 0; their rows are not read.
        wanted = (weights != 0.0)[:, :, None] & inside[None, :, :]
        source = neighbours.to(tl.int64)[:, None, None] * dense_stride + columns[None, :, :]
        total += weights[:, :, None] * tl.load(dense + source, mask=wanted, other=0.0)
        neighbours = next_neighbours
        weights = next_weights
    result = tl.sum(total, axis=0)
    slot = tl.load(slots + piece)
    if slot < 0:
        _finish(result, tl.load(rows + piece), plus, bias, out, plus_stride, out_stride, columns, inside)
    else:
        tl.store(partial + slot.to(tl.int64) * (NUM_HEADS * HEAD_WIDTH) + columns, result, mask=inside)


@triton.jit
def _hub(
    hubs: tl.tensor,
    firsts: tl.tensor,
    plus: tl.tensor | None,
    bias: tl.tensor | None,
    out: tl.tensor,
    partial: tl.tensor,
    plus_stride: tl.tensor,
    out_stride: tl.tensor,
    NUM_HEADS: tl.constexpr,
    HEAD_WIDTH: tl.constexpr,
    ENTRIES: tl.constexpr,
    HEADS: tl.constexpr,
    COLUMNS: tl.constexpr,
) -> None:
    """Add up the pieces of a long row."""
    columns, inside = _columns(tl.arange(0, HEADS), NUM_HEADS, HEAD_WIDTH, COLUMNS)
    hub = tl.program_id(0)
    last = tl.load(firsts + hub + 1)
    total = tl.full((ENTRIES, HEADS, COLUMNS), 0.0, tl.float32)
    for first in range(tl.load(firsts + hub), last, ENTRIES):
        slots = first + tl.arange(0, ENTRIES)
        source = slots.to(tl.int64)[:, None, None] * (NUM_HEADS * HEAD_WIDTH) + columns[None, :, :]
        total += tl.load(partial + source, mask=(slots < last)[:, None, None] & inside[None, :, :], other=0.0)
    result = tl.sum(total, axis=0)
    _finish(result, tl.load(hubs + hub), plus, bias, out, plus_stride, out_stride, columns, inside)


@triton.jit
def _columns(
    heads: tl.tensor, NUM_HEADS: tl.constexpr, HEAD_WIDTH: tl.constexpr, COLUMNS: tl.constexpr
) -> tuple[tl.tensor, tl.tensor]:
    """The columns (heads, columns of a head) of this program's block, and which of them exist."""
    within = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    columns = heads[:, None] * HEAD_WIDTH + within[None, :]
    return columns, (heads < NUM_HEADS)[:, None] & (within < HEAD_WIDTH)[None, :]


@triton.jit
def _finish(
    result: tl.tensor,
    row: tl.tensor,
    plus: tl.tensor | None,
    bias: tl.tensor | None,
    out: tl.tensor,
    plus_stride: tl.tensor,
    out_stride: tl.tensor,
    columns: tl.tensor,
    inside: tl.tensor,
) -> None:
    """Add ``plus`` and ``bias`` to a row, and write it."""
    row = row.to(tl.int64)
    if plus is not None:
        result += tl.load(plus + row * plus_stride + columns, mask=inside, other=0.0)
    if bias is not None:
        result += tl.load(bias + columns, mask=inside, other=0.0)
    tl.store(out + row * out_stride + columns, result, mask=inside)


@triton.jit
def _tile(
    indices: tl.tensor,
    values: tl.tensor,
    order: tl.tensor | None,
    entries: tl.tensor,
    stop: tl.tensor,
    heads: tl.tensor,
    NUM_HEADS: tl.constexpr,
) -> tl.tensor:
    """The columns of some entries, and their values for every head; 0 behind the end of the piece."""
    valid = entries < stop
    places = entries if order is None else tl.load(order + entries, mask=valid, other=0)
    at = places.to(tl.int64)[:, None] * NUM_HEADS + heads[None, :]
    weights = tl.load(values + at, mask=valid[:, None] & (heads < NUM_HEADS)[None, :], other=0.0)
    return tl.load(indices + entries, mask=valid, other=0), weights


@triton.jit
def _sddmm_piece(
    rows: tl.tensor,
    starts: tl.tensor,
    stops: tl.tensor,
    indices: tl.tensor,
    left: tl.tensor,
    right: tl.tensor,
    out: tl.tensor,
    left_stride: tl.tensor,
    right_stride: tl.tensor,
    NUM_HEADS: tl.constexpr,
    HEAD_WIDTH: tl.constexpr,
    ENTRIES: tl.constexpr,
    HEADS: tl.constexpr,
    COLUMNS: tl.constexpr,
) -> None:
    piece = tl.program_id(0)
    row = tl.load(rows + piece).to(tl.int64)
    heads = tl.arange(0, HEADS)
    stop = tl.load(stops + piece)
    for first in range(tl.load(starts + piece), stop, ENTRIES):
        entries = first + tl.arange(0, ENTRIES)
        valid = entries < stop
        neighbours = tl.load(indices + entries, mask=valid, other=0).to(tl.int64)
        products = tl.full((ENTRIES, HEADS, COLUMNS), 0.0, tl.float32)
        for block in range(0, HEAD_WIDTH, COLUMNS):
            within = block + tl.arange(0, COLUMNS)
            columns = heads[:, None] * HEAD_WIDTH + within[None, :]
            inside = (heads < NUM_HEADS)[:, None] & (within < HEAD_WIDTH)[None, :]
            own = tl.load(left + row * left_stride + columns, mask=inside, other=0.0)
            source = neighbours[:, None, None] * right_stride + columns[None, :, :]
            wanted = valid[:, None, None] & inside[None, :, :]
            products += own[None, :, :] * tl.load(right + source, mask=wanted, other=0.0)
        at = entries.to(tl.int64)[:, None] * NUM_HEADS + heads[None, :]
        tl.store(out + at, tl.sum(products, axis=2), mask=valid[:, None] & (heads < NUM_HEADS)[None, :])


def spmm(
    indptr: Tensor,
    indices: Tensor,
    values: Tensor,
    dense: Tensor,
    plus: Tensor | None = None,
    out: Tensor | None = None,
    *,
    bias: Tensor | None = None,
    order: Tensor | None = None,
    pieces: Pieces | None = None,
) -> Tensor:
    """out[i, c] = Σ_e values[e, head of c] · dense[indices[e], c] + plus[i, c] + bias[c], over the entries e of row i.

    ``values`` is (E,), or (E, H) where H divides the width C: head h owns columns h·C/H to (h+1)·C/H. The matrix need
    not be square. ``out`` may be the memory of ``plus``; its columns must be contiguous. With an ``order``, the value
    of entry e is values[order[e]]; the mirror of a symmetric pattern gives the transposed matrix. Pass the ``pieces``
    of a matrix that takes part in several products, because cutting rows waits for the device.
    """
    pieces = cut_rows(indptr) if pieces is None else pieces
    width = dense.shape[1]
    shape = _shape(width, 1 if values.dim() == 1 else values.shape[1])
    if out is None:
        out = dense.new_empty(indptr.numel() - 1, width)
    dense, plus = _by_rows(dense), None if plus is None else _by_rows(plus)
    partial = out.new_empty(len(pieces.slots) - (indptr.numel() - 1 - len(pieces.hubs)), width)
    blocks = triton.cdiv(shape["HEAD_WIDTH"], shape["COLUMNS"])
    target = (plus, bias, out, partial)
    strides = (0 if plus is None else plus.stride(0), out.stride(0))
    arrays = (*pieces[:4], indices, values.contiguous(), order, dense)
    _spmm_piece[(len(pieces.rows), blocks)](*arrays, *target, dense.stride(0), *strides, **shape)
    if len(pieces.hubs):
        _hub[(len(pieces.hubs), blocks)](pieces.hubs, pieces.firsts, *target, *strides, **shape)
    return out


def sddmm(
    indptr: Tensor, indices: Tensor, left: Tensor, right: Tensor, heads: int = 1, *, pieces: Pieces | None = None
) -> Tensor:
    """out[e, h] = Σ_c left[row of e, c] · right[indices[e], c], over the columns c of head h.

    The result is (E,) for one head and (E, heads) for several. The matrix need not be square.
    """
    pieces = cut_rows(indptr) if pieces is None else pieces
    left, right = _by_rows(left), _by_rows(right)
    out = left.new_empty((indices.numel(), heads) if heads > 1 else indices.numel())
    arrays = (*pieces[:3], indices, left, right, out)
    _sddmm_piece[(len(pieces.rows),)](*arrays, left.stride(0), right.stride(0), **_shape(left.shape[1], heads))
    return out


def _shape(width: int, heads: int) -> dict[str, int]:
    """The heads of a width, the shape of a tile (powers of two), and the number of warps."""
    padded = triton.next_power_of_2(heads)
    columns = min(triton.next_power_of_2(width // heads), max(1, _COLUMNS // padded))
    entries = 4 if width <= _COLUMNS else 8
    tile = {"ENTRIES": entries, "HEADS": padded, "COLUMNS": columns, "num_warps": 1}
    return {"NUM_HEADS": heads, "HEAD_WIDTH": width // heads, **tile}


def _by_rows(x: Tensor) -> Tensor:
    """The matrix with contiguous rows, as the kernels read it; the rows may lie any distance apart."""
    return x if x.stride(1) == 1 else x.contiguous()
