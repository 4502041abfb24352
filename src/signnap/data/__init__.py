"""Where graphs come from, how they are split, and where embeddings go.

Names load on first use: listing the datasets must not cost the import of an array library.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
    "write_embeddings": "export",
    "write_npz": "npz",
}

__all__ = [
    "DATASETS",
    "Split",
    "align",
    "from_networkx",
    "from_pyg",
    "from_scipy",
    "load_graph",
    "load_public",
    "make_split",
    "read_embeddings",
    "read_npz",
    "synthetic_graph",
    "write_embeddings",
    "write_npz",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOME[name]}", __name__), name)


if TYPE_CHECKING:
    from .catalog import DATASETS
    from .export import align, read_embeddings, write_embeddings
    from .load import load_graph
    from .npz import read_npz, write_npz
    from .objects import from_networkx, from_pyg, from_scipy
    from .public import load_public
    from .splits import Split, make_split
    from .synthetic import synthetic_graph
