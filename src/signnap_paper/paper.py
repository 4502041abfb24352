"""What the paper compares and the numbers it reports.

``paper.json`` holds the paper's numbers with their source, ``explained.toml`` the reasons why ours differ from them.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import Any

from signnap.config import read_toml

from .cells import Cell

#: Our row that the paper's figures and claims are about.
OURS = "SIGNNAP(GCN)"
#: The rows that the paper's figures compare.
COMPARED = ("GCN", "DropEdge(GCN)", "DGI", OURS)
#: The columns of the paper's tables.
GRAPHS = ("pubmed", "facebook", "coauthor_cs", "amazon_computers", "amazon_photo", "coauthor_physics")

_BACKBONES = {"GCN": "gcn", "ResGCN": "resgcn", "JKNet": "jknet", "GraphSage": "sage", "GAT": "gat"}
#: The rows of the paper's main table in its order: the method of a row and its settings, by the row's name.
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
#: The probe of a method. The paper names those of SIGNNAP and DGI; for all others it is a linear layer without dropout.
#: Networks with labels are their own classifiers and have none.
_PROBES = {"signnap": "linear", "dgi": "linear-dgi", "supervised": "none", "dropedge": "none"}
#: The rows of SIGNNAP, one for each backbone.
SIGNNAP_ROWS = [name for name in ROWS if name.startswith("SIGNNAP")]
#: The rows whose methods see no label; the table ranks these.
UNLABELLED = [name for name, (method, _) in ROWS.items() if _PROBES.get(method) != "none"]


@cache
def reported() -> dict[str, Any]:
    """Return the paper's numbers by table and figure."""
    return json.loads((resources.files(__package__) / "paper.json").read_text(encoding="utf-8"))


def reported_as(name: str) -> str:
    """Return the paper's name of a row: it has one GCC and does not say which, so both of ours stand beside it."""
    return name.split(",", maxsplit=1)[0]


@cache
def explanations() -> dict[str, dict[str, str]]:
    """Return the sentences that explain a difference, or why a number of the paper is no target.

    They are grouped by kind; the keys are a method on a graph, or a method.
    """
    return read_toml(str(resources.files(__package__) / "explained.toml"))


def explained(kind: str, name: str, graph: str) -> str | None:
    """Return the sentence about a cell or, if there is none, about its method on all graphs."""
    texts = explanations()[kind]
    return texts.get(f"{name} on {graph}", texts.get(name))


def cell(name: str, graph: str, looks: tuple[str, ...] = (), **changes: Any) -> Cell:
    """Return the cell of a row on a graph, with changes to its settings, judged as the paper judges it.

    The probe of SIGNNAP is trained on dropped graphs for GraphSAGE and GAT.
    """
    method, settings = ROWS[name]
    return Cell(
        method, graph, settings | changes, probe=_PROBES.get(method, "linear-plain"), looks=looks,
        dropped=method == "signnap" and settings["backbone"] in ("sage", "gat"),
    )  # fmt: skip


def same_probe_cell(name: str, graph: str) -> Cell:
    """Return the cell with the same probe for all methods: logistic regression on rows of length one."""
    return replace(cell(name, graph), probe="logistic", probe_seeds=1, dropped=False)
