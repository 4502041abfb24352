"""Encoders, objectives, perturbations and methods by name, one line each.

A line says where a part lives. A part is imported when it is used, so that ``signnap --help`` needs no torch, and the
training of one method does not load the others.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, TypeVar

from .errors import unknown_name

E = TypeVar("E")


@dataclass(frozen=True)
class Entry:
    """The place of a class or function: ``module:name`` below this package."""

    home: str

    def load(self) -> Any:
        """Import the class or function."""
        return _load(self.home)


@dataclass(frozen=True)
class Part(Entry):
    """An encoder, objective or perturbation, and arguments that are fixed under its name."""

    fixed: Mapping[str, Any] = field(default_factory=dict)

    def build(self, **available: Any) -> Any:
        """Call the class or function with those of the available arguments that it has parameters for."""
        kind = self.load()
        parameters = inspect.signature(kind).parameters
        takes_any = any(each.kind == each.VAR_KEYWORD for each in parameters.values())
        chosen = {name: value for name, value in available.items() if takes_any or name in parameters}
        return kind(**chosen | dict(self.fixed))


@dataclass(frozen=True)
class EncoderPart(Part):
    """An encoder, and what methods need to know about it before they build it."""

    #: whether its output consists of several heads, which a classifier averages
    multi_head: bool = False
    #: whether it is an encoder of the SIGNNAP paper, whose first weights the authors' code draws (``init``)
    of_paper: bool = False


@dataclass(frozen=True)
class MethodEntry(Entry):
    """A method, its settings, and settings that make a run small, for quick tries.

    ``settings`` names a dataclass in the module of the method, or ``module:name``.
    """

    settings: str
    quick: Mapping[str, Any] = field(default_factory=dict)

    def settings_class(self) -> Any:
        """Import the dataclass of the settings."""
        return _load(self.settings if ":" in self.settings else f"{self.home.partition(':')[0]}:{self.settings}")


class Registry(dict[str, E]):
    """Parts of one kind by name."""

    def __init__(self, kind: str, parts: Mapping[str, E]) -> None:
        super().__init__(parts)
        self.kind = kind

    def find(self, name: object) -> E:
        """The part of this name; an unknown name is an error that suggests the nearest one."""
        if not isinstance(name, str) or name not in self:
            raise unknown_name(self.kind, name, self)
        return self[name]

    def choices(self) -> str:
        """All names as a phrase for help texts: "a, b or c"."""
        *others, last = self
        return f"{', '.join(others)} or {last}" if others else last


def _load(home: str) -> Any:
    module, _, name = home.partition(":")
    return getattr(import_module(f"{__package__}.{module}"), name)


#: Built from ``in_dim``, ``dim``, ``layers``, ``dropout``, ``heads`` and ``out_dim``, as far as their constructors name
#: them. The first five are the paper's. ``gcn-original`` and ``gat-original`` follow the authors of GCN and GAT:
#: symmetric weights and no second weight for the node itself, and attention with a bias.
ENCODERS = Registry("backbone", {
    "gcn": EncoderPart("encoders.gcn:GCNStack", {"join": "plain"}, of_paper=True),
    "resgcn": EncoderPart("encoders.gcn:GCNStack", {"join": "residual"}, of_paper=True),
    "jknet": EncoderPart("encoders.gcn:GCNStack", {"join": "dense"}, of_paper=True),
    "sage": EncoderPart("encoders.sage:SAGEStack", of_paper=True),
    "gat": EncoderPart("encoders.gat:GATStack", multi_head=True, of_paper=True),
    "gcn-original": EncoderPart("encoders.conv:original_gcn"),
    "gat-original": EncoderPart("encoders.gat:GATStack", {"bias": True}, multi_head=True),
})  # fmt: skip

#: Built from ``negatives``, ``temperature``, ``momentum``, ``negatives_group`` and ``precision``, as far as their
#: constructors name them.
OBJECTIVES = Registry("objective", {
    "nce": Part("objectives.nce:NCE"),
    "infonce": Part("objectives.nce:InfoNCE"),
})  # fmt: skip

_SIGNNAP = "methods.settings:Settings"
_WALKS = {"walks": 1, "length": 8, "window": 2}
_SUBGRAPHS = {"steps": 16, "size": 8, "positions": 4}
#: In the order of the tables of methods.
METHODS = Registry("method", {
    "signnap": MethodEntry("methods.signnap:SIGNNAP", _SIGNNAP, {"dim": 32, "heads": 2, "negatives": 64}),
    "supervised": MethodEntry("methods.supervised:Supervised", "SupervisedSettings", {"dim": 32, "heads": 2}),
    "dropedge": MethodEntry("methods.supervised:DropEdgeSupervised", "DropEdgeSettings", {"dim": 32, "heads": 2}),
    "deepwalk": MethodEntry("methods.random_walks:DeepWalk", "DeepWalkSettings", _WALKS),
    "node2vec": MethodEntry("methods.random_walks:Node2Vec", "Node2VecSettings", _WALKS),
    "arwmf": MethodEntry("methods.arwmf:ARWMF", "ArwmfSettings", {"dim": 8, "window": 1, "passes": 1}),
    "dgi": MethodEntry("methods.dgi:DGI", "DgiSettings", {"dim": 32, "hidden": 32}),
    "cmv": MethodEntry("methods.mvgrl:MVGRL", "MvgrlSettings", {"dim": 32}),
    "gcc": MethodEntry("methods.gcc:GCC", "GccSettings", _SUBGRAPHS),
    "gcc-attributed": MethodEntry("methods.gcc:AttributedGCC", "AttributedGccSettings", _SUBGRAPHS),
    "grace": MethodEntry("methods.contrastive:GRACE", "GraceSettings", {"dim": 32, "hidden": 32, "projector": 16}),
    "gca": MethodEntry("methods.contrastive:GCA", "GcaSettings", {"dim": 32, "hidden": 32, "projector": 16}),
    "bgrl": MethodEntry("methods.bgrl:BGRL", "BgrlSettings", {"dim": 32, "hidden": 32}),
    "g-bt": MethodEntry("methods.contrastive:GraphBarlowTwins", "BarlowSettings", {"dim": 32, "hidden": 32}),
    "cca-ssg": MethodEntry("methods.contrastive:CCASSG", "CcaSettings"),
    "graphmae": MethodEntry("methods.graphmae:GraphMAE", "GraphmaeSettings"),
    "steady": MethodEntry("methods.steady:Steady", "SteadySettings", {"dim": 32, "rank": 16, "copies": 2}),
    "diffused-svd": MethodEntry("methods.steady:DiffusedSVD", "DiffusedSettings"),
    "raw": MethodEntry("methods.baselines:RawFeatures", "RawSettings"),
    "svd": MethodEntry("methods.baselines:FeatureSVD", "SvdSettings"),
    "propagated": MethodEntry("methods.baselines:PropagatedFeatures", "PropagatedSettings"),
    "untrained": MethodEntry("methods.baselines:Untrained", _SIGNNAP),
})  # fmt: skip
