"""Training of one or several models on one graph: checks, run folders, resuming, and what the models are afterwards."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, Protocol

import torch

from ..config import to_toml
from ..errors import SignnapError
from ..graph import Graph
from ..interfaces import Encoder, Objective
from ..train.health import Health
from ..train.profile import Profiler
from ..train.progress import Report, silent
from ..train.progress import progress as show_progress
from ..train.run import Run
from ..train.run_folder import RunFolder
from ..train.run_info import RunInfo, choose_device, hash_of_labels
from ..train.session import Interrupted, Outcome, Timetable, Trainee, train
from .input_checks import described, expect_same_parts, note_features, note_time, note_unused
from .settings import BaseSettings


class Trainable(Protocol):
    """What this module needs of a model (``methods.base.Method``)."""

    name: ClassVar[str]
    trains: ClassVar[bool]
    time: ClassVar[str]
    reads_features: ClassVar[bool]
    unit: ClassVar[str]
    extendable: ClassVar[bool]
    ignored_settings: ClassVar[Sequence[str]]
    own_parts: ClassVar[Mapping[str, Sequence[str]]]

    def get_params(self) -> dict[str, Any]: ...

    def training_view(self, graph: Graph, split: str) -> Graph: ...

    def own(self, graph: Graph) -> dict[str, Any]: ...

    def num_steps(self, settings: Any, nodes: int) -> int: ...

    def build_run(self, settings: Any, graph: Graph) -> Run: ...

    def compute_encoder(self, settings: Any, graph: Graph, report: Report) -> Encoder: ...

    def take_over(self, settings: Any, encoder: Encoder, info: RunInfo, outcome: Outcome | None) -> None: ...


@dataclass(frozen=True)
class _Plan:
    """A model to train, its settings, the training view of the graph, the record of the run, and its folder, if any."""

    model: Trainable
    settings: BaseSettings
    graph: Graph
    info: RunInfo
    folder: RunFolder | None

    @property
    def length(self) -> int:
        return self.model.num_steps(self.settings, self.graph.num_nodes)


def fit_together(
    models: Sequence[Trainable],
    settings: Sequence[BaseSettings],
    graph: Graph,
    outs: Sequence[str | Path | None],
    *,
    resume: bool,
    device: str,
    profile: bool,
    progress: bool,
    report: Report = silent,
    stop_on_collapse: bool = True,
    save_every: float = 30.0,
) -> None:
    """Train all models on one graph at once: they share the graph, its features and, on a GPU, every launch.

    ``settings`` are the resolved settings of each model. Each model becomes what it would have become alone. Before
    anything else, ``training_view`` removes the data that a method may not use: all labels, unless the method declares
    that it uses them. A profile covers all models together, and its trace is written to the first folder.
    """
    plans = _plans(models, settings, graph, outs, choose_device(device))
    if resume and any(plan.folder is None for plan in plans):
        raise SignnapError("a run is resumed from its folder: give out as well")
    if not plans[0].model.trains:
        with _shown(progress, report, plans) as on_progress:
            _compute(plans, resume, profile, on_progress)
        return
    timetable = Timetable(_length(plans), save_every=save_every)
    if profile and plans[0].folder is None:
        raise SignnapError("a profile is written to the folder of its run: give out as well")
    with _prepared(plans, resume, profile) as (trainees, profiler), _shown(progress, report, plans[:1]) as on_progress:
        with _begun(plans, trainees, resume):
            outcomes = train(
                trainees, timetable, report=on_progress, stop_on_collapse=stop_on_collapse, profiler=profiler
            )
        for plan, trainee, outcome in zip(plans, trainees, outcomes, strict=True):
            info = _take_over(plan, trainee.run.encoder, outcome)
            if plan.folder is not None:
                plan.folder.write_facts(info.facts)


def _plans(
    models: Sequence[Trainable],
    chosen: Sequence[BaseSettings],
    graph: Graph,
    outs: Sequence[str | Path | None],
    device: torch.device,
) -> list[_Plan]:
    views = {s.split: model.training_view(graph, s.split).to(device) for model, s in zip(models, chosen, strict=True)}
    _remark(models[0], chosen[0], graph)
    known = {split: RunInfo.of(view, **hash_of_labels(view)) for split, view in views.items()}
    plans: list[_Plan] = []
    for model, settings, out in zip(models, chosen, outs, strict=True):
        view = views[settings.split]
        own = model.own(view)
        for part in () if plans else own:
            note_unused(model.name, model.get_params(), model.own_parts[part], f"the {part} is your own")
        info = known[settings.split].with_facts(**{name: described(part) for name, part in own.items()})
        folder = None if out is None else RunFolder(out)
        plans.append(_Plan(model, settings, view, info, folder))
    return plans


def _remark(model: Trainable, settings: BaseSettings, graph: Graph) -> None:
    """Log why the method may be slow or ineffective on this graph, and which parameters it ignores."""
    note_time(model.name, model.time, graph.num_nodes)
    if model.reads_features:
        note_features(graph, settings.normalize_features)
    note_unused(model.name, model.get_params(), model.ignored_settings, "it learns nothing by gradient")


def _length(plans: Sequence[_Plan]) -> int:
    lengths = sorted({plan.settings.iterations for plan in plans})
    if len(lengths) > 1:
        raise SignnapError(f"models for {lengths} iterations were given: trained together they need equally many")
    return lengths[0]


@contextmanager
def _prepared(plans: Sequence[_Plan], resume: bool, profile: bool) -> Iterator[tuple[list[Trainee], Profiler | None]]:
    """Take the folders and build the runs."""
    with ExitStack() as held, _removing_new_folders(plans):
        _take_folders(plans, resume, held)
        trainees = [_trainee(plan) for plan in plans]
        left = plans[0].settings.iterations - min(trainee.run.iteration for trainee in trainees)
        profiler = Profiler(plans[0].folder.trace, left) if profile and plans[0].folder else None
        yield trainees, profiler


def _compute(plans: Sequence[_Plan], resume: bool, profile: bool, report: Report) -> None:
    """Fit models without iterations one after the other. They cannot be resumed or profiled."""
    if profile:
        raise SignnapError(f"{plans[0].model.name} has no iterations to profile")
    with ExitStack() as held, _removing_new_folders(plans):
        _take_folders(plans, resume, held)
        for number, plan in enumerate(plans):
            begun, before = time.perf_counter(), number * plan.length
            on_progress = lambda done, words="", before=before: report(before + done, words)
            encoder = plan.model.compute_encoder(plan.settings, plan.graph, on_progress)
            info = _take_over(plan, encoder, Outcome(0, time.perf_counter() - begun, {}))
            if plan.folder is not None:
                plan.folder.save_model(to_toml(plan.settings), info.facts, encoder.state_dict())


@contextmanager
def _removing_new_folders(plans: Sequence[_Plan]) -> Iterator[None]:
    """If the block fails, remove the folders that it has made and left empty."""
    folders = [plan.folder for plan in plans if plan.folder is not None]
    made = [path for each in folders for path in (each.path, *each.path.parents) if not os.path.exists(path)]
    try:
        yield
    except BaseException:
        for path in made:
            with suppress(OSError):  # the folder is not empty
                path.rmdir()
        raise


def _take_folders(plans: Sequence[_Plan], resume: bool, held: ExitStack) -> None:
    """Lock the folders against other processes, and check that they are free or hold the runs to be resumed."""
    for plan in plans:
        if plan.folder is not None:
            held.enter_context(plan.folder.alone())
    # Of several runs some may have been killed before they began; these begin now.
    kept = [(plan, plan.folder) for plan in plans if plan.folder is not None]
    for plan, folder in [(plan, folder) for plan, folder in kept if folder.exists()] or kept:
        check_resumable(folder, plan.settings, plan.info, resume, extendable=plan.model.extendable)


@contextmanager
def _shown(wanted: bool, report: Report, plans: Sequence[_Plan]) -> Iterator[Report]:
    """Yield a function that receives the progress of these plans: ``report``, and the display if it is wanted."""
    if not wanted:
        yield report
        return
    with show_progress(sum(plan.length for plan in plans), plans[0].model.unit) as show:

        def both(iteration: float, words: str = "") -> None:
            show(iteration, words)
            report(iteration, words)

        yield both


def _trainee(plan: _Plan) -> Trainee:
    """Start a run, or restore it from its last checkpoint."""
    run = plan.model.build_run(plan.settings, plan.graph)
    if plan.folder is not None and plan.folder.exists():
        plan.folder.restore(run, plan.settings.iterations)
    objective = dict(run.task.modules.items()).get("objective")
    chance = objective.chance() if isinstance(objective, Objective) else None
    single = plan.graph.num_nodes == 1  # the embedding of one node is always constant
    own = {name: plan.info.facts[name] for name in plan.model.own_parts if name in plan.info.facts}
    return Trainee(run, None if single else Health(chance, settings=asdict(plan.settings) | own), plan.folder)


@contextmanager
def _begun(plans: Sequence[_Plan], trainees: Sequence[Trainee], resume: bool) -> Iterator[None]:
    """Write settings and records to the folders, and clean up if training does not end normally.

    If the user interrupts training, the models keep what they have learned. If training fails, the models stay as they
    were. A new run that fails before its first iteration is over, or is interrupted before anything is saved, leaves
    nothing behind: there would be nothing to resume, and its folder would refuse other settings.
    """
    begun: list[RunFolder] = []
    try:
        for plan in plans:
            if plan.folder is not None:
                plan.folder.begin(to_toml(plan.settings), plan.info.facts)
                begun.append(plan.folder)
        yield
    except (Interrupted, KeyboardInterrupt):
        for plan, trainee in zip(plans, trainees, strict=True):
            if trainee.run.iteration:
                _take_over(plan, trainee.run.encoder)
        if not resume and not any(folder.can_continue() for folder in begun):
            _withdraw(begun)
        raise
    except Exception:
        if not resume and not any(trainee.run.iteration for trainee in trainees):
            _withdraw(begun)
        raise


def _withdraw(folders: Sequence[RunFolder]) -> None:
    for folder in folders:
        folder.withdraw()


def _take_over(plan: _Plan, encoder: Any, outcome: Outcome | None = None) -> RunInfo:
    """Give a model the encoder of its run and the record of the run, which has no end if there is no outcome."""
    info = plan.info
    if outcome is not None:
        info = info.ended(outcome.iteration, outcome.seconds, outcome.numbers, outcome.collapsed)
    plan.model.take_over(plan.settings, encoder, info, outcome)
    return info


# -- resuming --------------------------------------------------------------------------------------------------------


def check_resumable(
    folder: RunFolder, settings: BaseSettings, info: RunInfo, resume: bool, *, extendable: bool
) -> None:
    """Raise an error unless a folder is free for a new run, or holds the run that is to be continued.

    An ``extendable`` method may continue with another number of iterations, unless its learning rate depends on it.
    """
    if not folder.exists():
        if resume:
            raise SignnapError(f"{folder.path} holds no run to resume: it has no {folder.config.name}")
        return
    if not resume:
        raise SignnapError(
            f"{folder.path} already holds a run: resume it (--resume, resume=True), or choose another folder"
        )
    _expect_same_settings(folder, settings, extendable)
    known = folder.read_info()
    if known.fingerprint != info.fingerprint:
        raise SignnapError(f"{folder.path} was trained on another graph than {info.graph}: cannot resume")
    if known.labels not in (None, info.labels):  # older runs have not recorded them
        raise SignnapError(f"{folder.path} was trained on other labels than those of {info.graph}: cannot resume")
    expect_same_parts(str(folder.path), known.facts, info.facts)
    before, now = (device.partition(":")[0] for device in (known.device, info.device))
    if before != now and folder.can_continue():
        raise SignnapError(
            f"{folder.path} was trained on {before}, and its random numbers go on only there: "
            f"resume it with device {before}, not {now}"
        )
    if known.finished and not folder.can_continue():
        raise SignnapError(f"{folder.path} holds a model without its training state: cannot resume")


def _expect_same_settings(folder: RunFolder, settings: BaseSettings, extendable: bool) -> None:
    # A run that is older than a setting was trained with the default of that setting.
    before = {each.name: each.default for each in fields(settings)} | folder.read_config()
    for name, value in asdict(settings).items():
        why = ""
        if before.get(name) == value:
            continue
        if name == "iterations":
            if extendable and settings.schedule == "constant":
                continue
            what = f"the schedule {settings.schedule}" if extendable else settings.method
            why = f", since {what} depends on how many there will be"
        raise SignnapError(
            f"{folder.path} was trained with {name} = {before.get(name)!r}, not {value!r}: cannot resume{why}"
        )
