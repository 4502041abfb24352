"""SIGNNAP: two perturbed views, one encoder, one contrast against a memory bank."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from pathlib import Path
from types import NoneType
from typing import Any, ClassVar

from torch import nn

from .. import rng
from ..encoders.init import nudge, redraw
from ..encoders.wrap import build_encoder
from ..errors import SignnapError
from ..graph import Graph, View
from ..interfaces import Encoder, Objective, Perturbation
from ..perturb.compose import build_perturbation
from ..registry import OBJECTIVES
from ..train.run_folder import RunFolder
from .base import Method, Sizes
from .settings import CUSTOM, NUDGED, Settings
from .two_views import TwoViews

_AN = {"backbone": "an encoder", "objective": "an objective", "perturbation": "a perturbation"}


class SIGNNAP(Method):
    """Contrasts two views of the graph that lost edges, so that embeddings stay the same when edges are missing.

    Each field of ``Settings`` is a keyword. A keyword that is not given (None) takes the preset's value for the
    backbone and, on a public graph, for the graph. ``backbone`` is a name, an ``nn.Module`` that takes
    ``(x, edge_index)`` (each seed starts from its weights), or a function that makes such a module for a number of
    features (each seed draws its own weights). ``objective`` and ``perturbation`` are objects.

    >>> from signnap import SIGNNAP, load_graph
    >>> graph = load_graph("synthetic")
    >>> model = SIGNNAP(dim=16, iterations=5, negatives=32).fit(graph)
    >>> model.transform(graph).shape
    (3000, 16)
    """

    name = "signnap"
    own_parts: ClassVar[dict[str, tuple[str, ...]]] = {
        "backbone": ("dim", "layers", "dropout", "heads"),
        "objective": ("negatives", "share", "temperature", "momentum"),
        "perturbation": ("drop_edge", "drop_law", "mask_features", "noise"),
    }

    def __init__(
        self,
        backbone: str | nn.Module | Callable[[int], nn.Module] = "gcn",
        *,
        objective: str | Objective | None = None,
        perturbation: Perturbation | None = None,
        preset: str = "paper",
        **settings: Any,
    ) -> None:
        parts = {"backbone": backbone, "objective": objective, "perturbation": perturbation}
        super().__init__(**parts, preset=preset, **settings)

    def _plain_params(self) -> dict[str, Any]:
        """A part of your own is called "custom" in the settings."""
        plain = super()._plain_params()
        fits = {"backbone": callable(plain["backbone"]), "objective": isinstance(plain["objective"], Objective)}
        for name, what in {"backbone": "a Module", "objective": "an Objective"}.items():
            if fits[name]:
                plain[name] = CUSTOM
            elif not isinstance(plain[name], (str, NoneType)):
                raise SignnapError(f"{name} is {plain[name]!r}: expected a name, or {what} of your own")
        return plain

    def own(self, sizes: Sizes) -> dict[str, Any]:
        """Backbone, objective and perturbation where they are no names."""
        own = {name: part for name in self.own_parts if not isinstance(part := self._params[name], (str, NoneType))}
        if "backbone" in own:
            with rng.as_default(rng.generator(0, "init")):
                own["backbone"] = self._own_encoder(sizes)
        return own

    def _given(self, name: str) -> Any:
        """A part as it was given; of a loaded model only its name may be known."""
        if isinstance(part := self._params[name], str) and part == CUSTOM:
            raise SignnapError(f"this model had {_AN[name]} of your own: pass it as {name} to train again")
        return part

    def _own_encoder(self, sizes: Sizes) -> nn.Module:
        given = self._given("backbone")
        if isinstance(given, nn.Module):
            return copy.deepcopy(given)
        if not isinstance(made := given(sizes.num_features), nn.Module):
            raise SignnapError(
                f"the backbone made a {type(made).__name__} for {sizes.num_features} features: expected a Module"
            )
        return made

    def build_encoder(self, settings: Settings, sizes: Sizes) -> Encoder:
        """The backbone that the settings name, a copy of the one that was given, or what makes one makes."""
        encoder = build_encoder(
            self._own_encoder(sizes) if settings.backbone == CUSTOM else settings.backbone,
            in_dim=sizes.num_features, dim=settings.dim, layers=settings.layers, dropout=settings.dropout,
            heads=settings.heads,
        )  # fmt: skip
        if settings.authors_classes is not None:
            redraw(encoder, settings.authors_classes)
        if settings.init == NUDGED:
            nudge(encoder)
        return encoder

    def build_task(self, settings: Settings, graph: Graph, view: View, encoder: Encoder) -> TwoViews:
        """The paper's two views (Eq. 2) and its objective (Eq. 6)."""
        if settings.objective == CUSTOM:
            objective = copy.deepcopy(self._given("objective"))
        else:
            objective = OBJECTIVES.find(settings.objective).build(
                negatives=settings.negatives, temperature=settings.temperature, momentum=settings.momentum,
                negatives_group=settings.share, precision=settings.precision,
            )  # fmt: skip
        if (perturbation := self._given("perturbation")) is None:
            perturbation = build_perturbation(
                settings.drop_edge, settings.drop_law, settings.mask_features, settings.noise
            )
        if not callable(perturbation):
            raise SignnapError(f"the perturbation is {perturbation!r}: expected a function of a view and a generator")
        return TwoViews(view, encoder, objective, (perturbation, perturbation), settings.seed, settings.allow_tf32)

    @classmethod
    def load(cls, path: str | Path, backbone: Any = None, **parts: Any) -> SIGNNAP:
        """Read a run folder or a saved model.

        One with an encoder of your own needs that again, as ``backbone``; your own ``objective`` and ``perturbation``
        are needed only to train on.
        """
        return super().load(path, backbone=backbone, **parts)

    @classmethod
    def from_run(cls, folder: RunFolder, config: Mapping[str, Any], backbone: Any = None, **parts: Any) -> SIGNNAP:
        """Build the fitted model of a run folder, whose ``config`` was read before. Options as for ``load``."""
        known = config.get("backbone", Settings.backbone)
        if config.get("method", cls.name) == cls.name and (known == CUSTOM) != (backbone is not None):
            wanted = "an encoder of your own: pass it as backbone to SIGNNAP.load"
            found = wanted if known == CUSTOM else f"the backbone {known}: it takes none of your own"
            raise SignnapError(f"{folder.path} was trained with {found}")
        model = super().from_run(folder, config, backbone=backbone, **parts)
        if "perturbation" in model.info_.facts and model._params["perturbation"] is None:
            model._params["perturbation"] = CUSTOM
        return model
