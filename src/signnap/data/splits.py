"""Splits of the labelled nodes into training, validation and test nodes.

A split is written as ``paper``, ``public``, ``per-class:20:30`` or ``random:0.1:0.1`` (training and validation; the
rest is for testing), each optionally after ``inductive:``. ``inductive`` alone means ``inductive:paper``.

``parse_split`` checks settings before torch is needed, so this module imports array libraries on first use.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import SignnapError
from .public import DATASETS

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

    from ..graph import Graph

    Parts = tuple[np.ndarray, np.ndarray, np.ndarray]

_INDUCTIVE = "inductive"
_PARTS = ("train", "val", "test")
_PAPER_SEED = 42
_PAPER_PER_CLASS = (20, 30)
_PAPER_INDUCTIVE = (20_000, 5_000)
_PER_CLASS = re.compile(r"per-class:([0-9]{1,9}):([0-9]{1,9})")
_RANDOM = re.compile(r"random:(0?\.[0-9]{1,9}):(0?\.[0-9]{1,9})")
_GRAMMAR = (
    "expected paper, public, per-class:TRAIN:VAL (nodes of each class, such as per-class:20:30) or random:TRAIN:VAL "
    "(shares below 1 in sum, such as random:0.1:0.1), optionally after inductive:"
)


@dataclass(frozen=True, eq=False)
class Split:
    """Node rows for training, validation and testing: disjoint, and all labelled."""

    train: Tensor
    val: Tensor
    test: Tensor
    name: str
    inductive: bool = False

    def training_graph(self, graph: Any) -> Graph:
        """The graph that a method sees in training: the whole graph, or with ``inductive`` its training nodes only.

        The rows of an inductive training graph follow ``train``. It has no edges to other nodes.
        """
        from .load import load_graph

        graph = load_graph(graph)
        return graph.subgraph(self.train) if self.inductive else graph


def parse_split(spec: str) -> tuple[str, bool]:
    """The rule that chooses the nodes, and whether training hides the validation and test nodes.

    >>> parse_split("random:0.1:0.1"), parse_split("inductive:random:0.1:0.1"), parse_split("inductive")
    (('random:0.1:0.1', False), ('random:0.1:0.1', True), ('paper', True))
    """
    if spec == _INDUCTIVE:
        return "paper", True
    rule = spec.removeprefix(f"{_INDUCTIVE}:")
    return rule, rule != spec


def make_split(graph: Any, spec: str, seed: int = 0) -> Split:
    """Split a labelled graph, or anything that ``load_graph`` accepts.

    ``paper`` is the split of the paper's authors: the public split of the Planetoid graphs, 20,000 training and 5,000
    validation nodes of coauthor_physics (inductive), and 20 and 30 nodes of each class of any other graph. ``seed``
    matters to ``per-class`` and ``random`` only.
    """
    import torch

    from .load import load_graph

    graph = load_graph(graph)
    rule, inductive = parse_split(spec)
    name = f"{_INDUCTIVE}:{rule}" if inductive else rule
    labels = _labels(graph)
    parts: Parts | None
    if rule == "paper":
        parts = _paper(graph, labels)
        inductive = inductive or _setting(graph) == _INDUCTIVE
    elif rule == "public":
        parts = _public(graph, labels)
    else:
        parts = _drawn(graph, labels, rule, seed=seed)
        if parts is None:
            raise SignnapError(f"cannot read the split {spec!r}: {_GRAMMAR}")
    train, val, test = (torch.from_numpy(part) for part in parts)
    return Split(train, val, test, name, inductive)


def _labels(graph: Graph) -> np.ndarray:
    if graph.y is None or not bool((graph.y >= 0).any()):
        raise SignnapError(f"graph {graph.name} has no labels: a split needs nodes whose class is known")
    return graph.y.cpu().numpy()


def _setting(graph: Graph) -> str:
    return DATASETS[graph.name].setting if graph.name in DATASETS else "transductive"


def _paper(graph: Graph, labels: np.ndarray) -> Parts:
    """The index sets of the authors' code, which shuffles with the fixed seed 42."""
    if graph.name in DATASETS and DATASETS[graph.name].family == "planetoid":
        return _public(graph, labels)
    if _setting(graph) == _INDUCTIVE:
        return _cut(graph, labels, *_PAPER_INDUCTIVE, seed=_PAPER_SEED)
    return _per_class(graph, labels, *_PAPER_PER_CLASS, seed=_PAPER_SEED)


def _public(graph: Graph, labels: np.ndarray) -> Parts:
    """The split that the graph came with, without nodes that have no label."""
    import numpy as np

    given = graph.given_split or {}
    if missing := [part for part in _PARTS if part not in given]:
        raise SignnapError(f"graph {graph.name} comes without a split of its own: it has no {missing[0]} nodes marked")
    train, val, test = (given[part].cpu().numpy() for part in _PARTS)
    nodes, times = np.unique(np.concatenate([train, val, test]), return_counts=True)
    if (times > 1).any():
        raise SignnapError(f"the split that came with graph {graph.name} has node {nodes[times > 1][0]} twice")
    return _filled(graph, train[labels[train] >= 0], val[labels[val] >= 0], test[labels[test] >= 0])


def _drawn(graph: Graph, labels: np.ndarray, rule: str, *, seed: int) -> Parts | None:
    """A random split by ``per-class`` or ``random``; None if ``rule`` is neither."""
    if match := _PER_CLASS.fullmatch(rule):
        train, val = int(match[1]), int(match[2])
        if train and val:
            return _per_class(graph, labels, train, val, seed=seed)
    if match := _RANDOM.fullmatch(rule):
        shares = float(match[1]), float(match[2])
        if min(shares) > 0 and sum(shares) < 1:
            labelled = int((labels >= 0).sum())
            return _cut(graph, labels, round(shares[0] * labelled), round(shares[1] * labelled), seed=seed)
    return None


def _per_class(graph: Graph, labels: np.ndarray, train: int, val: int, *, seed: int) -> Parts:
    """Shuffle and cut each class, then shuffle each part once more, exactly as the authors' code does."""
    import numpy as np

    parts: list[list[np.ndarray]] = []
    for label in np.unique(labels[labels >= 0]):
        members = np.flatnonzero(labels == label)
        if len(members) <= train + val:
            name = repr(graph.classes[label]) if label < len(graph.classes) else str(label)
            needed = f"{train} for training, {val} for validation and 1 for testing"
            raise SignnapError(f"class {name} of graph {graph.name} has {len(members)} nodes, too few for {needed}")
        parts.append(np.split(_shuffled(members, seed), [train, train + val]))
    first, second, third = (_shuffled(np.concatenate(part), seed) for part in zip(*parts, strict=True))
    return first, second, third


def _cut(graph: Graph, labels: np.ndarray, train: int, val: int, *, seed: int) -> Parts:
    """Shuffle all labelled nodes and cut."""
    import numpy as np

    first, second, third = np.split(_shuffled(np.flatnonzero(labels >= 0), seed), [train, train + val])
    return _filled(graph, first, second, third)


def _filled(graph: Graph, *parts: np.ndarray) -> Parts:
    """Refuse a split with an empty part."""
    train, val, test = parts
    if not min(len(part) for part in parts):
        sizes = f"{len(train):,} training, {len(val):,} validation and {len(test):,} test nodes"
        raise SignnapError(f"the split leaves graph {graph.name} with {sizes}: expected at least one of each")
    return train, val, test


def _shuffled(nodes: np.ndarray, seed: int) -> np.ndarray:
    from sklearn.utils import shuffle

    return shuffle(nodes, random_state=seed % 2**32)
