"""The settings of SIGNNAP, those of any method by its name, and the presets they start from. Nothing needs torch."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from ..config import build, read_toml
from ..errors import SignnapError, unknown_name
from ..registry import ENCODERS, OBJECTIVES
from .baseline_settings import (
    ArwmfSettings,
    BarlowSettings,
    BgrlSettings,
    CcaSettings,
    DgiSettings,
    DropEdgeSettings,
    FixedSettings,
    GcaSettings,
    GraceSettings,
    GraphmaeSettings,
    MvgrlSettings,
    PropagatedSettings,
    SupervisedSettings,
    SvdSettings,
)
from .basics import Basics
from .gcc_settings import AttributedGccSettings, GccSettings
from .walk_settings import DeepWalkSettings, Node2VecSettings

PRECISIONS = ("float32", "tf32", "bf16")
#: First weights of the seed, each moved to the next number that its type has.
NUDGED = "nudged"


@dataclass(frozen=True)
class Settings(Basics):
    """Everything that decides a SIGNNAP run. The defaults are the paper's, for the GCN backbone."""

    backbone: str = "gcn"
    #: number of layers, dropout between layers; attention heads (gat only)
    layers: int = 2
    dropout: float = 0.5
    heads: int = 8
    #: its first weights: those of the seed (nudged: but for a rounding), or authors:C, which the authors' code draws on
    #: a graph with C classes
    init: str = "seed"
    #: views: share and law of dropped edges (exact, bernoulli, undirected), share of masked feature columns,
    #: and noise on features ("none" or kind:scale with kind gaussian, laplace or uniform)
    drop_edge: float = 0.3
    drop_law: str = "exact"
    mask_features: float = 0.0
    noise: str = "none"
    #: contrast: negatives per anchor (K), anchors that share a draw of them (1 = the paper, 0 = all),
    #: temperature, momentum of the memory bank
    objective: str = "nce"
    negatives: int = 1024
    share: int = 512
    temperature: float = 0.1
    momentum: float = 0.5
    weight_decay: float = 0.005

    def __post_init__(self) -> None:
        super().__post_init__()
        known = sorted(name for name, part in ENCODERS.items() if part.of_paper)
        if self.authors_classes is not None and (self.backbone not in known or self.layers < 2):
            found = f"{self.backbone} with {self.layers} layers"
            raise SignnapError(f"init is {self.init} for {found}: expected {', '.join(known)}, of at least 2 layers")

    @property
    def authors_classes(self) -> int | None:
        """For how many classes the authors' code draws the first weights; None if they are the seed's."""
        kind, _, classes = self.init.partition(":")
        if self.init in ("seed", NUDGED):
            return None
        if kind != "authors" or not classes.isdecimal() or not 0 < int(classes[:5]) < 10_000:
            raise SignnapError(
                f"init is {self.init!r}: expected seed, nudged, or authors:C with the number of classes C"
            )
        return int(classes)


#: Every method by its name, with the kind of its settings.
METHODS: dict[str, type[Basics]] = {
    "signnap": Settings,
    "supervised": SupervisedSettings,
    "dropedge": DropEdgeSettings,
    "deepwalk": DeepWalkSettings,
    "node2vec": Node2VecSettings,
    "arwmf": ArwmfSettings,
    "dgi": DgiSettings,
    "cmv": MvgrlSettings,
    "gcc": GccSettings,
    "gcc-attributed": AttributedGccSettings,
    "grace": GraceSettings,
    "gca": GcaSettings,
    "bgrl": BgrlSettings,
    "g-bt": BarlowSettings,
    "cca-ssg": CcaSettings,
    "graphmae": GraphmaeSettings,
    "raw": FixedSettings,
    "svd": SvdSettings,
    "propagated": PropagatedSettings,
    "untrained": Settings,
}


def preset_names() -> list[str]:
    """The presets that ship with the package."""
    return sorted(Path(entry.name).stem for entry in _presets().iterdir() if entry.name.endswith(".toml"))


def resolve(
    changes: Mapping[str, Any], *, dataset: str | None = None, preset: str = "paper", origin: str = "the settings"
) -> Basics:
    """Layer a preset's sections for the method, its backbone and the data set, then the user's own changes on top.

    >>> resolve({"backbone": "gat"}, dataset="amazon_photo").weight_decay
    0.0
    """
    if preset not in preset_names():
        raise unknown_name("preset", preset, preset_names())
    method = changes.get("method", "signnap")
    if method not in list(METHODS):  # a list compares with anything that a file may say
        raise unknown_name("method", method, METHODS)
    _expect_settings_of(method, changes, origin)
    layers = _layers(_sections(preset), method, changes.get("backbone", "gcn"), dataset)
    settings = build(METHODS[method], {key: v for layer in (*layers, changes) for key, v in layer.items()}, origin)
    choices: dict[str, Collection[str]] = {"backbone": ENCODERS, "objective": OBJECTIVES, "precision": PRECISIONS}
    for kind, known in choices.items():
        if getattr(settings, kind, "custom") not in (*known, "custom"):
            raise unknown_name(kind, getattr(settings, kind), known)
    return settings


def _expect_settings_of(method: str, names: Iterable[str], origin: str) -> None:
    """Refuse settings that only other methods have: those are not misspelt, as others may be."""
    known = {name: [field.name for field in fields(kind)] for name, kind in METHODS.items()}
    for name in names:
        if name not in known[method] and any(name in others for others in known.values()):
            raise SignnapError(
                f"{origin}: unknown setting {name!r}: {method} has no such setting. "
                f"Known: {', '.join(sorted(known[method]))}"
            )


def _layers(sections: dict[str, Any], method: str, backbone: Any, dataset: str | None) -> list[dict[str, Any]]:
    """What a preset says, from the general to the particular: a method ``like`` another begins with all that is said of
    that one. How a graph is stored, all methods share.
    """
    layers = [{"method": method}, sections["graph"].get(dataset, {})]
    chain = ["signnap" if METHODS[method] is Settings else method]
    while like := sections["method"].get(chain[0], {}).get("like"):
        chain.insert(0, like)
    for name in chain:
        own = sections["method"].get(name, {})
        layers.append({key: value for key, value in own.items() if key not in ("like", "backbone", "dataset")})
        layers.append(own.get("backbone", {}).get(str(backbone), {}))
        layers.append(own.get("dataset", {}).get(dataset, {}))
    return layers


def probe_weight_decay(dataset: str) -> float:
    """The weight decay the authors give the linear probe on a data set (spec §2.6)."""
    probe = _sections("paper")["probe"]
    return float(probe["dataset"].get(dataset, probe)["weight_decay"])


@cache
def _sections(preset: str) -> dict[str, Any]:
    """What a preset says. It is read once, as nobody changes what ships with the package, nor what is returned here."""
    return read_toml(str(_presets() / f"{preset}.toml"))


def _presets() -> Any:
    return resources.files(__package__) / "presets"
