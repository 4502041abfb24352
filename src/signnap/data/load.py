"""One call for every kind of graph: the name of a public data set, a file, or an object of another library."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import SignnapError, unknown_name
from ..graph import Graph
from .assemble import assemble
from .edge_list import graph_from_files
from .objects import from_networkx, from_pyg, from_scipy
from .public import DATASETS, load_public
from .tables import TABLE_SUFFIXES, check_file

_SYNTHETIC = "synthetic"
_SUFFIXES = (*TABLE_SUFFIXES, ".npz")


def load_graph(
    source: Any,
    *,
    nodes: str | Path | None = None,
    source_column: str | None = None,
    target_column: str | None = None,
    id_column: str | None = None,
    label_column: str | None = None,
    split_column: str | None = None,
    feature_columns: Sequence[str] | None = None,
    categorical_columns: Sequence[str] | None = None,
    trained_on: Sequence[str] | None = None,
) -> Graph:
    """Load a graph by name, from files, or from an object of another library.

    ``source`` is one of these:

    - the name of a public data set, or "synthetic" for the generated graph;
    - the path of an edge list (.csv, .tsv, .txt, .parquet), with a node table in ``nodes``;
    - the path of an .npz archive;
    - a PyG ``Data``, a NetworkX graph, or a pair of a scipy adjacency and a feature matrix;
    - a Graph, which is returned as it is.

    The other arguments name columns of the tables. ``label_column``, ``split_column``, ``feature_columns`` and
    ``categorical_columns`` also name node attributes of a NetworkX graph. Without ``feature_columns``, its features are
    the vectors in "x" (or "feat", "features"), else all numeric attributes; a note names the ignored attributes.

    ``split_column`` holds train, val or test; the split ``public`` reads it. ``categorical_columns`` become one 0/1
    feature per value, even if their cells look like numbers. ``trained_on`` are the feature names of a trained model
    (``model.info_.feature_names``): a column that was a category or a number in training is one again, however few
    nodes the table has.
    """
    about_nodes = _checked(label_column=label_column, split_column=split_column,
                           feature_columns=feature_columns, categorical_columns=categorical_columns)  # fmt: skip
    about_files = {"nodes": nodes} | _checked(
        source_column=source_column, target_column=target_column, id_column=id_column, trained_on=trained_on
    )
    if isinstance(source, (str, Path)) and Path(source).suffix.lower() in TABLE_SUFFIXES:
        _expect_path(nodes)
        return graph_from_files(source, **about_files, **about_nodes)
    _refuse(source, about_files, "an edge list")
    if _is_instance(source, "networkx", "Graph"):
        return from_networkx(source, **about_nodes)
    _refuse(source, about_nodes, "a NetworkX graph or an edge list")
    if isinstance(source, Graph):
        return source
    if isinstance(source, (str, Path)):
        return _load_named(source)
    if isinstance(source, (tuple, list)) and len(source) == 2:
        return from_scipy(*source)
    if _is_instance(source, "torch_geometric.data.data", "BaseData"):
        return from_pyg(source)
    expected = "a name, a path, a Graph, a PyG Data, a NetworkX graph, or a pair (scipy adjacency, features)"
    raise SignnapError(f"cannot read a graph from a {type(source).__name__}: expected {expected}")


def _is_instance(source: Any, module: str, name: str) -> bool:
    """Whether ``source`` is an instance of a library's class, without importing the library.

    If nobody has imported the library, the source cannot be such an instance.
    """
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(source, getattr(loaded, name))


def _expect_path(nodes: Any) -> None:
    if nodes is not None and not isinstance(nodes, (str, Path)):
        expected = f"the path of a table in {', '.join(TABLE_SUFFIXES)}"
        raise SignnapError(f"nodes is a {type(nodes).__name__}: expected {expected}, so write it to one")


def _checked(**options: Any) -> dict[str, Any]:
    """Check that column names are text: one name for an option that ends in "_column", else a list of names."""
    for option, value in options.items():
        if value is not None:
            options[option] = (_name if option.endswith("_column") else _names)(option, value)
    return options


def _name(option: str, value: Any) -> str:
    if not isinstance(value, str):
        raise SignnapError(f"{option} is a {type(value).__name__}: expected the name of a column")
    return value


def _names(option: str, value: Any) -> list[str]:
    """A list of names; a single name becomes a list of one."""
    try:
        names = [value] if isinstance(value, str) else list(value)
    except TypeError as error:
        raise SignnapError(f"{option} is a {type(value).__name__}: expected a list of names of columns") from error
    for name in names:
        if not isinstance(name, str):
            raise SignnapError(f"{option} holds a {type(name).__name__}: expected a list of names of columns")
    return names


def _refuse(source: Any, options: dict[str, Any], partner: str) -> None:
    """Refuse options that apply only to a ``partner`` of another kind than ``source``."""
    for option, value in options.items():
        if value is not None:
            what = str(source) if isinstance(source, (str, Path)) else f"a {type(source).__name__}"
            raise SignnapError(f"{option} only goes with {partner} in {', '.join(TABLE_SUFFIXES)}, not with {what}")


def _load_named(source: str | Path) -> Graph:
    """Load a data set by its name, or an archive by its path."""
    name = str(source)
    if name in DATASETS:
        return load_public(name)
    if name == _SYNTHETIC:
        from .synthetic import synthetic_graph

        return synthetic_graph()
    suffix = Path(name).suffix.lower()
    if suffix not in _SUFFIXES and os.path.basename(name) == name and not os.path.exists(name):
        unknown = unknown_name("dataset", name, [*DATASETS, _SYNTHETIC])
        raise SignnapError(f"{unknown} (there is no file {name!r} either)")
    check_file(name)
    if suffix == ".npz":
        from .npz import read_npz

        return read_npz(name, assemble)
    raise SignnapError(f"{name} ends in {suffix!r}: expected one of {', '.join(_SUFFIXES)}")
