"""Which labelled nodes are for training, for validation and for testing.

A split is written as ``paper``, ``public``, ``per-class:20:30`` or ``random:0.1:0.1`` (training and validation; the
rest is for testing), each optionally after ``inductive:``; ``inductive`` alone is ``inductive:paper``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..errors import SignnapError
from ..graph import Graph
from .catalog import DATASETS
from .load import load_graph
from .split_names import parse_split

_PAPER_SEED = 42
_PAPER_PER_CLASS = (20, 30)
_PAPER_INDUCTIVE = (20_000, 5_000)
_PER_CLASS = re.compile(r"per-class:([0-9]{1,9}):([0-9]{1,9})")
_RANDOM = re.compile(r"random:(0?\.[0-9]{1,9}):(0?\.[0-9]{1,9})")
_GRAMMAR = (
    "expected paper, public, per-class:TRAIN:VAL (nodes of each class, such as per-class:20:30) or random:TRAIN:VAL "
    "(shares below 1 in sum, such as random:0.1:0.1), optionally after inductive:"
)

Parts = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class Split:
    """Node rows for training, validation and testing, disjoint and all labelled."""

    train: Tensor
    val: Tensor
    test: Tensor
    name: str
    inductive: bool = False

    def training_graph(self, graph: Any) -> Graph:
        """What a method may see while it trains: inductively, nothing but the training nodes (spec §1).

        Rows of that graph follow ``train``; every other node and all its edges are gone.
        """
        graph = load_graph(graph)
        return graph.subgraph(self.train) if self.inductive else graph


def make_split(graph: Any, spec: str, seed: int = 0) -> Split:
    """Split a labelled graph, or whatever ``load_graph`` takes, as ``spec`` says.

    ``seed`` matters to ``per-class`` and ``random`` only.

    ``paper`` is the authors' own: the public split of the Planetoid graphs, 20,000 and 5,000 nodes of
    coauthor_physics (inductive), and 20 and 30 nodes of each class everywhere else.
    """
    graph = load_graph(graph)
    rule, inductive = parse_split(spec)
    name = f"inductive:{rule}" if inductive else rule
    labels = _labels(graph)
    parts: Parts | None
    if rule == "paper":
        parts = _paper(graph, labels)
        inductive = inductive or _setting(graph) == "inductive"
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
    """The authors' index sets, all of them functions of the labels and the seed 42 (spec §1)."""
    if graph.name in DATASETS and DATASETS[graph.name].family == "planetoid":
        return _public(graph, labels)
    if _setting(graph) == "inductive":
        return _cut(graph, labels, *_PAPER_INDUCTIVE, seed=_PAPER_SEED)
    return _per_class(graph, labels, *_PAPER_PER_CLASS, seed=_PAPER_SEED)


def _public(graph: Graph, labels: np.ndarray) -> Parts:
    """The split the data set came with, less nodes without a label."""
    given = graph.given_split or {}
    if missing := [part for part in ("train", "val", "test") if part not in given]:
        raise SignnapError(f"graph {graph.name} comes without a split of its own: it has no {missing[0]} nodes marked")
    train, val, test = (given[part].cpu().numpy() for part in ("train", "val", "test"))
    nodes, times = np.unique(np.concatenate([train, val, test]), return_counts=True)
    if (times > 1).any():
        raise SignnapError(f"the split that came with graph {graph.name} has node {nodes[times > 1][0]} twice")
    return _filled(graph, train[labels[train] >= 0], val[labels[val] >= 0], test[labels[test] >= 0])


def _drawn(graph: Graph, labels: np.ndarray, rule: str, *, seed: int) -> Parts | None:
    """Draw by one of the two rules with numbers; None where ``rule`` is neither."""
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
    """Each class shuffled and cut, then each part shuffled once more, exactly as the authors did."""
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
    """All labelled nodes shuffled and cut."""
    first, second, third = np.split(_shuffled(np.flatnonzero(labels >= 0), seed), [train, train + val])
    return _filled(graph, first, second, third)


def _filled(graph: Graph, *parts: np.ndarray) -> Parts:
    train, val, test = parts
    if not min(len(part) for part in parts):
        sizes = f"{len(train):,} training, {len(val):,} validation and {len(test):,} test nodes"
        raise SignnapError(f"the split leaves graph {graph.name} with {sizes}: expected at least one of each")
    return train, val, test


def _shuffled(nodes: np.ndarray, seed: int) -> np.ndarray:
    from sklearn.utils import shuffle

    return shuffle(nodes, random_state=seed % 2**32)
