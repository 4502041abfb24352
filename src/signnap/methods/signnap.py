"""SIGNNAP: two perturbed views, one encoder, one contrast against a memory bank."""

from __future__ import annotations

import copy
import inspect
from pathlib import Path
from typing import Any

from torch import nn

from ..config import read_toml
from ..contracts import Encoder, Objective, Perturbation
from ..encoders import build_encoder
from ..errors import SignnapError
from ..graph import View
from ..objectives import build_objective
from ..perturb import build_perturbation
from ..train.checkpoint import RunFolder
from .facts import Sizes
from .method import Method
from .settings import Settings
from .two_views import TwoViews


class SIGNNAP(Method):
    """Node embeddings that hold still when the graph is perturbed, with scikit-learn's manners.

    Every field of :class:`~signnap.methods.settings.Settings` is a keyword; one that is not given (None) comes
    from the preset's sections for the backbone and, for a benchmark graph, the data set. ``backbone`` may be any
    ``nn.Module`` that takes ``(x, edge_index)``; ``objective`` and ``perturbation`` may be objects of your own.

    >>> from signnap import SIGNNAP, load_graph
    >>> graph = load_graph("synthetic")
    >>> model = SIGNNAP(dim=16, iterations=5, negatives=32).fit(graph)
    >>> model.transform(graph).shape
    (3000, 16)
    """

    name = "signnap"
    own_parts = ("perturbation",)

    def __init__(
        self,
        backbone: str | nn.Module = "gcn",
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
        own = {"backbone": nn.Module, "objective": Objective}
        return plain | {name: "custom" for name, kind in own.items() if isinstance(plain[name], kind)}

    def build_encoder(self, settings: Settings, sizes: Sizes) -> Encoder:
        """The backbone that the settings name, or a copy of the one that was given."""
        given = self._params["backbone"]
        return build_encoder(
            copy.deepcopy(given) if settings.backbone == "custom" else settings.backbone,
            in_dim=sizes.features, dim=settings.dim, layers=settings.layers, dropout=settings.dropout,
            heads=settings.heads,
        )  # fmt: skip

    def build_task(self, settings: Settings, view: View, encoder: Encoder) -> TwoViews:
        """The paper's two views (Eq. 2) and its objective (Eq. 6)."""
        objective = build_objective(
            copy.deepcopy(self._params["objective"]) if settings.objective == "custom" else settings.objective,
            settings.negatives, settings.temperature, settings.momentum, settings.share, settings.precision,
        )  # fmt: skip
        perturbation = self._params["perturbation"] or build_perturbation(
            settings.drop_edge, settings.drop_law, settings.mask_features, settings.noise
        )
        coarse = settings.precision != "float32"
        return TwoViews(view, encoder, objective, (perturbation, perturbation), settings.seed, coarse)

    @classmethod
    def load(cls, path: str | Path, backbone: nn.Module | None = None, **parts: Any) -> SIGNNAP:
        """Read a run folder or a saved model; a model with an encoder of your own needs that module again."""
        folder = RunFolder(path)
        if folder.exists() and read_toml(folder.config).get("backbone") == "custom" and backbone is None:
            raise SignnapError(f"{path} was trained with an encoder of your own: pass the module as backbone")
        return super().load(path, backbone=backbone, **parts)


def _with_backbone_first(kind: type[SIGNNAP]) -> None:
    """The backbone may also be given by its place."""
    first = inspect.Parameter("backbone", inspect.Parameter.POSITIONAL_OR_KEYWORD, default="gcn")
    others = [p for name, p in inspect.signature(kind).parameters.items() if name != "backbone"]
    kind.__signature__ = inspect.Signature([first, *others])  # type: ignore[attr-defined]


_with_backbone_first(SIGNNAP)
