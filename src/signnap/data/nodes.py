"""What a node table says about its nodes: their ids, labels, split and features."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ..errors import SignnapError
from .columns import blanks_around, encode, ends_in_nul, first_repeat, is_measured, keys, read_labels, without_missing
from .features import Kind, read_features, trained_kinds
from .tables import DOUBTFUL_LABEL_NAMES, ID_NAMES, LABEL_NAMES, Table, is_number, listed

_log = logging.getLogger(__name__)

#: The parts of a split.
PARTS = ("train", "val", "test")
#: customer_id, customer-id, customerId
_LIKE_AN_ID = re.compile(r".*([_ .-][iI][dD]|[a-z]I[dD])")


def column_of_ids(table: Table) -> str:
    """The column of ids where nobody named one.

    It has one of the usual names, of which ``name`` is the least certain: a first column that is called like an id
    (customer_id) and differs in every row comes before it. Without all these it is the first column.
    """
    found = table.first_of(ID_NAMES)
    if found is not None and found.lower() != "name":
        return found
    first = next((name for name in table.columns if name not in table.nameless), None)
    if first is not None and _LIKE_AN_ID.fullmatch(first) and first_repeat(keys(table, first)) is None:
        return first
    return found or next(iter(table.columns))


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
    if (row := ends_in_nul(column)) is not None:
        found = f"{table.place(row)}, column {name!r} holds {column[row].as_py()!r}"
        raise SignnapError(f"{found}, which ends in a NUL character: expected a node id without")
    if trimmed := blanks_around(table, name):
        _log.warning("%s: removed the blanks around %d ids in column %r", table.title, trimmed, name)
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
    _log.info("%s: column %r %s", table.title, name, words)
    return False


def describe_nodes(
    table: Table,
    *,
    ids: str | None = None,
    label_column: str | None = None,
    split_column: str | None = None,
    feature_columns: Sequence[str] | None = None,
    categorical_columns: Sequence[str] | None = None,
    trained_on: Sequence[str] | None = None,
) -> tuple[Any | None, dict[str, Any]]:
    """Features (None if there are none), and the fields of a Graph that hold labels, split and names.

    ``ids`` is the column of ids, which is none of these. Without ``feature_columns`` all remaining columns are
    features. ``categorical_columns`` are features as well, and those of a model ``trained_on`` features of those names
    are what they were for it.
    """
    categorical = as_list(categorical_columns)
    wanted = [table.require(name) for name in as_list([*as_list(feature_columns), *categorical])]
    _expect_one_role(table, {"label": label_column, "split": split_column}, wanted)
    split = table.require(split_column) if split_column else None
    label = table.require(label_column) if label_column else _label_by_name(table, [*wanted, str(ids), str(split)])
    if feature_columns is None:
        wanted = [name for name in table.columns if _is_rest(table, name, (ids, label, split)) or name in wanted]
    y, classes = _labels(table, label) if label else (None, ())
    kinds: dict[str, Kind] = dict.fromkeys(categorical, "category")
    if trained_on and wanted:
        kinds |= trained_kinds(table, wanted, trained_on)
    x, feature_names, text = read_features(table, wanted, chosen=feature_columns is not None, kinds=kinds)
    columns = f"{len(wanted)} columns" + (f" (text, with one feature per value: {listed(text)})" if text else "")
    labels = f"{len(classes)} classes from column {label!r}" if label else "no labels"
    _log.info("%s: %d features from %s, %s", table.title, len(feature_names), columns, labels)
    fields = {"y": y, "classes": classes, "feature_names": feature_names}
    return x, fields | ({"given_split": _read_split(table, split)} if split else {})


def as_list(names: Sequence[str] | None) -> list[str]:
    """The names of columns, each once; a single one may come as it is."""
    return list(dict.fromkeys([names] if isinstance(names, str) else names or ()))


def _expect_one_role(table: Table, roles: dict[str, str | None], features: Sequence[str]) -> None:
    taken = dict.fromkeys(features, "feature")
    for role, name in roles.items():
        if name is not None and taken.setdefault(name, role) != role:
            raise SignnapError(f"column {name!r} of {table.title} is named both as {role} and as {taken[name]}")


def _is_rest(table: Table, name: str, taken: Sequence[str | None]) -> bool:
    return name not in taken and name not in table.nameless


def _labels(table: Table, name: str) -> tuple[torch.Tensor | None, tuple[str, ...]]:
    y, classes = read_labels(table, name)
    if "-1" in classes and all(map(is_number, classes)):
        words = "is taken for a class like others; leave the cell empty where a node has none"
        _log.warning("%s: label -1 in column %r %s", table.title, name, words)
    return None if y is None else torch.from_numpy(y), classes


def _read_split(table: Table, name: str) -> dict[str, torch.Tensor]:
    """The rows of each part, as a column says it; a node may be in none."""
    codes, values = encode(without_missing(keys(table, name)))
    parts = [value.lower() for value in values.to_pylist()]
    for number, part in enumerate(parts):
        if part not in PARTS:
            row = int(np.flatnonzero(codes == number)[0])
            found = f"{table.place(row)}, column {name!r} holds {values[number].as_py()[:50]!r}"
            raise SignnapError(f"{found}: expected train, val, test, or nothing for a node in no part")
    named = np.array([*parts, ""])[codes]
    return {part: torch.from_numpy(np.flatnonzero(named == part)) for part in PARTS}


def _label_by_name(table: Table, but: Sequence[str]) -> str | None:
    found = table.first_of(LABEL_NAMES, but)
    if found is None or may_be_label(table, found):
        return found
    return _label_by_name(table, [*but, found])
