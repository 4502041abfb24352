"""What the paper compares and the numbers it reports: data, with their source, in ``paper.json``.

Why ours differ from them is written down in ``explained.toml``.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import Any

from signnap.config import read_toml

from .cells import Cell

#: The row of ours that the paper's figures and claims are about …
OURS = "SIGNNAP(GCN)"
#: … and those that it is drawn beside, itself the last.
COMPARED = ("GCN", "DropEdge(GCN)", "DGI", OURS)
#: The columns of the paper's tables.
GRAPHS = ("pubmed", "facebook", "coauthor_cs", "amazon_computers", "amazon_photo", "coauthor_physics")

_BACKBONES = {"GCN": "gcn", "ResGCN": "resgcn", "JKNet": "jknet", "GraphSage": "sage", "GAT": "gat"}
#: The rows of the paper's main table, in its order: a name, the method and its settings.
ROWS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: ("supervised", {"backbone": backbone}) for name, backbone in _BACKBONES.items()},
    **{f"DropEdge({name})": ("dropedge", {"backbone": backbone}) for name, backbone in _BACKBONES.items()},
    "DeepWalk": ("deepwalk", {}),
    "Node2Vec": ("node2vec", {}),
    "ARWMF": ("arwmf", {}),
    "DGI": ("dgi", {}),
    "CMV": ("cmv", {}),
    "GCC": ("gcc", {}),
    "GCC, with features": ("gcc-attributed", {}),
    "GRACE": ("grace", {"precision": "tf32"}),
    "BGRL": ("bgrl", {}),
    "G-BT": ("g-bt", {}),
    "GCA": ("gca", {"precision": "tf32"}),
    **{
        f"SIGNNAP({name})": ("signnap", {"backbone": _BACKBONES[name], "precision": "tf32"})
        for name in ("JKNet", "GAT", "ResGCN", "GCN", "GraphSage")
    },
}


@cache
def reported() -> dict[str, Any]:
    """The paper's numbers by table and figure."""
    return json.loads((resources.files(__package__) / "paper.json").read_text(encoding="utf-8"))


def reported_as(name: str) -> str:
    """What the paper calls a row: it does not say which GCC it ran, so that both of ours stand beside its one."""
    return name.split(",", maxsplit=1)[0]


@cache
def explanations() -> dict[str, dict[str, str]]:
    """Why ours differs or the paper's is no target: sentences by kind, and then by method and graph or by method."""
    return read_toml(str(resources.files(__package__) / "explained.toml"))


def explained(kind: str, name: str, graph: str) -> str | None:
    """The sentence about a cell or, if there is none, about its method on all graphs."""
    texts = explanations()[kind]
    return texts.get(f"{name} on {graph}", texts.get(name))


def cell(name: str, graph: str, looks: tuple[str, ...] = (), **changes: Any) -> Cell:
    """A row of the paper on a graph, with changes to its settings, judged as the paper judges it.

    SIGNNAP is read by its authors' probe, on dropped graphs for GraphSAGE and GAT (spec §2.6); DGI by the one that the
    paper gives it (spec §4.4); everything else, about which the paper is silent, by a linear layer without dropout.
    """
    method, settings = ROWS[name]
    probes = {"signnap": "linear", "dgi": "linear-dgi", "supervised": "none", "dropedge": "none"}
    return Cell(
        method, graph, settings | changes, probe=probes.get(method, "linear-plain"), looks=looks,
        dropped=method == "signnap" and settings["backbone"] in ("sage", "gat"),
    )  # fmt: skip


def read_alike(name: str, graph: str) -> Cell:
    """The same encoders, read as those of every other method: by logistic regression on rows of length one."""
    return replace(cell(name, graph), probe="logistic", probe_seeds=1, dropped=False)
