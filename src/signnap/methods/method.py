"""What every method is: an estimator with scikit-learn's manners, trained by the one loop, kept in run folders."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from torch import Tensor
from torch.nn.parameter import is_lazy

from .. import rng
from ..config import build, read_toml, to_toml
from ..contracts import Encoder
from ..data import load_graph, make_split
from ..errors import SignnapError, unknown_name
from ..graph import Graph, View
from ..train.checkpoint import RunFolder
from ..train.loop import Run, Task
from ..train.rates import rate_factor
from ..train.session import Outcome
from .basics import Basics
from .columns import as_trained
from .facts import Sizes, run_facts
from .fitting import fit_together
from .settings import METHODS, resolve

M = TypeVar("M", bound="Method")


class Method:
    """Embeds the nodes of a graph. A method says how to build its encoder, and what task trains that.

    Every field of its settings is a keyword; one that is not given (None) comes from the preset's sections for the
    method and, for a benchmark graph, the data set.
    """

    name: ClassVar[str]
    #: keywords that take objects of the user's own, and the settings that such an object leaves without use
    own_parts: ClassVar[Mapping[str, Sequence[str]]] = {}
    #: capabilities, from which tables of methods are computed
    uses_labels: ClassVar[bool] = False
    reads_features: ClassVar[bool] = True
    trains: ClassVar[bool] = True
    inductive: ClassVar[bool] = True
    equivariant: ClassVar[bool] = True
    memory: ClassVar[str] = "linear"
    time: ClassVar[str] = "linear"
    #: whether a run may be resumed for more iterations; not where one depends on how many there will be
    extendable: ClassVar[bool] = True

    encoder_: Encoder
    settings_: Any
    outcome_: Outcome
    facts_: dict[str, Any]

    def __init_subclass__(cls, **options: Any) -> None:
        """Show scikit-learn, and readers, the keywords of a method."""
        super().__init_subclass__(**options)
        if hasattr(cls, "name"):
            defaults = {"preset": "paper"}
            keyword = lambda n: inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default=defaults.get(n))
            cls.__signature__ = inspect.Signature([keyword(n) for n in cls.parameters()])  # type: ignore[attr-defined]

    def __init__(self, **params: Any) -> None:
        self._params: dict[str, Any] = dict.fromkeys(self.parameters()) | {"preset": "paper"}
        self.set_params(**params)

    @classmethod
    def parameters(cls) -> list[str]:
        """The names of all keywords."""
        if cls.name not in METHODS:
            raise SignnapError(
                f"the method {cls.name!r} has no settings: expected them in METHODS of methods/settings.py"
            )
        names = [field.name for field in fields(METHODS[cls.name])]
        return [*names, *(name for name in cls.own_parts if name not in names), "preset"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters as given; None means that the preset decides."""
        return dict(self._params)

    def set_params(self: M, **params: Any) -> M:
        """Change parameters; an unknown one is an error naming the nearest."""
        for name in params:
            if name not in self._params:
                raise unknown_name("parameter", name, self._params)
        if params.get("method") not in (None, self.name):
            raise SignnapError(f"method is {params['method']!r}, but this is {self.name!r}")
        self._params.update(params)
        return self

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self._params.items() if value is not None)
        return f"{type(self).__name__}({given})"

    def settings_for(self, dataset: str | None) -> Any:
        """The complete settings that a graph of this name would be trained with."""
        given = {k: v for k, v in self._plain_params().items() if v is not None}
        given = {k: v.item() if isinstance(v, np.generic) else v for k, v in given.items()}
        return resolve({**given, "method": self.name}, dataset=dataset, preset=self._params["preset"])

    def _plain_params(self) -> dict[str, Any]:
        """The parameters that are settings."""
        return {field.name: self._params[field.name] for field in fields(METHODS[self.name])}

    def own(self, sizes: Sizes) -> dict[str, Any]:
        """The parts that are objects of the user's own, by their keyword."""
        return {}

    def build_encoder(self, settings: Any, sizes: Sizes) -> Encoder:
        """The encoder with freshly drawn weights, from torch's default generator."""
        raise NotImplementedError

    def build_task(self, settings: Any, view: View, encoder: Encoder) -> Task:
        """What trains the encoder on a graph, whose clean view is given."""
        raise NotImplementedError

    def task(self, graph: Graph) -> Any:
        """What ``fit`` trains on a graph, for callers that drive the loop themselves."""
        settings = self.settings_for(graph.name)
        return self.build_task(settings, clean_view(graph, settings), self._drawn(settings, Sizes.of(graph)))

    def run(self, graph: Graph) -> Run:
        """The same with its optimiser, at iteration 0."""
        settings = self.settings_for(graph.name)
        return Run(
            self.task(graph), settings.lr, settings.weight_decay, decoupled=settings.decoupled_decay,
            factor=rate_factor(settings.schedule, settings.iterations), clip=settings.clip, patience=settings.patience,
        )  # fmt: skip

    def _drawn(self, settings: Basics, sizes: Sizes) -> Encoder:
        with rng.as_default(rng.generator(settings.seed, "init")):
            return self.build_encoder(settings, sizes)

    def may_see(self, graph: Graph, split: str) -> Graph:
        """What of a graph training gets: structure and features, of the training nodes only in an inductive split."""
        if split != "none" and not self.inductive:
            raise SignnapError(
                f"{self.name} embeds only nodes that it was trained on: expected split none, not {split}"
            )
        seen = graph if split == "none" else make_split(graph, split).training_graph(graph)
        return seen.without_labels()

    def fit(self: M, graph: Any, y: None = None, *, out: str | Path | None = None, **options: Any) -> M:
        """Learn from the graph's structure and features; labels are removed before anything else happens.

        ``y`` is ignored: scikit-learn's pipelines pass it.
        With ``out`` the run is kept in that folder and survives being killed; ``resume=True`` continues it, and
        ``profile=True`` finds out where its time goes (``outcome_.profile``). Further options: ``device`` (auto, cpu
        or cuda), ``report`` (called after every iteration), ``stop_on_collapse`` and ``save_every`` (seconds between
        checkpoints).
        """
        self._fit_all([self], graph, [out], **options)
        return self

    def fit_seeds(
        self: M, graph: Any, seeds: Sequence[int], *, out: str | Path | None = None, **options: Any
    ) -> list[M]:
        """Train one copy of this model per encoder seed, all at once; each equals the one trained alone.

        With ``out`` every run has a folder in that folder, ``seed-0``, ``seed-1`` and so on. Options as for ``fit``.
        """
        if len(set(seeds)) != len(seeds) or not len(seeds):
            raise SignnapError(f"the encoder seeds are {list(seeds)}: expected at least one, and none twice")
        copies = [type(self)(**self._params | {"seed": seed}) for seed in seeds]
        self._fit_all(copies, graph, [None if out is None else Path(out) / f"seed-{s}" for s in seeds], **options)
        return copies

    @staticmethod
    def _fit_all(models: Sequence[Any], graph: Any, outs: Sequence[str | Path | None], **options: Any) -> None:
        fit_together(models, graph, outs, **options)

    def untrained(self: M, graph: Any) -> M:
        """The same model with freshly drawn weights and no training: the baseline that keeps everybody honest.

        A module of your own keeps the weights that it was given with; a function that makes one draws them anew.
        """
        graph = load_graph(graph)
        twin = type(self)(**self._params)
        twin.settings_, twin.facts_ = self.settings_for(graph.name), run_facts(graph)
        twin.encoder_ = self._drawn(twin.settings_, Sizes.of(graph))
        if any(is_lazy(weight) for weight in twin.encoder_.parameters()):
            with rng.as_default(rng.generator(twin.settings_.seed, "sizes")):
                twin.transform(graph)  # sizes them, as training does
        return twin

    def view(self, graph: Any) -> View:
        """The clean view of a graph as this model reads it, ready to be perturbed or embedded."""
        self._expect_fitted()
        graph = load_graph(graph)
        if not self.inductive and graph.fingerprint() != self.facts_["fingerprint"]:
            raise SignnapError(f"{self.name} embeds only the graph that it was trained on: {graph.name} is another")
        graph = as_trained(graph, self.facts_["num_features"], self.facts_["feature_names"])
        weights = [*self.encoder_.parameters(), *self.encoder_.buffers()]
        return clean_view(graph.to(weights[0].device if weights else "cpu"), self.settings_)

    @torch.no_grad()
    def embed_view(self, view: View) -> Tensor:
        """Embed a view, clean or perturbed, without dropout."""
        self._expect_fitted()
        return self.encoder_.eval()(view)

    def transform(self, graph: Any) -> np.ndarray:
        """Embed every node of a graph with the same features: (N, dim) float32, rows in the graph's order."""
        return self.embed_view(self.view(graph)).float().cpu().numpy()

    def fit_transform(self, graph: Any, y: None = None, **options: Any) -> np.ndarray:
        """Fit, then embed the same graph; ``y`` is ignored."""
        graph = load_graph(graph)
        return self.fit(graph, **options).transform(graph)

    def save(self, path: str | Path) -> None:
        """Write settings, facts and weights to a folder that ``load`` reads."""
        self._expect_fitted()
        RunFolder(path).save_model(to_toml(self.settings_), self.facts_, self.encoder_.state_dict())

    @classmethod
    def load(cls: type[M], path: str | Path, **parts: Any) -> M:
        """Read a run folder or a saved model; ``parts`` of your own that it was made with are needed again."""
        folder = RunFolder(path)
        folder.expect()
        for name, part in parts.items():
            if name not in cls.own_parts:
                raise unknown_name("part", name, cls.own_parts)
            if isinstance(part, str):
                raise SignnapError(f"{name} is {part!r}: expected the part of your own that the model was made with")
        settings = build(METHODS[cls.name], read_toml(folder.config), str(folder.config))
        model = cls(**{field.name: getattr(settings, field.name) for field in fields(settings)})
        model.set_params(**{name: part for name, part in parts.items() if part is not None})
        model.settings_, model.facts_ = settings, folder.read_facts()
        model.encoder_ = model._drawn(settings, Sizes.recorded(model.facts_))
        folder.load_into(model.encoder_)
        return model

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "encoder_")

    def __sklearn_tags__(self) -> Any:
        """What a pipeline asks of its steps; whoever calls this has loaded scikit-learn already."""
        from sklearn.utils import Tags, TargetTags, TransformerTags

        return Tags(None, TargetTags(required=False), TransformerTags(), no_validation=True)

    def _expect_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise SignnapError(f"this {type(self).__name__} is not fitted yet: call fit first")


def clean_view(graph: Graph, settings: Basics) -> View:
    """The graph as the settings store it. Coarse products on a GPU are so fast that zeros may be multiplied along."""
    coarse = settings.precision != "float32" and graph.pattern.device.type == "cuda"
    return graph.view(
        edge_value=settings.edge_value,
        loop_value=settings.loop_value,
        normalize=settings.normalize_features,
        dense_above=0.03 if coarse else 1.0,
    )
