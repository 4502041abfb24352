"""The base of all methods: the steps from a graph to a trained encoder, and from there to embeddings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor
from torch.nn.parameter import is_lazy

from .. import rng
from ..config import build, to_toml
from ..data.load import load_graph
from ..data.splits import make_split
from ..errors import SignnapError, unknown_name
from ..graph import Graph, View
from ..interfaces import Encoder, Task
from ..train.progress import Report, silent
from ..train.run import Run
from ..train.run_folder import RunFolder
from ..train.run_info import RunInfo
from ..train.schedules import rate_factor
from ..train.session import Outcome
from .estimator import Estimator
from .fit import fit_together
from .input_checks import as_trained
from .settings import BaseSettings, resolve

M = TypeVar("M", bound="Method")


class Sizes(Protocol):
    """The sizes by which a method chooses the shapes of its encoder. Graphs and records of runs have them."""

    @property
    def num_nodes(self) -> int: ...

    @property
    def num_features(self) -> int: ...

    @property
    def num_classes(self) -> int: ...


class Method(Estimator):
    """Embeds the nodes of a graph.

    Every field of the method's settings is a parameter. A parameter that is not given (None) has the value of the
    preset for the method and, on a benchmark graph, for the data set.

    A method defines ``build_encoder`` and, if it trains, ``build_task``. ``prepare`` may compute parts of the encoder
    that have no gradient. Everything else is common: one training loop, checkpoints, resuming, recording on a GPU.
    """

    #: capabilities, from which tables of methods are computed
    uses_labels: ClassVar[bool] = False
    reads_features: ClassVar[bool] = True
    trains: ClassVar[bool] = True
    inductive: ClassVar[bool] = True
    equivariant: ClassVar[bool] = True
    memory: ClassVar[str] = "linear"
    time: ClassVar[str] = "linear"
    #: whether a run may be resumed for more iterations; no if an iteration depends on the number of iterations
    extendable: ClassVar[bool] = True
    #: what ``num_steps`` counts
    unit: ClassVar[str] = "iteration"
    #: settings of ``BaseSettings`` that have no effect
    ignored_settings: ClassVar[Sequence[str]] = ()

    encoder_: Encoder
    settings_: Any
    outcome_: Outcome
    info_: RunInfo

    # -- what a method defines ---------------------------------------------------------------------------------------

    def build_encoder(self, settings: Any, sizes: Sizes) -> Encoder:
        """Build the encoder, with first weights from torch's default generator."""
        raise NotImplementedError

    def prepare(self, settings: Any, view: View, encoder: Encoder, report: Report) -> None:
        """Compute what the encoder holds beside its trained weights, such as a basis of the features.

        This happens once, before training. ``report`` receives the progress of methods that do not train.
        """

    def build_task(self, settings: Any, graph: Graph, view: View, encoder: Encoder) -> Task:
        """Build the task that trains the encoder: on the graph, its clean view, or on data computed from them here."""
        raise NotImplementedError

    def num_steps(self, settings: Any, nodes: int) -> int:
        """The number of steps of a run on a graph with this number of nodes, counted in ``unit``."""
        return settings.iterations

    def training_view(self, graph: Graph, split: str) -> Graph:
        """The graph that training sees: without labels, and of the training nodes only in an inductive split."""
        if split != "none" and not self.inductive:
            raise SignnapError(
                f"{self.name} embeds only nodes that it was trained on: expected split none, not {split}"
            )
        seen = graph if split == "none" else make_split(graph, split).training_graph(graph)
        return seen.without_labels()

    def own(self, sizes: Sizes) -> dict[str, Any]:
        """The parts that are objects of the user's own, by their parameter."""
        return {}

    @torch.no_grad()
    def embed_view(self, view: View) -> Tensor:
        """Embed a view, clean or perturbed, without dropout."""
        self._expect_fitted()
        return self.encoder_.eval()(view)

    # -- from parameters and a graph to a run ------------------------------------------------------------------------

    def settings_for(self, dataset: str | None) -> Any:
        """The resolved settings for training on a graph of this name."""
        given = {k: v for k, v in self._plain_params().items() if v is not None}
        given = {k: v.item() if isinstance(v, np.generic) else v for k, v in given.items()}
        return resolve({**given, "method": self.name}, dataset=dataset, preset=self._params["preset"])

    def _plain_params(self) -> dict[str, Any]:
        """The parameters that are settings."""
        return {field.name: self._params[field.name] for field in fields(self.settings_class())}

    def task(self, graph: Any) -> Any:
        """The task that ``fit`` trains on a graph, for callers that drive the loop themselves."""
        graph = load_graph(graph)
        return self._task(self.settings_for(graph.name), graph)

    def run(self, graph: Any) -> Run:
        """The task that ``fit`` trains on a graph, with its optimiser, at iteration 0."""
        graph = load_graph(graph)
        return self.build_run(self.settings_for(graph.name), graph)

    def build_run(self, settings: Any, graph: Graph) -> Run:
        """The run of resolved settings on a graph, at iteration 0."""
        return Run(
            self._task(settings, graph), settings.lr, settings.weight_decay, decoupled=settings.decoupled_decay,
            factor=rate_factor(settings.schedule, settings.iterations), clip=settings.clip, patience=settings.patience,
        )  # fmt: skip

    def _task(self, settings: Any, graph: Graph) -> Task:
        encoder, view = self._prepared(settings, graph, silent)
        return self.build_task(settings, graph, view, encoder)

    def compute_encoder(self, settings: Any, graph: Graph, report: Report) -> Encoder:
        """The encoder of a method that does not train."""
        return self._prepared(settings, graph, report)[0]

    def _prepared(self, settings: Any, graph: Graph, report: Report) -> tuple[Encoder, View]:
        """The encoder before training and the clean view, both on the device of the graph."""
        encoder, view = self._drawn(settings, graph).to(graph.pattern.device), clean_view(graph, settings)
        self.prepare(settings, view, encoder, report)
        return encoder, view

    def _drawn(self, settings: BaseSettings, sizes: Sizes) -> Encoder:
        with rng.as_default(rng.generator(settings.seed, "init")):
            return self.build_encoder(settings, sizes)

    # -- fitting -----------------------------------------------------------------------------------------------------

    def fit(
        self: M,
        graph: Any,
        y: None = None,
        *,
        out: str | Path | None = None,
        resume: bool = False,
        device: str = "auto",
        profile: bool = False,
        progress: bool = False,
        report: Report = silent,
        stop_on_collapse: bool = True,
        save_every: float = 30.0,
    ) -> M:
        """Learn from structure and features. Labels are removed first, unless the method uses them.

        ``y`` is ignored; scikit-learn's pipelines pass it. With ``out`` the run is kept in that folder and survives
        being killed. ``resume`` continues it, and ``profile`` measures where its time goes (``outcome_.profile``).
        ``device`` is auto, cpu or cuda. ``progress`` shows the progress on stderr, and ``report`` receives it after
        every iteration. Checkpoints are ``save_every`` seconds apart. A collapse is an error, unless
        ``stop_on_collapse`` is off.
        """
        graph = load_graph(graph)
        fit_together(
            [self], [self.settings_for(graph.name)], graph, [out], resume=resume, device=device, profile=profile,
            progress=progress, report=report, stop_on_collapse=stop_on_collapse, save_every=save_every,
        )  # fmt: skip
        return self

    def fit_seeds(
        self: M,
        graph: Any,
        seeds: Sequence[int],
        *,
        out: str | Path | None = None,
        resume: bool = False,
        device: str = "auto",
        profile: bool = False,
        progress: bool = False,
        report: Report = silent,
        stop_on_collapse: bool = True,
        save_every: float = 30.0,
    ) -> list[M]:
        """Train a copy of this model for each encoder seed, all at once; each equals a model that is trained alone.

        With ``out`` each run has its folder in that folder: ``seed-0``, ``seed-1`` and so on. Options as for ``fit``.
        """
        graph = load_graph(graph)
        copies, outs = self.seed_copies(seeds, out)
        fit_together(
            copies, [copy.settings_for(graph.name) for copy in copies], graph, outs, resume=resume, device=device,
            profile=profile, progress=progress, report=report, stop_on_collapse=stop_on_collapse, save_every=save_every,
        )  # fmt: skip
        return copies

    def seed_copies(self: M, seeds: Sequence[int], out: str | Path | None) -> tuple[list[M], list[Path | None]]:
        """A copy of this model for each encoder seed, and their run folders in the folder ``out``."""
        distinct = _distinct(seeds)
        outs = [None if out is None else RunFolder(out).seed_folder(seed) for seed in distinct]
        return [self._twin(seed=seed) for seed in distinct], outs

    def take_over(self, settings: Any, encoder: Encoder, info: RunInfo, outcome: Outcome | None) -> None:
        """Become the model of a run: of one that has ended, or was interrupted (no outcome)."""
        self.settings_, self.encoder_, self.info_ = settings, encoder, info
        vars(self).pop("outcome_", None)  # from an earlier fit
        if outcome is not None:
            self.outcome_ = outcome

    def untrained(self: M, graph: Any) -> M:
        """This model with first weights and no training: a baseline for what training adds.

        A module of the user's own keeps its weights; a function that makes a module draws new ones.
        """
        graph, twin = load_graph(graph), self._twin()
        settings = self.settings_for(graph.name)
        encoder = self._prepared(settings, graph, silent)[0]
        twin.settings_, twin.encoder_, twin.info_ = settings, encoder, RunInfo.of(graph)
        if any(is_lazy(weight) for weight in encoder.parameters()):
            with rng.as_default(rng.generator(settings.seed, "sizes")):
                twin.transform(graph)  # gives lazy weights their shapes, as training does
        return twin

    # -- embedding ---------------------------------------------------------------------------------------------------

    def view(self, graph: Any) -> View:
        """The clean view of a graph as this model reads it, ready to be perturbed or embedded."""
        self._expect_fitted()
        graph = load_graph(graph)
        if not self.inductive and graph.fingerprint() != self.info_.fingerprint:
            raise SignnapError(f"{self.name} embeds only the graph that it was trained on: {graph.name} is another")
        graph = as_trained(graph, self.info_.num_features, self.info_.feature_names)
        return clean_view(graph.to(self._device()), self.settings_)

    def _device(self) -> torch.device:
        weights = [*self.encoder_.parameters(), *self.encoder_.buffers()]
        return weights[0].device if weights else torch.device("cpu")

    def embed(self, graph: Any) -> Tensor:
        """Embed every node of a graph with the same features: (N, dim), on the device of the weights."""
        return self.embed_view(self.view(graph))

    def transform(self, graph: Any) -> np.ndarray:
        """The embeddings as a float32 array (N, dim), rows in the graph's order; a data frame after ``set_output``."""
        graph = load_graph(graph)
        z = self.embed(graph).float().cpu().numpy()
        if getattr(self, "_sklearn_output_config", {}).get("transform") != "pandas":
            return z
        return import_module("pandas").DataFrame(z, index=graph.ids, columns=_names(z.shape[1]))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The names of the columns of ``transform``, the same as in files of embeddings: e0, e1, …"""
        self._expect_fitted()
        pair = Graph.from_edges([0], [1], np.zeros((2, self.info_.num_features), np.float32))
        return _names(self.embed_view(clean_view(pair.to(self._device()), self.settings_)).shape[1])

    def fit_transform(self, graph: Any, y: None = None, **options: Any) -> np.ndarray:
        """Fit, then embed the same graph. ``y`` is ignored. Options as for ``fit``."""
        graph = load_graph(graph)
        return self.fit(graph, **options).transform(graph)

    # -- keeping -----------------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write settings, record and weights to a folder that ``load`` reads."""
        self._expect_fitted()
        folder = RunFolder(path)
        with folder.alone():
            folder.save_model(to_toml(self.settings_), self.info_.facts, self.encoder_.state_dict())

    @classmethod
    def load(cls: type[M], path: str | Path, **parts: Any) -> M:
        """Read a run folder or a saved model. ``parts`` are the user's own parts that it was made with."""
        folder = RunFolder(path)
        folder.expect()
        return cls.from_run(folder, folder.read_config(), **parts)

    @classmethod
    def from_run(cls: type[M], folder: RunFolder, config: Mapping[str, Any], **parts: Any) -> M:
        """Build the fitted model of a run folder, whose ``config`` was read before. Options as for ``load``."""
        if (method := config.get("method", cls.name)) != cls.name:
            raise SignnapError(f"{folder.path} is a run of the method {method}: use load_method")
        for name, part in parts.items():
            if name not in cls.own_parts:
                raise unknown_name("part", name, cls.own_parts)
            if isinstance(part, str):
                raise SignnapError(f"{name} is {part!r}: expected the part of your own that the model was made with")
        settings = build(cls.settings_class(), config, str(folder.config))
        model = cls(**{field.name: getattr(settings, field.name) for field in fields(settings)})
        model.set_params(**{name: part for name, part in parts.items() if part is not None})
        info = folder.read_info()
        model.settings_, model.info_ = settings, info
        draw = partial(model._drawn, settings, info)
        ours = cls.build_encoder.__module__.partition(".")[0] == __name__.partition(".")[0]
        if ours and parts.get("backbone") is None:  # encoders from outside may need more than shapes
            folder.expect_weights_of(draw, getattr(settings, "layers", 0))
        model.encoder_ = draw()
        folder.load_into(model.encoder_)
        return model


