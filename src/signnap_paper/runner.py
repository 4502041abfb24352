"""From cells to rows: train the encoder seeds of a cell, judge them while the next ones train."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from math import inf
from typing import Any

import torch

from signnap.data.load import load_graph
from signnap.data.splits import make_split
from signnap.errors import SignnapError
from signnap.evaluate import probe_settings
from signnap.evaluate.models import embedded, judged, judged_elsewhere, marks_of
from signnap.graph import Graph
from signnap.methods.device import choose_device
from signnap.methods.method import Method
from signnap.methods.registry import method_class
from signnap.methods.settings import probe_weight_decay
from signnap.train.progress import Report, silent

from .advance import Advance, Told
from .cells import Cell, trained_together
from .elsewhere import Job, Judges, done, judging
from .looks import find_look
from .provenance import failure, provenance
from .results import Results

#: what else is measured of one encoder, by name
Looks = dict[str, Job]


def run_cells(
    cells: Sequence[Cell],
    results: Results,
    *,
    seeds: int | Sequence[int] = 5,
    device: str = "auto",
    jobs: int = 0,
    limit: float = inf,
    report: Report = silent,
    failed: Callable[[Cell, str], None] = lambda cell, why: None,
) -> int:
    """Fill in the encoder seeds that cells lack in ``results``, and return how many cells still lack any.

    ``seeds`` is how many each cell should have, or one number for each. ``jobs`` processes judge embeddings while the
    next ones train (0: this one judges before it goes on), and after ``limit`` seconds no further training begins. A
    cell that fails is a row with its error, of which ``failed`` is told. Whatever stops this, what is judged by then is
    kept, and the next call goes on from there.
    """
    begun, todo = time.perf_counter(), results.missing(cells, seeds)
    place, advance = choose_device(device), Advance(len(cells), todo, report)
    groups = trained_together(todo)
    if place.type == "cpu":  # together they would take as long, and whatever stops this would cost them all
        groups = [(group, [seed]) for group, lacking in groups for seed in lacking]
    with judging(jobs) as judges:
        runner = _Runner(results, place, judges, failed)
        if todo:
            results.write()
        with runner.keeping():
            for group, lacking in groups:
                if time.perf_counter() - begun >= limit:
                    break
                runner.run(group, lacking, advance.within(group, lacking))
                runner.collect(wait=False)
                advance.past(group, lacking)
            runner.collect(wait=True)
    return len(results.missing(cells, seeds))


def _loader() -> Callable[[str], Graph]:
    """Keep the last graph, or why it could not be had: a download takes its time to give up, and cells are many."""

    @lru_cache(maxsize=1)
    def outcome(name: str) -> Graph | SignnapError:
        try:
            return load_graph(name)
        except SignnapError as error:
            return error

    def load(name: str) -> Graph:
        if isinstance(found := outcome(name), SignnapError):
            raise found
        return found

    return load


@dataclass
class _Runner:
    """Keeps the graph at hand, and the rows whose judges are still at work."""

    results: Results
    device: torch.device
    judges: Judges
    failed: Callable[[Cell, str], None]
    load: Callable[[str], Graph] = field(default_factory=_loader)
    pending: list[_Pending] = field(default_factory=list)
    given_up: set[str] = field(default_factory=set)

    def run(self, cells: list[Cell], seeds: list[int], told: Told) -> None:
        """Train the encoders that these cells share, and have each cell judged, but for those that failed already."""
        cells = [cell for cell in cells if cell.key not in self.given_up]
        if not cells:
            return
        row = provenance(self.device) | {"seeds": seeds}
        try:
            graph, models, cost = self._train(cells[0], seeds, told)
        except Exception as error:  # what fails must not cost the others
            for cell in cells:
                self._fail(cell, row, error)
            return
        for cell in cells:
            try:
                found = [self._judge(cell, graph, m, seed) for seed, m in zip(seeds, models, strict=True)]
            except Exception as error:
                self._fail(cell, row | cost, error)
                continue
            marks, looks = [marks for marks, _ in found], [looks for _, looks in found]
            self.pending.append(_Pending(cell, row | cost, marks, looks))

    def _train(self, cell: Cell, seeds: list[int], told: Told) -> tuple[Graph, list[Method], dict[str, Any]]:
        """The graph, a model for each seed, and what they cost."""
        graph, model = self.load(cell.graph), method_class(cell.method)(**cell.settings)
        if cell.redrawn and model.uses_labels:
            raise SignnapError(f"{cell.method} learns from the labels of one split: expected redrawn False")
        if self.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats()  # of a CPU's memory, only the most of the process is known
        steps = model.num_steps(model.settings_for(graph.name), graph.num_nodes)
        steps = steps if model.trains else steps * len(seeds)  # those that train do it together
        report: Report = lambda done, words="": told(done / (steps + 1), f"{model.unit} {done} of {steps}")
        begun = time.perf_counter()
        models = model.fit_seeds(graph, seeds, device=self.device.type, stop_on_collapse=False, report=report)
        cost = {
            "seconds": round(time.perf_counter() - begun, 3),
            "peak_memory_mb": max(m.facts_["peak_memory_mb"] for m in models),
            "iterations": [m.facts_["iterations"] for m in models],
            "resolved": resolved(models[0].settings_),
        }
        ends = zip(seeds, (m.facts_.get("collapsed") for m in models), strict=True)
        if collapsed := {str(seed): why for seed, why in ends if why}:  # JSON knows no other keys
            cost["collapsed"] = collapsed
        return graph, models, cost

    def _judge(self, cell: Cell, graph: Graph, model: Method, seed: int) -> tuple[Job, Looks]:
        """Hand an encoder to its judges: here where they need the encoder, elsewhere where its rows are enough."""
        parts = make_split(graph, cell.split, seed=seed if cell.redrawn else 0)
        assert graph.y is not None  # or there would be no split
        (z,) = embedded([model], graph, parts)
        arrays = z.numpy(), graph.y.numpy(), [part.numpy() for part in (parts.train, parts.val, parts.test)]
        decay = probe_weight_decay(graph.name)
        if model.uses_labels or cell.dropped:
            options: dict[str, Any] = {"probe": cell.probe, "seeds": range(cell.probe_seeds), "dropped": cell.dropped}
            marks = done(marks_of(judged([model], graph, parts, **options)))
        else:
            marks = self.judges.ask(judged_elsewhere, *arrays, cell.probe, cell.probe_seeds, decay)
        looks: Looks = {}
        for name in cell.looks:
            look = find_look(name)
            if look.first_only and seed:
                looks[name] = done(None)
            elif look.of_model:
                looks[name] = done(look.measure(model, graph, parts))
            else:
                rules = None if model.uses_labels else probe_settings(cell.probe, decay)
                looks[name] = self.judges.ask(look.measure, *arrays, rules)
        return marks, looks

    def collect(self, *, wait: bool) -> None:
        """Write the rows whose judges are done; with ``wait``, all."""
        for entry in list(self.pending):
            if not wait and not entry.is_done():
                continue
            try:
                found = entry.found()
            except Exception as error:
                self._fail(entry.cell, entry.row, error)
            else:
                self.results.add(entry.cell, entry.row | found)
            self.pending.remove(entry)

    @contextmanager
    def keeping(self) -> Iterator[None]:
        """Whatever stops the block, write what is judged first; what a killed judge has left would take its time."""
        try:
            yield
        except BaseException:
            self.pending = [entry for entry in self.pending if entry.is_done() and not entry.is_lost()]
            self.collect(wait=True)
            raise

    def _fail(self, cell: Cell, row: dict[str, Any], error: Exception) -> None:
        """Write the error in the place of a result, and tell of it."""
        why = failure(error)
        self.results.add(cell, row | why)
        if cell.key not in self.given_up:
            self.failed(cell, why["error"].removeprefix("SignnapError: "))
        self.given_up.add(cell.key)


@dataclass
class _Pending:
    """A row whose judges are still at work: their marks and looks for every encoder seed."""

    cell: Cell
    row: dict[str, Any]
    marks: list[Job]
    looks: list[Looks]

    def _jobs(self) -> list[Job]:
        return [*self.marks, *(job for looks in self.looks for job in looks.values())]

    def is_done(self) -> bool:
        return all(job.is_done() for job in self._jobs())

    def is_lost(self) -> bool:
        return any(job.is_lost() for job in self._jobs())

    def found(self) -> dict[str, Any]:
        marks = [job.result() for job in self.marks]
        tests, vals = ([[mark[which] for mark in each] for each in marks] for which in (0, 1))
        looks = {name: [each[name].result() for each in self.looks] for name in self.cell.looks}
        return {"test": tests, "val": vals, **({"looks": looks} if looks else {})}


def resolved(settings: Any) -> dict[str, Any]:
    """All settings but the seed, so that a row tells when a preset has changed since."""
    return {name: value for name, value in asdict(settings).items() if name != "seed"}
