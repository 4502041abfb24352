"""A node table: which columns hold ids, labels, split and features, and what their cells mean."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
import torch

from ..errors import SignnapError
from .assemble import STRUCTURAL_COLUMNS
from .cells import (
    MISSING,
    as_numbers,
    bad_number,
    encode,
    first_repeat,
    id_keys,
    is_text,
    keys,
    numbers,
    parse_numbers,
    plain,
    texts,
    to_ids,
    trimmed,
    without_missing,
)  # fmt: skip
from .tables import ID_NAMES, Table, is_number, listed

_log = logging.getLogger(__name__)

#: The parts of a split.
PARTS = ("train", "val", "test")
LABEL_NAMES = ("label", "class", "y", "target")
#: These names may also mean a coordinate or a number to predict.
_DOUBTFUL_LABEL_NAMES = ("y", "target")
#: customer_id, customer-id, customerId
_LIKE_AN_ID = re.compile(r".*([_ .-][iI][dD]|[a-z]I[dD])")
#: A text column with more values than this is no category, unless the user says so.
_MAX_CATEGORIES = 10_000
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
_LEAVE_OUT = "leave it out by naming the feature columns to use (--feature-columns)"

#: What the cells of a feature column mean.
Kind = Literal["number", "category"]


@dataclass(frozen=True)
class FeatureColumn:
    """What one column of a table means as features.

    A number gives one feature with the name of the column, a category one 0/1 feature per value, named column=value.
    A category without any value gives one feature of zeros, so that a trained model knows the column.
    """

    name: str
    kind: Kind
    values: tuple[str, ...] = ()

    @property
    def feature_names(self) -> tuple[str, ...]:
        if self.kind == "number":
            return (self.name,)
        return tuple(f"{self.name}={value}" for value in self.values or ("",))


@dataclass(frozen=True)
class NodeColumns:
    """What the columns of a node table say about its nodes; ``x`` is None if no column is a feature."""

    x: Any | None
    features: tuple[FeatureColumn, ...]
    y: torch.Tensor | None
    classes: tuple[str, ...]
    given_split: dict[str, torch.Tensor] | None

    def graph_fields(self) -> dict[str, Any]:
        """The fields of a Graph, apart from features and ids."""
        names = tuple(name for column in self.features for name in column.feature_names)
        return {"y": self.y, "classes": self.classes, "feature_names": names, "given_split": self.given_split}


def read_node_columns(
    table: Table,
    *,
    ids: str | None = None,
    label_column: str | None = None,
    split_column: str | None = None,
    feature_columns: Sequence[str] | None = None,
    categorical_columns: Sequence[str] | None = None,
    trained_on: Sequence[str] | None = None,
) -> NodeColumns:
    """Read labels, split and features.

    ``ids`` is the column of ids, which has no other role. Without ``feature_columns`` all remaining columns are
    features. ``categorical_columns`` are features as well. ``trained_on`` are the feature names of a trained model:
    each column then has the kind that it had in training.
    """
    categorical = as_list(categorical_columns)
    wanted = [table.require(name) for name in as_list([*as_list(feature_columns), *categorical])]
    _expect_one_role(table, {"label": label_column, "split": split_column}, wanted)
    split = table.require(split_column) if split_column else None
    label = table.require(label_column) if label_column else _label_by_name(table, [*wanted, str(ids), str(split)])
    if feature_columns is None:
        without_role = {*table.columns} - {ids, label, split} - table.nameless
        wanted = [name for name in table.columns if name in without_role or name in wanted]
    y, classes = _read_labels(table, label) if label else (None, ())
    kinds: dict[str, Kind] = dict.fromkeys(categorical, "category")
    if trained_on and wanted:
        kinds |= _trained_kinds(table, wanted, trained_on)
    x, features = _read_features(table, wanted, kinds, chosen=feature_columns is not None)
    given_split = _read_split(table, split) if split else None
    found = NodeColumns(x, features, None if y is None else torch.from_numpy(y), classes, given_split)
    _note_what_was_read(table, found, label)
    return found


def as_list(names: Sequence[str] | None) -> list[str]:
    """The names of columns without repeats, from a list or a single name."""
    return list(dict.fromkeys([names] if isinstance(names, str) else names or ()))


def _expect_one_role(table: Table, roles: dict[str, str | None], features: Sequence[str]) -> None:
    taken = dict.fromkeys(features, "feature")
    for role, name in roles.items():
        if name is not None and taken.setdefault(name, role) != role:
            raise SignnapError(f"column {name!r} of {table.title} is named both as {role} and as {taken[name]}")


def _note_what_was_read(table: Table, found: NodeColumns, label: str | None) -> None:
    count = sum(len(column.feature_names) for column in found.features)
    text = [column.name for column in found.features if column.kind == "category"]
    columns = f"{len(found.features)} columns"
    columns += f" (text, with one feature per value: {listed(text)})" if text else ""
    labels = f"{len(found.classes)} classes from column {label!r}" if label else "no labels"
    _log.info("%s: %d features from %s, %s", table.title, count, columns, labels)


# -- ids, labels and split -------------------------------------------------------------------------------------------


def column_of_ids(table: Table) -> str:
    """Guess the column of ids.

    A column with a usual name is the first choice. ``name`` is the least certain of them: a first column that looks
    like an id (customer_id) and differs in every row precedes it. Without either, the first column holds the ids.
    """
    found = table.first_of(ID_NAMES)
    if found is not None and found.lower() != "name":
        return found
    first = next((name for name in table.columns if name not in table.nameless), None)
    if first is not None and _LIKE_AN_ID.fullmatch(first) and first_repeat(keys(table, first)) is None:
        return first
    return found or next(iter(table.columns))


def unique_id_keys(table: Table, name: str) -> Any:
    """The ids in a column as text. An empty cell or a repeated id is an error."""
    column = id_keys(table, name)
    if not len(column):
        raise SignnapError(f"{table.title} holds no nodes below its header: expected at least one")
    again = first_repeat(column)
    if again is not None:
        node = column[again].as_py()
        raise SignnapError(f"{table.place(again)} gives node {node!r} a second time: expected each id once")
    return column


def may_be_label(table: Table, name: str) -> bool:
    """Whether a column with the name of a label holds classes. A note says so if it holds measured numbers."""
    if name.lower() not in _DOUBTFUL_LABEL_NAMES or not _is_measured(table, name):
        return True
    words = "holds measured numbers, not classes: a feature like other columns, unless you name it as the label column"
    _log.info("%s: column %r %s", table.title, name, words)
    return False


def _label_by_name(table: Table, but: Sequence[str]) -> str | None:
    found = table.first_of(LABEL_NAMES, but)
    if found is None or may_be_label(table, found):
        return found
    return _label_by_name(table, [*but, found])


def _is_measured(table: Table, name: str) -> bool:
    """Whether a column holds measured numbers, such as coordinates, rather than classes.

    Measured numbers have fractions, and fewer than two nodes share one on average.
    """
    import pyarrow as pa

    column = plain(table.columns[name])
    found = parse_numbers(trimmed(column)) if is_text(column.type) else column
    if found is None or not pa.types.is_floating(found.type):
        return False
    values = found.drop_null().to_numpy()
    values = values[np.isfinite(values)]
    return bool((values % 1).any()) and 2 * len(np.unique(values)) > len(values)


def _read_labels(table: Table, name: str) -> tuple[np.ndarray | None, tuple[str, ...]]:
    """Class numbers (−1 where the label is missing) and class names in sorted order; numbers sort as numbers."""
    codes, values = encode(without_missing(keys(table, name)))
    if not len(values):
        return None, ()
    order = np.argsort(to_ids(values), kind="stable")
    rank = np.empty(len(order) + 1, dtype=np.int64)
    rank[order], rank[-1] = np.arange(len(order)), -1
    classes = tuple(values[int(i)].as_py() for i in order)
    if "-1" in classes and all(map(is_number, classes)):
        words = "is taken for a class like others; leave the cell empty where a node has none"
        _log.warning("%s: label -1 in column %r %s", table.title, name, words)
    return rank[codes], classes


def _read_split(table: Table, name: str) -> dict[str, torch.Tensor]:
    """The rows of each part. A node with an empty cell is in no part."""
    codes, values = encode(without_missing(keys(table, name)))
    parts = [value.lower() for value in values.to_pylist()]
    for number, part in enumerate(parts):
        if part not in PARTS:
            row = int(np.flatnonzero(codes == number)[0])
            found = f"{table.place(row)}, column {name!r} holds {values[number].as_py()[:50]!r}"
            raise SignnapError(f"{found}: expected train, val, test, or nothing for a node in no part")
    named = np.array([*parts, ""])[codes]
    return {part: torch.from_numpy(np.flatnonzero(named == part)) for part in PARTS}


# -- features --------------------------------------------------------------------------------------------------------


def _trained_kinds(table: Table, wanted: Sequence[str], names: Sequence[str]) -> dict[str, Kind]:
    """The kinds that columns had for a model with features of these ``names``.

    The table must have all columns of the model, and ``wanted`` no other column.
    """
    if tuple(names) == STRUCTURAL_COLUMNS:
        raise SignnapError(f"the model was trained on features that are made of edges, and {table.title} has others")
    known, categories = {*names}, {name[:end] for name in names for end in _equal_signs(name)}
    kinds: dict[str, Kind] = {column: "category" for column in wanted if column in categories}
    kinds |= {column: "number" for column in wanted if column in known}
    for name in names:
        if name not in kinds and not any(name[:end] in kinds for end in _equal_signs(name)):
            column = name.partition("=")[0]
            raise SignnapError(f"the model was trained on column {column!r}, which {table.title} does not have")
    for column in wanted:
        if column not in kinds:
            raise SignnapError(f"{table.title} has the column {column!r}, which the model was not trained on")
    return kinds


def _equal_signs(name: str) -> list[int]:
    return [place for place, sign in enumerate(name) if sign == "="]


def _read_features(
    table: Table, names: Sequence[str], kinds: Mapping[str, Kind], *, chosen: bool
) -> tuple[Any, tuple[FeatureColumn, ...]]:
    """The feature matrix, sparse if there are categories, and what each column means in it.

    ``kinds`` overrides what the cells look like. ``chosen`` means that the user listed the columns: a text column that
    differs in every row is then accepted.
    """
    read = [_read_feature(table, name, kinds.get(name), chosen) for name in names]
    seen: set[str] = set()
    for feature in (feature for column, _ in read for feature in column.feature_names):
        if feature in seen:  # a trained model knows its features by name only
            found = f"the columns of {table.title} make two features named {feature!r}"
            raise SignnapError(f"{found}: expected no column called like another one and its value, so rename one")
        seen.add(feature)
    return _side_by_side([block for _, block in read]), tuple(column for column, _ in read)


def _read_feature(table: Table, name: str, kind: Kind | None, chosen: bool) -> tuple[FeatureColumn, Any]:
    """One column and its block of the matrix. Without a ``kind``, text and a data frame's categories are categories."""
    import pyarrow as pa

    stored = "category" if kind is None and pa.types.is_dictionary(table.columns[name].type) else kind
    if stored != "category":
        read = numbers if stored == "number" else as_numbers
        values = read(table, name, f"numbers, booleans or text, or {_LEAVE_OUT}")
        if values is not None:
            return FeatureColumn(name, "number"), values
    codes, found = encode(texts(table, name))
    if stored is None:
        _expect_words(table, name, codes, found.to_pylist())
    if kind is None:
        _expect_few(table, name, len(found), chosen)
    matrix, categories = _one_hot(codes, found.to_pylist())
    return FeatureColumn(name, "category", categories), matrix


