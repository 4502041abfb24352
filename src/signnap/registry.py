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
class Part:
    """A replaceable part: its class or function as ``module:name``, and arguments that are fixed under its name."""

    home: str
    fixed: Mapping[str, Any] = field(default_factory=dict)

    def load(self) -> Any:
        """Import the class or function."""
        return load(self.home)

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


def load(home: str) -> Any:
    """Import what ``module:name`` names, a module below this package."""
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
