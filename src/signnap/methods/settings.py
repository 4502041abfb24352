"""The settings of SIGNNAP, and the named presets they start from. Nothing here needs torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from ..config import build, read_toml
from ..errors import SignnapError, unknown_name

#: What ``--backbone`` and ``--objective`` accept; the registries themselves need torch (a test compares them).
BACKBONES = ("gat", "gcn", "jknet", "resgcn", "sage")
OBJECTIVES = ("infonce", "nce")
METHODS = ("signnap",)
PRECISIONS = ("float32", "tf32", "bf16")


@dataclass(frozen=True)
class Settings:
    """Everything that decides a SIGNNAP run. The defaults are the paper's, for the GCN backbone."""

    method: str = "signnap"
    backbone: str = "gcn"
    #: embedding width, number of layers, dropout between layers; attention heads (gat only)
    dim: int = 128
    layers: int = 2
    dropout: float = 0.5
    heads: int = 8
    #: views: share and law of dropped edges (exact, bernoulli, undirected), share of masked feature columns,
    #: and noise on features ("none" or kind:scale with kind gaussian, laplace or uniform)
    drop_edge: float = 0.3
    drop_law: str = "exact"
    mask_features: float = 0.0
    noise: str = "none"
    #: contrast: negatives per anchor (K), anchors that share a draw of them (1 = the paper, 0 = all),
    #: temperature, momentum of the memory bank, and how coarse a GPU may multiply (float32, tf32, bf16)
    objective: str = "nce"
    negatives: int = 1024
    share: int = 512
    temperature: float = 0.1
    momentum: float = 0.5
    precision: str = "float32"
    #: the adjacency as stored before normalisation adds the identity (spec §1), and row-normalised features
    edge_value: float = 1.0
    loop_value: float = 1.0
    normalize_features: bool = True
    #: optimisation
    iterations: int = 5000
    lr: float = 0.001
    weight_decay: float = 0.005
    seed: int = 0
    #: "none" trains on the whole graph; "inductive:…" hides validation and test nodes with all their edges
    split: str = "none"

    def __post_init__(self) -> None:
        for name in ("dim", "layers", "heads", "negatives", "iterations"):
            value = getattr(self, name)
            if value < 1:
                raise SignnapError(f"{name} is {value}: expected a whole number of at least 1")
        for name in ("lr", "temperature", "edge_value"):
            value = getattr(self, name)
            if not 0 < value < float("inf"):
                raise SignnapError(f"{name} is {value}: expected a positive number")
        for name in ("dropout", "drop_edge", "mask_features", "momentum"):
            value = getattr(self, name)
            if not 0 <= value <= 1:
                raise SignnapError(f"{name} is {value}: expected a number from 0 to 1")
        for name in ("weight_decay", "loop_value", "share", "seed"):
            value = getattr(self, name)
            if not 0 <= value < float("inf"):
                raise SignnapError(f"{name} is {value}: expected a finite number of at least 0")
        if self.split not in ("none", "inductive") and not self.split.startswith("inductive:"):
            raise SignnapError(f"split is {self.split!r}: expected none, or inductive:SPLIT to hide the judged nodes")


def preset_names() -> list[str]:
    """The presets that ship with the package."""
    return sorted(Path(entry.name).stem for entry in _presets().iterdir() if entry.name.endswith(".toml"))


def resolve(
    changes: Mapping[str, Any], *, dataset: str | None = None, preset: str = "paper", origin: str = "the settings"
) -> Settings:
    """Layer a preset's common, backbone and data-set sections, then the user's own changes on top.

    >>> resolve({"backbone": "gat"}, dataset="amazon_photo").weight_decay
    0.0
    """
    if preset not in preset_names():
        raise unknown_name("preset", preset, preset_names())
    sections = read_toml(str(_presets() / f"{preset}.toml"))
    backbone = changes.get("backbone", sections["common"].get("backbone", Settings.backbone))
    layers = [sections["common"], sections["backbone"].get(str(backbone), {}), sections["dataset"].get(dataset, {})]
    settings = build(Settings, {key: value for layer in (*layers, changes) for key, value in layer.items()}, origin)
    names = {"method": METHODS, "backbone": BACKBONES, "objective": OBJECTIVES, "precision": PRECISIONS}
    for kind, known in names.items():
        if getattr(settings, kind) not in (*known, "custom"):
            raise unknown_name(kind, getattr(settings, kind), known)
    return settings


def probe_weight_decay(dataset: str, preset: str = "paper") -> float:
    """The weight decay the authors give the linear probe on a data set (spec §2.6)."""
    probe = read_toml(str(_presets() / f"{preset}.toml"))["probe"]
    return float(probe["dataset"].get(dataset, probe)["weight_decay"])


def _presets() -> Any:
    return resources.files(__package__) / "presets"
