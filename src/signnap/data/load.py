"""One call for every kind of graph: a benchmark's name, a file, or an object of another library."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import SignnapError, unknown_name
from ..graph import Graph
from .catalog import DATASETS
from .files import graph_from_files
from .objects import from_networkx, from_pyg, from_scipy
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
    """Load a graph from wherever it is.

    ``source`` is the name of a benchmark, "synthetic", the path of an edge list (.csv, .tsv, .txt, .parquet; with a
    node table in ``nodes``) or of an .npz archive, a PyG ``Data``, a NetworkX graph, or a pair of a scipy adjacency
    and a feature matrix. A Graph is returned as it is. The other arguments name columns of the tables; those for
    labels, split, features and categories also name node attributes of a NetworkX graph. Without ``feature_columns``
    its features are the vectors in "x" (or "feat", "features"), else all numeric attributes; a note names the others.

    ``split_column`` holds train, val or test and is what the split ``public`` reads. ``categorical_columns`` are
    features that become one 0/1 column per value, even if they look like numbers. ``trained_on`` are the feature names
    of a trained model (``model.facts_["feature_names"]``): what was a category or a number then is one again, however
    few nodes there are.
    """
    about_nodes = _checked(label_column=label_column, split_column=split_column,
                           feature_columns=feature_columns, categorical_columns=categorical_columns)  # fmt: skip
    about_files = {"nodes": nodes} | _checked(
        source_column=source_column, target_column=target_column, id_column=id_column, trained_on=trained_on
    )
    if isinstance(source, (str, Path)) and _is_table(source):
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


def _is_table(source: str | Path) -> bool:
    return Path(source).suffix.lower() in TABLE_SUFFIXES


def _is_instance(source: Any, module: str, name: str) -> bool:
    """Whether ``source`` belongs to a library; it cannot if nobody has imported that library."""
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(source, getattr(loaded, name))


def _expect_path(nodes: Any) -> None:
    if nodes is not None and not isinstance(nodes, (str, Path)):
        expected = f"the path of a table in {', '.join(TABLE_SUFFIXES)}"
        raise SignnapError(f"nodes is a {type(nodes).__name__}: expected {expected}, so write it to one")


def _checked(**options: Any) -> dict[str, Any]:
    """Names of columns, each of them text: one where the option is called a column, else a list."""
    for option, value in options.items():
        if value is not None:
            options[option] = (_name if option.endswith("_column") else _names)(option, value)
    return options


def _name(option: str, value: Any) -> str:
    if not isinstance(value, str):
        raise SignnapError(f"{option} is a {type(value).__name__}: expected the name of a column")
    return value


def _names(option: str, value: Any) -> list[str]:
    """A list, even of a single name that came as it is."""
    try:
        names = [value] if isinstance(value, str) else list(value)
    except TypeError as error:
        raise SignnapError(f"{option} is a {type(value).__name__}: expected a list of names of columns") from error
    for name in names:
        if not isinstance(name, str):
            raise SignnapError(f"{option} holds a {type(name).__name__}: expected a list of names of columns")
    return names


def _refuse(source: Any, options: dict[str, Any], partner: str) -> None:
    """Refuse options that only go with their ``partner``."""
    for option, value in options.items():
        if value is not None:
            what = str(source) if isinstance(source, (str, Path)) else f"a {type(source).__name__}"
            raise SignnapError(f"{option} only goes with {partner} in {', '.join(TABLE_SUFFIXES)}, not with {what}")


def _load_named(source: str | Path) -> Graph:
    """Load what is not a table: a name, or else an archive."""
    name = str(source)
    if name in DATASETS:
        from .public import load_public

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

        return read_npz(name)
    raise SignnapError(f"{name} ends in {suffix!r}: expected one of {', '.join(_SUFFIXES)}")
