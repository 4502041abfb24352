"""What a node table says about its nodes: their ids, labels and features."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import torch

from ..errors import SignnapError
from .columns import first_repeat, is_measured, keys, read_features, read_labels
from .tables import DOUBTFUL_LABEL_NAMES, LABEL_NAMES, Table, listed

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


def may_be_label(table: Table, name: str) -> bool:
    """Whether a column named like a label holds classes; a note says if not."""
    if name.lower() not in DOUBTFUL_LABEL_NAMES or not is_measured(table, name):
        return True
    words = "holds measured numbers, not classes: a feature like other columns, unless you name it as the label column"
    log.info("%s: column %r %s", table.title, name, words)
    return False


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
    label = table.require(label_column) if label_column else _label_by_name(table, but=[*wanted, str(ids)])
    y, classes = read_labels(table, label) if label else (None, ())
    if chosen is None:
        wanted = [name for name in table.columns if name not in (ids, label) and name not in table.nameless]
    x, feature_names, text = read_features(table, wanted, chosen=chosen is not None)
    columns = f"{len(wanted)} columns" + (f" (text, with one feature per value: {listed(text)})" if text else "")
    labels = f"{len(classes)} classes from column {label!r}" if label else "no labels"
    log.info("%s: %d features from %s, %s", table.title, len(feature_names), columns, labels)
    return x, {"y": None if y is None else torch.from_numpy(y), "classes": classes, "feature_names": feature_names}


def _label_by_name(table: Table, but: Sequence[str]) -> str | None:
    found = table.first_of(LABEL_NAMES, but)
    if found is None or may_be_label(table, found):
        return found
    return _label_by_name(table, [*but, found])
