"""SIGNNAP: two perturbed views, one encoder, one contrast against a memory bank."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from .. import rng
from ..config import build, read_toml, to_toml
from ..contracts import Encoder, Objective, Perturbation
from ..data import load_graph
from ..encoders import build_encoder
from ..errors import SignnapError, unknown_name
from ..graph import Graph, View
from ..objectives import build_objective
from ..perturb import build_perturbation
from ..train.checkpoint import RunFolder
from ..train.session import Outcome
from .facts import run_facts
from .fitting import fit_together
from .settings import Settings, resolve
from .two_views import TwoViews


class SIGNNAP:
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

    #: capabilities, from which tables of methods are computed
    uses_labels = False
    inductive = True
    memory = "linear"

    encoder_: Encoder
    settings_: Settings
    outcome_: Outcome
    facts_: dict[str, Any]

    def __init__(
        self,
        backbone: str | nn.Module = "gcn",
        *,
        objective: str | Objective | None = None,
        perturbation: Perturbation | None = None,
        preset: str = "paper",
        **settings: Any,
    ) -> None:
        self._params: dict[str, Any] = dict.fromkeys(_PARAMETERS) | {"backbone": "gcn", "preset": "paper"}
        self.set_params(backbone=backbone, objective=objective, perturbation=perturbation, preset=preset, **settings)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters as given; None means that the preset decides."""
        return dict(self._params)

    def set_params(self, **params: Any) -> SIGNNAP:
        """Change parameters; an unknown one is an error naming the nearest."""
        for name in params:
            if name not in _PARAMETERS:
                raise unknown_name("parameter", name, _PARAMETERS)
        self._params.update(params)
        return self

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self._params.items() if value is not None)
        return f"SIGNNAP({given})"

    def settings_for(self, dataset: str | None) -> Settings:
        """The complete settings that a graph of this name would be trained with."""
        given = {k: v for k, v in self._params.items() if v is not None and k not in ("preset", "perturbation")}
        given = {k: v.item() if isinstance(v, np.generic) else v for k, v in given.items()}
        for part, kind in (("backbone", nn.Module), ("objective", Objective)):
            if isinstance(given.get(part), kind):
                given[part] = "custom"
        return resolve(given, dataset=dataset, preset=self._params["preset"])

    def fit(self, graph: Any, *, out: str | Path | None = None, **options: Any) -> SIGNNAP:
        """Learn from the graph's structure and features; labels are removed before anything else happens.

        With ``out`` the run is kept in that folder and survives being killed; ``resume=True`` continues it, and
        ``profile=True`` finds out where its time goes (``outcome_.profile``). Further options: ``device`` (auto, cpu
        or cuda), ``report`` (called after every iteration), ``stop_on_collapse`` and ``save_every`` (seconds between
        checkpoints).
        """
        fit_together([self], graph, [out], **options)
        return self

    def fit_seeds(
        self, graph: Any, seeds: Sequence[int], *, out: str | Path | None = None, **options: Any
    ) -> list[SIGNNAP]:
        """Train one copy of this model per encoder seed, all at once; each equals the one trained alone.

        With ``out`` every run has a folder in that folder, ``seed-0``, ``seed-1`` and so on. Options as for ``fit``.
        """
        if len(set(seeds)) != len(seeds) or not len(seeds):
            raise SignnapError(f"the encoder seeds are {list(seeds)}: expected at least one, and none twice")
        copies = [SIGNNAP(**self._params | {"seed": seed}) for seed in seeds]
        fit_together(copies, graph, [None if out is None else Path(out) / f"seed-{s}" for s in seeds], **options)
        return copies

    def task(self, graph: Graph) -> TwoViews:
        """What ``fit`` trains on a graph, for callers that drive the loop themselves."""
        settings = self.settings_for(graph.name)
        with rng.as_default(rng.generator(settings.seed, "init")):
            encoder = self._encoder(settings, graph.num_features)
        objective = build_objective(
            copy.deepcopy(self._params["objective"]) if settings.objective == "custom" else settings.objective,
            settings.negatives, settings.temperature, settings.momentum, settings.share, settings.precision,
        )  # fmt: skip
        perturbation = self._params["perturbation"] or build_perturbation(
            settings.drop_edge, settings.drop_law, settings.mask_features, settings.noise
        )
        view, coarse = _clean_view(graph, settings), settings.precision != "float32"
        return TwoViews(view, encoder, objective, perturbation, settings.seed, coarse)

    def _encoder(self, settings: Settings, num_features: int) -> Encoder:
        given = self._params["backbone"]
        return build_encoder(
            copy.deepcopy(given) if settings.backbone == "custom" else settings.backbone,
            in_dim=num_features, dim=settings.dim, layers=settings.layers, dropout=settings.dropout,
            heads=settings.heads,
        )  # fmt: skip

    def untrained(self, graph: Any) -> SIGNNAP:
        """The same model with freshly drawn weights and no training: the baseline that keeps everybody honest."""
        graph = load_graph(graph)
        settings = self.settings_for(graph.name)
        twin = SIGNNAP(**self._params)
        twin.settings_, twin.facts_ = settings, run_facts(graph)
        with rng.as_default(rng.generator(settings.seed, "init")):
            twin.encoder_ = self._encoder(settings, graph.num_features)
        return twin

    def view(self, graph: Any) -> View:
        """The clean view of a graph as this model reads it, ready to be perturbed or embedded."""
        self._expect_fitted()
        graph = load_graph(graph)
        expected, names = self.facts_["num_features"], self.facts_["feature_names"]
        if graph.num_features != expected:
            raise SignnapError(
                f"the model was trained on {expected} features, but {graph.name} has {graph.num_features}"
            )
        for known, found in zip(names, graph.feature_names, strict=False):
            if known != found:
                raise SignnapError(f"the model was trained with feature {known!r} where {graph.name} has {found!r}")
        device = next(self.encoder_.parameters()).device
        return _clean_view(graph.to(device), self.settings_)

    @torch.no_grad()
    def embed_view(self, view: View) -> Tensor:
        """Embed a view, clean or perturbed, without dropout."""
        return self.encoder_.eval()(view)

    def transform(self, graph: Any) -> np.ndarray:
        """Embed every node of a graph with the same features: (N, dim) float32, rows in the graph's order."""
        return self.embed_view(self.view(graph)).float().cpu().numpy()

    def fit_transform(self, graph: Any, **options: Any) -> np.ndarray:
        """Fit, then embed the same graph."""
        graph = load_graph(graph)
        return self.fit(graph, **options).transform(graph)

    def save(self, path: str | Path) -> None:
        """Write settings, facts and weights to a folder that ``load`` reads."""
        self._expect_fitted()
        RunFolder(path).save_model(to_toml(self.settings_), self.facts_, self.encoder_.state_dict())

    @classmethod
    def load(cls, path: str | Path, backbone: nn.Module | None = None) -> SIGNNAP:
        """Read a run folder or a saved model; a model with an encoder of your own needs that module again."""
        folder = RunFolder(path)
        folder.expect()
        settings = build(Settings, read_toml(folder.config), str(folder.config))
        if settings.backbone == "custom" and backbone is None:
            raise SignnapError(f"{path} was trained with an encoder of your own: pass the module as backbone")
        model = cls(**{f.name: getattr(settings, f.name) for f in fields(Settings)})
        if backbone is not None:
            model.set_params(backbone=backbone)
        model.settings_, model.facts_ = settings, folder.read_facts()
        model.encoder_ = model._encoder(settings, int(model.facts_["num_features"]))
        folder.load_into(model.encoder_)
        return model

    def _expect_fitted(self) -> None:
        if not hasattr(self, "encoder_"):
            raise SignnapError("this SIGNNAP is not fitted yet: call fit first")


_PARAMETERS = [field.name for field in fields(Settings)] + ["perturbation", "preset"]
SIGNNAP.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
    [inspect.Parameter("backbone", inspect.Parameter.POSITIONAL_OR_KEYWORD, default="gcn")]
    + [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default="paper" if name == "preset" else None)
        for name in _PARAMETERS
        if name != "backbone"
    ]
)


def _clean_view(graph: Graph, settings: Settings) -> View:
    """The graph as the settings store it. Coarse products on a GPU are so fast that zeros may be multiplied along."""
    coarse = settings.precision != "float32" and graph.pattern.device.type == "cuda"
    return graph.view(
        edge_value=settings.edge_value,
        loop_value=settings.loop_value,
        normalize=settings.normalize_features,
        dense_above=0.03 if coarse else 1.0,
    )
