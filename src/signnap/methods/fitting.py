"""From models and a graph to trained models: one run each, in one loop, kept in folders where wanted."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..config import to_toml
from ..errors import SignnapError
from ..graph import Graph
from ..interfaces import Objective
from ..train.health import Health
from ..train.profile import Profiler
from ..train.progress import Report, silent
from ..train.progress import progress as show_progress
from ..train.run_folder import RunFolder
from ..train.session import Interrupted, Outcome, Timetable, Trainee, train
from .device import choose_device
from .facts import check_resumable, label_facts, run_facts
from .notes import note_graph, note_unused
from .own_parts import described
from .sizes import Sizes

if TYPE_CHECKING:
    import torch

    from .basics import Basics
    from .method import Method


@dataclass(frozen=True)
class _Plan:
    """A model to train: how, on what it may see, what is recorded about that, and the folder that keeps it, if any."""

    model: Method
    settings: Basics
    graph: Graph
    facts: dict[str, Any]
    folder: RunFolder | None

    @property
    def length(self) -> int:
        return self.model.num_steps(self.settings, self.graph.num_nodes)


def fit_together(
    models: Sequence[Method],
    settings: Sequence[Basics],
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
    anything else, ``may_see`` removes the data that a method may not use: all labels, unless the method declares that
    it uses them. A profile covers all models together, and its trace is written to the first folder.
    """
    plans = _plans(models, settings, graph, outs, choose_device(device))
    if resume and any(plan.folder is None for plan in plans):
        raise SignnapError("a run is resumed from its folder: give out as well")
    if not plans[0].model.trains:
        with _shown(progress, report, plans) as told:
            _compute(plans, resume, profile, told)
        return
    timetable = Timetable(_length(plans), save_every=save_every)
    if profile and plans[0].folder is None:
        raise SignnapError("a profile is written to the folder of its run: give out as well")
    with _prepared(plans, resume, profile) as (trainees, profiler), _shown(progress, report, plans[:1]) as told:
        with _begun(plans, trainees, resume):
            outcomes = train(trainees, timetable, report=told, stop_on_collapse=stop_on_collapse, profiler=profiler)
        for plan, trainee, outcome in zip(plans, trainees, outcomes, strict=True):
            _take_over(plan, trainee.run.encoder, outcome)
            if plan.folder is not None:
                plan.folder.write_facts(plan.model.facts_)


def _plans(
    models: Sequence[Method],
    chosen: Sequence[Basics],
    graph: Graph,
    outs: Sequence[str | Path | None],
    device: torch.device,
) -> list[_Plan]:
    seen = {s.split: model.may_see(graph, s.split).to(device) for model, s in zip(models, chosen, strict=True)}
    note_graph(models[0], chosen[0], graph)
    note_unused(models[0].name, models[0].get_params(), models[0].no_use, "it learns nothing by gradient")
    known = {split: run_facts(part) | label_facts(part) for split, part in seen.items()}
    plans: list[_Plan] = []
    for model, settings, out in zip(models, chosen, outs, strict=True):
        own = model.own(Sizes.of(seen[settings.split]))
        for part in () if plans else own:
            note_unused(model.name, model.get_params(), model.own_parts[part], f"the {part} is your own")
        facts = known[settings.split] | {name: described(part) for name, part in own.items()}
        folder = None if out is None else RunFolder(out)
        plans.append(_Plan(model, settings, seen[settings.split], facts, folder))
    return plans


def _length(plans: Sequence[_Plan]) -> int:
    lengths = sorted({plan.settings.iterations for plan in plans})
    if len(lengths) > 1:
        raise SignnapError(f"models for {lengths} iterations were given: trained together they need equally many")
    return lengths[0]


@contextmanager
def _prepared(plans: Sequence[_Plan], resume: bool, profile: bool) -> Iterator[tuple[list[Trainee], Profiler | None]]:
    """Runs that are ready to be trained, in folders that are theirs."""
    with ExitStack() as held, _possible(plans):
        _take_folders(plans, resume, held)
        trainees = [_trainee(plan) for plan in plans]
        left = plans[0].settings.iterations - min(trainee.run.iteration for trainee in trainees)
        profiler = Profiler(plans[0].folder.trace, left) if profile and plans[0].folder else None
        yield trainees, profiler


