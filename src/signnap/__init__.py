"""Node embeddings that hold still when the graph is perturbed.

Public names load on first use, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "SIGNNAP": "methods.signnap",
    "Method": "methods.base",
    "method_class": "methods",
    "load_method": "methods",
    "Settings": "methods.settings",
    "SignnapError": "errors",
    "Graph": "graph",
    "View": "graph",
    "load_graph": "data.load",
    "make_split": "data.splits",
    "Split": "data.splits",
    "write_embeddings": "data.embeddings",
    "read_embeddings": "data.embeddings",
    "DropEdge": "perturb.edges",
    "DropUnimportant": "perturb.importance",
    "FeatureNoise": "perturb.feature_noise",
    "MaskFeatures": "perturb.feature_noise",
    "Compose": "perturb.compose",
    "ConvolutionalStack": "encoders.conv",
    "Encoder": "interfaces",
    "Objective": "interfaces",
    "Perturbation": "interfaces",
    "Terms": "interfaces",
    "NCE": "objectives.nce",
    "InfoNCE": "objectives.nce",
    "AllPairs": "objectives.all_pairs",
    "BarlowTwins": "objectives.decorrelation",
    "CCA": "objectives.decorrelation",
    "score": "evaluate",
    "score_models": "evaluate.models",
    "linear_probe": "evaluate",
    "logistic_probe": "evaluate",
    "stability": "evaluate",
    "smoothness": "evaluate",
    "identifiability": "evaluate",
}

__all__ = [
    "CCA",
    "NCE",
    "SIGNNAP",
    "AllPairs",
    "BarlowTwins",
    "Compose",
    "ConvolutionalStack",
    "DropEdge",
    "DropUnimportant",
    "Encoder",
    "FeatureNoise",
    "Graph",
    "InfoNCE",
    "MaskFeatures",
    "Method",
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
    "load_method",
    "logistic_probe",
    "make_split",
    "method_class",
    "read_embeddings",
    "score",
    "score_models",
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
    from .data.embeddings import read_embeddings, write_embeddings
    from .data.load import load_graph
    from .data.splits import Split, make_split
    from .encoders.conv import ConvolutionalStack
    from .errors import SignnapError
    from .evaluate import identifiability, linear_probe, logistic_probe, score, smoothness, stability
    from .evaluate.models import score_models
    from .graph import Graph, View
    from .interfaces import Encoder, Objective, Perturbation, Terms
    from .methods import load_method, method_class
    from .methods.base import Method
    from .methods.settings import Settings
    from .methods.signnap import SIGNNAP
    from .objectives.all_pairs import AllPairs
    from .objectives.decorrelation import CCA, BarlowTwins
    from .objectives.nce import NCE, InfoNCE
    from .perturb.compose import Compose
    from .perturb.edges import DropEdge
    from .perturb.feature_noise import FeatureNoise, MaskFeatures
    from .perturb.importance import DropUnimportant
