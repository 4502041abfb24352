"""Features without some of their columns, of which nothing is copied: the rows of a weight are left out instead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union

from torch import Tensor

from .sparse import SparseFeatures
from .streamed import StreamedFeatures

Unmasked = Union[Tensor, SparseFeatures, StreamedFeatures]


@dataclass(frozen=True, eq=False)
class MaskedFeatures:
    """``base`` with the columns zero that are not ``kept`` (F, boolean).

    x = base·diag(kept), so x·W = base·(diag(kept)·W). A weight has far fewer numbers than features have, and views with
    other masks still share their base.
    """

    base: Unmasked
    kept: Tensor

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.base.shape)


def mask_columns(x: Unmasked | MaskedFeatures, kept: Tensor) -> MaskedFeatures:
    """The features with the columns that are not kept set to zero."""
    return MaskedFeatures(x.base, x.kept & kept) if isinstance(x, MaskedFeatures) else MaskedFeatures(x, kept)


def applied(x: Unmasked | MaskedFeatures) -> Unmasked:
    """The same features without a mask, for whoever has to see their numbers."""
    if not isinstance(x, MaskedFeatures):
        return x
    base, kept = x.base, x.kept
    if isinstance(base, SparseFeatures):
        return base.with_values(base.values * kept.index_select(0, base.indices))
    if isinstance(base, StreamedFeatures):
        return base.then(lambda chunk, _: chunk * kept)
    return base * kept
