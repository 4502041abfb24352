"""The settings that every method has, those of SIGNNAP, and the presets.

Nothing here imports torch, so that the command line reports bad settings of SIGNNAP at once. Other methods have their
settings in their own modules.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from importlib import resources
from math import inf
from pathlib import Path
from typing import Any

from ..config import build, read_toml
from ..data.splits import parse_split
from ..errors import SignnapError, unknown_name
from ..registry import ENCODERS, METHODS, OBJECTIVES
from ..train.schedules import rate_factor

PRECISIONS = ("float32", "tf32", "bf16")
#: The value of ``init`` for the first weights of the seed, each moved to the next number of its type.
NUDGED = "nudged"
#: The name that settings have for a part of the user's own.
CUSTOM = "custom"

#: Names of settings by the values that they allow. A method has some of these settings.
_WHOLE = ("dim", "hidden", "projector", "layers", "heads", "negatives", "iterations", "hops")
_POSITIVE = ("lr", "temperature", "edge_value")
_FRACTION = (
    "dropout", "drop_edge", "drop_edge_2", "mask_features", "mask_features_2", "momentum",
)  # fmt: skip
_NOT_NEGATIVE = ("weight_decay", "clip", "patience", "loop_value", "share", "seed", "whitening")


@dataclass(frozen=True)
class BaseSettings:
    """The settings of every method."""

    method: str = "signnap"
    #: width of the embedding
    dim: int = 128
    #: the graph: stored values of edges and self-loops before normalisation, and whether feature rows are normalised
    edge_value: float = 1.0
    loop_value: float = 1.0
    normalize_features: bool = True
    #: optimisation; ``precision`` is that of matrix products on a GPU (float32, tf32, bf16)
    iterations: int = 5000
    lr: float = 0.001
    #: constant, or a shape with the share of iterations that warm up: cosine:0.1, linear:0
    schedule: str = "constant"
    weight_decay: float = 0.0
    #: decay the weights directly, as AdamW does, and not through the gradient
    decoupled_decay: bool = False
    #: the largest norm of the gradient, and the number of iterations without a lower loss after which training ends
    #: with the best weights; 0 for no limit
    clip: float = 0.0
    patience: int = 0
    precision: str = "float32"
    seed: int = 0
    #: "none" trains on the whole graph; "inductive:SPLIT" removes validation and test nodes with all their edges
    split: str = "none"

    @property
    def allow_tf32(self) -> bool:
        """Whether a GPU may multiply with fewer bits than float32 has."""
        return self.precision != "float32"

    def __post_init__(self) -> None:
        self._expect(_WHOLE, lambda value: value >= 1, "a whole number of at least 1")
        self._expect(_POSITIVE, lambda value: 0 < value < inf, "a positive number")
        self._expect(_FRACTION, lambda value: 0 <= value <= 1, "a number from 0 to 1")
        self._expect(_NOT_NEGATIVE, lambda value: 0 <= value < inf, "a finite number of at least 0")
        rate_factor(self.schedule, self.iterations)
        self._expect_split()

    def _expect_split(self) -> None:
        if self.split != "none" and not parse_split(self.split)[1]:
            raise SignnapError(f"split is {self.split!r}: expected none, or inductive:SPLIT to hide the judged nodes")

    def _expect(self, names: tuple[str, ...], holds: Callable[[float], bool], what: str) -> None:
        """Raise an error if one of these settings, as far as the method has them, has another value."""
        for name in names:
            value = getattr(self, name, None)
            if value is not None and not holds(value):
                raise SignnapError(f"{name} is {value}: expected {what}")


@dataclass(frozen=True)
class Settings(BaseSettings):
    """The settings of SIGNNAP. The defaults are those of the paper for the GCN encoder."""

    backbone: str = "gcn"
    #: number of layers, dropout between layers, attention heads (gat only)
    layers: int = 2
    dropout: float = 0.5
    heads: int = 8
    #: first weights: ``seed`` draws them from ``seed``, ``nudged`` changes each of these by one rounding, and
    #: ``authors:C`` draws the weights of the authors' code for a graph with C classes
    init: str = "seed"
    #: views: share of dropped edges and how they are chosen (exact, bernoulli, undirected), share of masked feature
    #: columns, and noise on features (none, or kind:scale with the kinds gaussian, laplace and uniform)
    drop_edge: float = 0.3
    drop_law: str = "exact"
    mask_features: float = 0.0
    noise: str = "none"
    #: contrast: negatives per anchor (K), number of anchors that share a draw of negatives (1 in the paper, 0 for all),
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
        """The number of classes for which the authors' code draws the first weights; None for weights of the seed."""
        kind, _, classes = self.init.partition(":")
        if self.init in ("seed", NUDGED):
            return None
        if kind != "authors" or not classes.isdecimal() or not 0 < int(classes[:5]) < 10_000:
            raise SignnapError(
                f"init is {self.init!r}: expected seed, nudged, or authors:C with the number of classes C"
            )
        return int(classes)


