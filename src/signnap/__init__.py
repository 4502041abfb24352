"""Node embeddings that hold still when the graph is perturbed.

Public names load on first use, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "SIGNNAP": "methods.signnap",
    "Settings": "methods.settings",
    "SignnapError": "errors",
    "Graph": "graph",
    "View": "graph",
    "load_graph": "data",
    "make_split": "data",
    "Split": "data",
    "write_embeddings": "data",
    "read_embeddings": "data",
    "DropEdge": "perturb",
    "FeatureNoise": "perturb",
    "MaskFeatures": "perturb",
    "Compose": "perturb",
    "Encoder": "contracts",
    "Objective": "contracts",
    "Perturbation": "contracts",
    "Terms": "contracts",
    "NCE": "objectives",
    "InfoNCE": "objectives",
    "score": "evaluate",
    "linear_probe": "evaluate",
    "logistic_probe": "evaluate",
    "stability": "analyze",
    "smoothness": "analyze",
    "identifiability": "analyze",
}

__all__ = [
    "NCE",
    "SIGNNAP",
    "Compose",
    "DropEdge",
    "Encoder",
    "FeatureNoise",
    "Graph",
    "InfoNCE",
    "MaskFeatures",
    "Objective",
    "Perturbation",
    "Settings",
    "SignnapError",
    "Split",
    "Terms",
    "View",
    "__version__",
    "identifiability",
    "linear_probe",
    "load_graph",
    "logistic_probe",
    "make_split",
    "read_embeddings",
    "score",
    "smoothness",
    "stability",
    "write_embeddings",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


if TYPE_CHECKING:
    from .analyze import identifiability, smoothness, stability
    from .contracts import Encoder, Objective, Perturbation, Terms
    from .data import Split, load_graph, make_split, read_embeddings, write_embeddings
    from .errors import SignnapError
    from .evaluate import linear_probe, logistic_probe, score
    from .graph import Graph, View
    from .methods.settings import Settings
    from .methods.signnap import SIGNNAP
    from .objectives import NCE, InfoNCE
    from .perturb import Compose, DropEdge, FeatureNoise, MaskFeatures