def _expect_words(table: Table, name: str, codes: np.ndarray, values: list[str]) -> None:
    """Refuse as a category a column in which most cells are numbers, or numbers with decimal commas."""
    numeric = np.array([*map(is_number, values), False])[codes]
    given = np.array([*(value not in MISSING for value in values), False])[codes]
    if 2 * numeric.sum() > given.sum():
        raise bad_number(table, name, int(np.flatnonzero(~numeric & (codes >= 0))[0]))
    commas = np.array([*(_DECIMAL_COMMA.fullmatch(value) is not None for value in values), False])[codes]
    if 2 * commas.sum() > given.sum():
        row = int(np.flatnonzero(commas)[0])
        found = f"{table.place(row)}, column {name!r} holds {values[codes[row]]!r}"
        raise SignnapError(f"{found}, as if commas were decimal points: expected 12.50, not 12,50")


def _expect_few(table: Table, name: str, count: int, chosen: bool) -> None:
    """Refuse as a category a column with too many values, or with another text in every row."""
    if count > _MAX_CATEGORIES or (count == len(table) and not chosen):
        found = "different text in every row" if count == len(table) else f"{count:,} different texts"
        advice = f"{_LEAVE_OUT}, or name it as a categorical column (--categorical-columns)"
        raise SignnapError(f"column {name!r} of {table.title} holds {found}, too many to be categories: {advice}")


def _one_hot(codes: np.ndarray, values: list[str]) -> tuple[sp.csr_matrix, tuple[str, ...]]:
    """One 0/1 column per value in sorted order, and the sorted values; one column of zeros if there is no value."""
    order = sorted(range(len(values)), key=values.__getitem__)
    rank = np.empty(len(values), dtype=np.int64)
    rank[order] = np.arange(len(values))
    present = codes >= 0
    start = np.concatenate([[0], np.cumsum(present)])
    ones = np.ones(int(present.sum()), dtype=np.float32)
    matrix = sp.csr_matrix((ones, rank[codes[present]], start), shape=(len(codes), max(len(values), 1)))
    return matrix, tuple(values[i] for i in order)


def _side_by_side(blocks: list[Any]) -> Any:
    if not any(sp.issparse(block) for block in blocks):
        return np.column_stack(blocks) if blocks else None
    return sp.hstack([block if sp.issparse(block) else sp.csr_matrix(block[:, None]) for block in blocks], format="csr")