def preset_names() -> list[str]:
    """The presets that ship with the package."""
    return sorted(Path(entry.name).stem for entry in _presets().iterdir() if entry.name.endswith(".toml"))


def resolve(
    changes: Mapping[str, Any], *, dataset: str | None = None, preset: str = "paper", origin: str = "the settings"
) -> BaseSettings:
    """Combine the sections of a preset for the method, its backbone and the data set; ``changes`` override all.

    >>> resolve({"backbone": "gat"}, dataset="amazon_photo").weight_decay
    0.0
    """
    if preset not in preset_names():
        raise unknown_name("preset", preset, preset_names())
    method = changes.get("method", "signnap")
    kind = METHODS.find(method).settings_class()
    _expect_settings_of(method, changes, origin)
    layers = _layers(_sections(preset), method, changes.get("backbone", "gcn"), dataset)
    settings = build(kind, {key: v for layer in (*layers, changes) for key, v in layer.items()}, origin)
    choices: dict[str, Collection[str]] = {"backbone": ENCODERS, "objective": OBJECTIVES, "precision": PRECISIONS}
    for name, known in choices.items():
        if getattr(settings, name, CUSTOM) not in (*known, CUSTOM):
            raise unknown_name(name, getattr(settings, name), known)
    return settings


def _expect_settings_of(method: str, names: Iterable[str], origin: str) -> None:
    """Raise an error for a setting that only other methods have: it is not a misspelt name."""
    known = _names_of(method)
    for name in names:
        if name not in known and any(name in _names_of(other) for other in METHODS):
            raise SignnapError(
                f"{origin}: unknown setting {name!r}: {method} has no such setting. Known: {', '.join(sorted(known))}"
            )


def _names_of(method: str) -> list[str]:
    return [field.name for field in fields(METHODS[method].settings_class())]


def _layers(sections: dict[str, Any], method: str, backbone: Any, dataset: str | None) -> list[dict[str, Any]]:
    """The values of a preset, from the general to the particular.

    All methods share how a graph is stored. A method ``like`` another one starts from all values of that method.
    """
    layers = [{"method": method}, sections["graph"].get(dataset, {})]
    chain = [method]
    while like := sections["method"].get(chain[0], {}).get("like"):
        chain.insert(0, like)
    for name in chain:
        own = sections["method"].get(name, {})
        layers.append({key: value for key, value in own.items() if key not in ("like", "backbone", "dataset")})
        layers.append(own.get("backbone", {}).get(str(backbone), {}))
        layers.append(own.get("dataset", {}).get(dataset, {}))
    return layers


def probe_weight_decay(dataset: str) -> float:
    """The weight decay of the authors' linear probe on a data set."""
    probe = _sections("paper")["probe"]
    return float(probe["dataset"].get(dataset, probe)["weight_decay"])


@cache
def _sections(preset: str) -> dict[str, Any]:
    """The content of a preset. It is read once, because nobody changes the file or the returned values."""
    return read_toml(str(_presets() / f"{preset}.toml"))


def _presets() -> Any:
    return resources.files(__package__) / "presets"