def _compute(plans: Sequence[_Plan], resume: bool, profile: bool, report: Report) -> None:
    """Fit models that have nothing to iterate, to resume or to profile, one after the other."""
    if profile:
        raise SignnapError(f"{plans[0].model.name} has no iterations to profile")
    with ExitStack() as held, _possible(plans):
        _take_folders(plans, resume, held)
        for number, plan in enumerate(plans):
            begun, before = time.perf_counter(), number * plan.length
            told = lambda done, words="", before=before: report(before + done, words)
            encoder = plan.model.compute_encoder(plan.settings, plan.graph, told)
            _take_over(plan, encoder, Outcome(0, time.perf_counter() - begun, {}))
            if plan.folder is not None:
                plan.folder.save_model(to_toml(plan.settings), plan.model.facts_, encoder.state_dict())


@contextmanager
def _possible(plans: Sequence[_Plan]) -> Iterator[None]:
    """Remove folders that were made for runs that turn out to be impossible, or have left nothing there."""
    folders = [plan.folder for plan in plans if plan.folder is not None]
    made = [path for each in folders for path in (each.path, *each.path.parents) if not os.path.exists(path)]
    try:
        yield
    except BaseException:
        for path in made:
            with suppress(OSError):  # others have put something there
                path.rmdir()
        raise


def _take_folders(plans: Sequence[_Plan], resume: bool, held: ExitStack) -> None:
    """Keep other processes from writing to the folders, and make sure that they are the plans' own."""
    for plan in plans:
        if plan.folder is not None:
            held.enter_context(plan.folder.alone())
    _expect_resumable(plans, resume)


@contextmanager
def _shown(wanted: bool, report: Report, plans: Sequence[_Plan]) -> Iterator[Report]:
    """What to call on the way through these plans: the report and, where it is wanted, what a person sees."""
    if not wanted:
        yield report
        return
    with show_progress(sum(plan.length for plan in plans), plans[0].model.unit) as show:

        def both(iteration: float, words: str = "") -> None:
            show(iteration, words)
            report(iteration, words)

        yield both


def _expect_resumable(plans: Sequence[_Plan], resume: bool) -> None:
    """Make sure of every folder that is in use; of several runs, those killed before they were there begin now."""
    kept = [(plan, plan.folder) for plan in plans if plan.folder is not None]
    for plan, folder in [(plan, folder) for plan, folder in kept if folder.exists()] or kept:
        check_resumable(folder, plan.settings, plan.facts, resume, extendable=plan.model.extendable)


def _trainee(plan: _Plan) -> Trainee:
    """Begin one run or bring it back to its last checkpoint."""
    run = plan.model.build_run(plan.settings, plan.graph)
    if plan.folder is not None and plan.folder.exists():
        plan.folder.restore(run, plan.settings.iterations)
    objective = dict(run.task.modules.items()).get("objective")
    chance = objective.chance() if isinstance(objective, Objective) else None
    lonely = plan.graph.num_nodes == 1  # one node always equals itself
    own = {name: plan.facts[name] for name in plan.model.own_parts if name in plan.facts}
    return Trainee(run, None if lonely else Health(chance, settings=asdict(plan.settings) | own), plan.folder)


@contextmanager
def _begun(plans: Sequence[_Plan], trainees: Sequence[Trainee], resume: bool) -> Iterator[None]:
    """Make the folders those of runs while these are trained.

    Whoever interrupts training keeps what it has learned so far; a model whose training fails stays what it was. New
    runs that fail before an iteration is over, or are interrupted before anything is saved, leave nothing behind: there
    would be nothing to resume, and their folders would be refused to other settings.
    """
    begun: list[RunFolder] = []
    try:
        for plan in plans:
            if plan.folder is not None:
                plan.folder.begin(to_toml(plan.settings), plan.facts)
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


def _take_over(plan: _Plan, encoder: Any, outcome: Outcome | None = None) -> None:
    """Make the model what its run has learned; without an outcome, as far as it got."""
    model = plan.model
    model.settings_, model.encoder_ = plan.settings, encoder
    model.facts_ = plan.facts if outcome is None else plan.facts | run_facts(plan.graph, outcome)
    vars(model).pop("outcome_", None)  # that of an earlier fit
    if outcome is not None:
        model.outcome_ = outcome
