"""What a node table says about its nodes: their ids, labels and features."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import torch

from ..errors import SignnapError
from .columns import first_repeat, keys, read_features, read_labels
from .tables import LABEL_NAMES, Table

log = logging.getLogger("signnap")


def node_ids(table: Table, name: str) -> Any:
    """The ids in the column ``name`` as text, each of them there and different."""
    column = complete(table, name)
    if not len(column):
        raise SignnapError(f"{table.title} holds no nodes below its header: expected at least one")
    again = first_repeat(column)
    if again is not None:
        node = column[again].as_py()
        raise SignnapError(f"{table.place(again)} gives node {node!r} a second time: expected each id once")
    return column


def complete(table: Table, name: str) -> Any:
    """A column of node ids without gaps."""
    column = keys(table, name)
    if column.null_count:
        raise SignnapError(f"{table.place(first_null(column))}, column {name!r} is empty: expected a node id")
    return column


def first_null(column: Any) -> int:
    """The first row without a value."""
    import pyarrow.compute as pc

    return int(pc.index(pc.is_null(column), True).as_py())


def describe_nodes(
    table: Table, label_column: str | None, feature_columns: Sequence[str] | None, *, ids: str | None = None
) -> tuple[Any | None, dict[str, Any]]:
    """Features (None if there are none), and the fields of a Graph that hold labels and names.

    ``ids`` is the column of ids, which is neither. Without ``feature_columns`` all remaining columns are features.
    """
    chosen = [feature_columns] if isinstance(feature_columns, str) else feature_columns
    wanted = [table.require(name) for name in dict.fromkeys(chosen or ())]
    if label_column in wanted:
        raise SignnapError(f"column {label_column!r} of {table.title} is named both as label and as feature")
    label = table.require(label_column) if label_column else table.first_of(LABEL_NAMES, but=[*wanted, str(ids)])
    y, classes = read_labels(table, label) if label else (None, ())
    if chosen is None:
        wanted = [name for name in table.columns if name not in (ids, label) and name not in table.nameless]
    x, feature_names = read_features(table, wanted, chosen=chosen is not None)
    labels = f"{len(classes)} classes from column {label!r}" if label else "no labels"
    log.info("%s: %d features from %d columns, %s", table.title, len(feature_names), len(wanted), labels)
    return x, {"y": None if y is None else torch.from_numpy(y), "classes": classes, "feature_names": feature_names}