class ClosedForm(Method):
    """A method that does not train: ``prepare`` computes its encoder. It cannot be resumed or profiled."""

    trains = False
    ignored_settings: ClassVar[Sequence[str]] = (
        "iterations", "lr", "schedule", "weight_decay", "decoupled_decay", "clip", "patience",
    )  # fmt: skip

    def num_steps(self, settings: Any, nodes: int) -> int:
        return 1


def clean_view(graph: Graph, settings: BaseSettings) -> View:
    """The graph with the values of edges and self-loops that the settings state.

    On a GPU, tf32 products are so fast that dense features win at a lower density.
    """
    allow_tf32 = settings.allow_tf32 and graph.pattern.device.type == "cuda"
    return graph.view(
        edge_value=settings.edge_value,
        loop_value=settings.loop_value,
        normalize=settings.normalize_features,
        dense_above=0.03 if allow_tf32 else 1.0,
    )


def _distinct(seeds: Any) -> list[int]:
    try:
        found = list(seeds)
        twice = len(set(found)) != len(found)
    except TypeError as error:
        raise SignnapError(f"the encoder seeds are {seeds!r}: expected a list of whole numbers") from error
    if twice or not found:
        raise SignnapError(f"the encoder seeds are {found}: expected at least one, and none twice")
    return found


def _names(width: int) -> np.ndarray:
    return np.array([f"e{number}" for number in range(width)], dtype=object)
