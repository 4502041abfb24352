"""The facebook page graph of the MUSAE collection: two CSV tables and a JSON bag of words."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import torch

from ..errors import SignnapError
from ..graph import Graph

_MAX_BYTES = 1 << 27
_MAX_COLUMNS = 1 << 20


def read_facebook(folder: Path) -> Graph:
    """Read the graph: pages are nodes, mutual likes are edges, words are 0/1 features, the page type is the class.

    Classes are numbered in order of first appearance in the target table.
    """
    labels, classes = _targets(folder / "facebook_target.csv")
    source, target = _edges(folder / "facebook_edges.csv", len(labels))
    features = _bag_of_words(folder / "facebook_features.json", len(labels))
    return Graph.from_edges(source, target, features, y=torch.tensor(labels), name="facebook", classes=classes)


def _text(path: Path) -> str:
    try:
        size = path.stat().st_size
        if size > _MAX_BYTES:
            raise SignnapError(f"{path} is {size:,} bytes long, the limit is {_MAX_BYTES:,}")
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SignnapError(f"cannot read {path}: {error}") from error


def _rows(path: Path, header: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield (place, cells) for every row below the expected header. Page names may contain quoted commas."""
    table = csv.reader(io.StringIO(_text(path), newline=""), strict=True)
    try:
        for cells in table:
            place = f"{path}, line {table.line_num}"
            if table.line_num == 1 and cells != header:
                raise SignnapError(f"{place}: found the columns {','.join(cells)}, expected {','.join(header)}")
            if len(cells) != len(header):
                raise SignnapError(f"{place}: found {len(cells)} cells, expected {len(header)}")
            if table.line_num > 1:
                yield place, cells
    except csv.Error as error:
        raise SignnapError(f"{path}, line {table.line_num}: {error}") from error


def _targets(path: Path) -> tuple[list[int], tuple[str, ...]]:
    numbers: dict[str, int] = {}
    labels: list[int] = []
    for place, (node, _, _, page_type) in _rows(path, ["id", "facebook_id", "page_name", "page_type"]):
        if node != str(len(labels)):
            raise SignnapError(f"{place}: found node {node!r}, expected {len(labels)}")
        labels.append(numbers.setdefault(page_type, len(numbers)))
    return labels, tuple(numbers)


def _edges(path: Path, nodes: int) -> tuple[list[int], list[int]]:
    ends: tuple[list[int], list[int]] = [], []
    for place, cells in _rows(path, ["id_1", "id_2"]):
        for cell, end in zip(cells, ends, strict=True):
            end.append(_number(cell, nodes, place))
    return ends


def _bag_of_words(path: Path, nodes: int) -> sp.csr_matrix:
    try:
        bags = json.loads(_text(path))
        rows = [_number(node, nodes, f"{path}") for node, words in bags.items() for _ in words]
        words = [word for words in bags.values() for word in words]
    except (ValueError, AttributeError, TypeError, RecursionError) as error:
        raise SignnapError(f"{path} is not a JSON object of lists: {error}") from error
    for word in words:
        if type(word) is not int or not 0 <= word < _MAX_COLUMNS:
            raise SignnapError(f"{path} has the word {word!r}, expected a whole number from 0 to {_MAX_COLUMNS - 1}")
    matrix = sp.csr_matrix((np.ones(len(rows)), (rows, words)), shape=(nodes, max(words, default=-1) + 1))
    matrix.data[:] = 1  # a repeated word counts once
    return matrix


def _number(cell: str, nodes: int, place: str) -> int:
    if not (cell.isascii() and cell.isdigit() and len(cell) < 20 and int(cell) < nodes):
        raise SignnapError(f"{place}: found node {cell!r}, expected 0 to {nodes - 1}")
    return int(cell)
