"""Where graphs come from, how they are split, and where embeddings go.

Names load on first use: listing the datasets must not cost the import of an array library.
"""

from importlib import import_module
from typing import Any

_HOME = {
    "DATASETS": "catalog",
    "Split": "splits",
    "align": "export",
    "from_networkx": "objects",
    "from_pyg": "objects",
    "from_scipy": "objects",
    "load_graph": "load",
    "load_public": "public",
    "make_split": "splits",
    "read_embeddings": "export",
    "read_npz": "npz",
    "synthetic_graph": "synthetic",
    "to_pyg": "objects",
    "write_embeddings": "export",
    "write_npz": "npz",
}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOME[name]}", __name__), name)
