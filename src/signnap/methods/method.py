"""What every method is: an estimator that is trained by the one loop and kept in run folders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, TypeVar

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
from ..train.schedules import rate_factor
from ..train.session import Outcome
from .basics import Basics
from .columns import as_trained
from .estimator import Estimator
from .facts import run_facts
from .fitting import fit_together
from .settings import METHODS, resolve
from .sizes import Sizes

M = TypeVar("M", bound="Method")


class Method(Estimator):
    """Embeds the nodes of a graph. A method says how to build its encoder, and what task trains that.

    Every field of its settings is a keyword; one that is not given (None) comes from the preset's sections for the
    method and, for a benchmark graph, the data set.
    """

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
    #: what ``num_steps`` counts
    unit: ClassVar[str] = "iteration"
    #: settings that it takes from other methods, and has no use for
    no_use: ClassVar[Sequence[str]] = ()

    encoder_: Encoder
    settings_: Any
    outcome_: Outcome
    facts_: dict[str, Any]

    def settings_for(self, dataset: str | None) -> Any:
        """The complete settings that a graph of this name would be trained with."""
        given = {k: v for k, v in self._plain_params().items() if v is not None}
        given = {k: v.item() if isinstance(v, np.generic) else v for k, v in given.items()}
        return resolve({**given, "method": self.name}, dataset=dataset, preset=self._params["preset"])

    def num_steps(self, settings: Any, nodes: int) -> int:
        """The number of steps, each one ``unit``, of a run on a graph with this number of nodes."""
        return settings.iterations

    def _plain_params(self) -> dict[str, Any]:
        """The parameters that are settings."""
        return {field.name: self._params[field.name] for field in fields(METHODS[self.name])}

    def own(self, sizes: Sizes) -> dict[str, Any]:
        """The parts that are objects of the user's own, by their keyword."""
        return {}

    def build_encoder(self, settings: Any, sizes: Sizes) -> Encoder:
        """The encoder with freshly drawn weights, from torch's default generator."""
        raise NotImplementedError

    def build_task(self, settings: Any, graph: Graph, view: View, encoder: Encoder) -> Task:
        """The task that trains the encoder on a graph, given with its clean view."""
        raise NotImplementedError

    def compute_encoder(self, settings: Any, graph: Graph, report: Report) -> Encoder:
        """The encoder of a method that does not train, finished; told on the way how far that is."""
        raise NotImplementedError

    def task(self, graph: Any) -> Any:
        """The task that ``fit`` trains on a graph, for callers that drive the loop themselves."""
        graph = load_graph(graph)
        return self._task(self.settings_for(graph.name), graph)

    def run(self, graph: Any) -> Run:
        """The task that ``fit`` trains on a graph, with its optimiser, at iteration 0."""
        graph = load_graph(graph)
        return self.build_run(self.settings_for(graph.name), graph)

    def _task(self, settings: Basics, graph: Graph) -> Task:
        encoder = self._drawn(settings, Sizes.of(graph))
        return self.build_task(settings, graph, clean_view(graph, settings), encoder)

    def build_run(self, settings: Basics, graph: Graph) -> Run:
        """The run of resolved settings on a graph, at iteration 0."""
        return Run(
            self._task(settings, graph), settings.lr, settings.weight_decay, decoupled=settings.decoupled_decay,
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
        """Learn from structure and features; labels are removed before anything else, unless the method uses them.

        ``y`` is ignored: scikit-learn's pipelines pass it.
        With ``out`` the run is kept in that folder and survives being killed; ``resume`` continues it, and ``profile``
        finds out where its time goes (``outcome_.profile``). ``device`` is auto, cpu or cuda. ``progress`` shows on
        stderr how far it is, ``report`` is called after every iteration, and checkpoints are ``save_every`` seconds
        apart. A collapse is an error, unless ``stop_on_collapse`` is off.
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
        """Train one copy of this model per encoder seed, all at once; each equals the one trained alone.

        With ``out`` every run has a folder in that folder, ``seed-0``, ``seed-1`` and so on. Options as for ``fit``.
        """
        graph = load_graph(graph)
        copies, outs = self.seed_copies(seeds, out)
        fit_together(
            copies, [copy.settings_for(graph.name) for copy in copies], graph, outs, resume=resume, device=device,
            profile=profile, progress=progress, report=report, stop_on_collapse=stop_on_collapse, save_every=save_every,
        )  # fmt: skip
        return copies

    def seed_copies(self: M, seeds: Sequence[int], out: str | Path | None) -> tuple[list[M], list[Path | None]]:
        """One copy of this model per encoder seed, each with its run folder in the folder ``out``."""
        distinct = _distinct(seeds)
        outs = [None if out is None else RunFolder(out).seed_folder(seed) for seed in distinct]
        return [self._twin(seed=seed) for seed in distinct], outs

    def untrained(self: M, graph: Any) -> M:
        """The same model with freshly drawn weights and no training: the baseline that keeps everybody honest.

        A module of your own keeps the weights that it was given with; a function that makes one draws them anew.
        """
        graph = load_graph(graph)
        twin = self._twin()
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
        return clean_view(graph.to(self._device()), self.settings_)

    def _device(self) -> torch.device:
        weights = [*self.encoder_.parameters(), *self.encoder_.buffers()]
        return weights[0].device if weights else torch.device("cpu")

    @torch.no_grad()
    def embed_view(self, view: View) -> Tensor:
        """Embed a view, clean or perturbed, without dropout."""
        self._expect_fitted()
        return self.encoder_.eval()(view)

    def embed(self, graph: Any) -> Tensor:
        """Embed every node of a graph with the same features: (N, dim), on the device of the weights."""
        return self.embed_view(self.view(graph))

    def transform(self, graph: Any) -> np.ndarray:
        """The embeddings as scikit-learn has them: (N, dim) float32, rows in the graph's order."""
        graph = load_graph(graph)
        z = self.embed(graph).float().cpu().numpy()
        if getattr(self, "_sklearn_output_config", {}).get("transform") != "pandas":
            return z
        return import_module("pandas").DataFrame(z, index=graph.ids, columns=_names(z.shape[1]))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The names of the columns that ``transform`` gives, as in files of embeddings: e0, e1, …"""
        self._expect_fitted()
        pair = Graph.from_edges([0], [1], np.zeros((2, self.facts_["num_features"]), np.float32))
        return _names(self.embed_view(clean_view(pair.to(self._device()), self.settings_)).shape[1])

    def fit_transform(self, graph: Any, y: None = None, **options: Any) -> np.ndarray:
        """Fit, then embed the same graph; ``y`` is ignored. Options as for ``fit``."""
        graph = load_graph(graph)
        return self.fit(graph, **options).transform(graph)

    def save(self, path: str | Path) -> None:
        """Write settings, facts and weights to a folder that ``load`` reads."""
        self._expect_fitted()
        folder = RunFolder(path)
        with folder.alone():
            folder.save_model(to_toml(self.settings_), self.facts_, self.encoder_.state_dict())

    @classmethod
    def load(cls: type[M], path: str | Path, **parts: Any) -> M:
        """Read a run folder or a saved model; ``parts`` of your own that it was made with are needed again."""
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
        settings = build(METHODS[cls.name], config, str(folder.config))
        model = cls(**{field.name: getattr(settings, field.name) for field in fields(settings)})
        model.set_params(**{name: part for name, part in parts.items() if part is not None})
        info = folder.read_info()
        model.settings_, model.facts_ = settings, info.facts
        draw = partial(model._drawn, settings, Sizes.recorded(info))
        ours = cls.build_encoder.__module__.partition(".")[0] == __name__.partition(".")[0]
        if ours and parts.get("backbone") is None:  # what users build may need more than shapes
            folder.expect_weights_of(draw, getattr(settings, "layers", 0))
        model.encoder_ = draw()
        folder.load_into(model.encoder_)
        return model


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


def clean_view(graph: Graph, settings: Basics) -> View:
    """The graph as the settings store it. On a GPU tf32 products are so fast that dense features win sooner."""
    allow_tf32 = settings.allow_tf32 and graph.pattern.device.type == "cuda"
    return graph.view(
        edge_value=settings.edge_value,
        loop_value=settings.loop_value,
        normalize=settings.normalize_features,
        dense_above=0.03 if allow_tf32 else 1.0,
    )
