"""From cells to rows: train the encoder seeds of a cell, and judge them while the next ones train."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from math import inf
from typing import Any

import numpy as np
import torch

from signnap.data.load import load_graph
from signnap.data.splits import make_split
from signnap.errors import SignnapError
from signnap.evaluate import Score, probe_settings, score
from signnap.evaluate.models import embedded, judged
from signnap.graph import Graph
from signnap.methods import method_class
from signnap.methods.base import Method
from signnap.methods.settings import probe_weight_decay
from signnap.train.progress import Report, silent
from signnap.train.run_info import choose_device

from .cells import Cell, trained_together
from .measurements import find_measurement
from .provenance import failure, provenance
from .results import Results
from .workers import Job, Workers, done, working

#: Test and validation accuracy in % of every probe of one encoder.
Marks = list[tuple[float, float]]
#: What else is measured of one encoder, by name.
Measured = dict[str, Job]
#: Receives the share of a training that is done, and a few words.
OnProgress = Callable[[float, str], None]


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

    ``seeds`` is the number of seeds of every cell, or one number for each cell. ``jobs`` processes judge embeddings
    while the next ones train (0: this process judges before it goes on). After ``limit`` seconds no further training
    begins. A cell that fails becomes a row with its error, and ``failed`` receives the cell and the reason. Whatever
    stops this function, it keeps what is judged by then, and the next call goes on from there.
    """
    begun, todo = time.perf_counter(), results.missing(cells, seeds)
    place, advance = choose_device(device), _Advance(len(cells), todo, report)
    groups = trained_together(todo)
    if place.type == "cpu":  # together they would take as long, and whatever stops this would cost them all
        groups = [(group, [seed]) for group, lacking in groups for seed in lacking]
    with working(jobs) as workers:
        runner = _Runner(results, place, workers, failed)
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


class _Advance:
    """Reports how many cells are done, also in the middle of a training: a cell may take hours."""

    def __init__(self, cells: int, todo: Sequence[tuple[Cell, list[int]]], report: Report) -> None:
        self.cells, self.report = cells, report
        self.lacking = {cell.key: len(seeds) for cell, seeds in todo}
        self.left = dict(self.lacking)

    def within(self, group: Sequence[Cell], seeds: Sequence[int]) -> OnProgress:
        """Return the function that receives progress while these encoder seeds of these cells are trained."""
        before, step = self._done(), sum(len(seeds) / self.lacking[cell.key] for cell in group)
        return lambda share, words: self.report(before + step * share, f"{group[0]}, {words}")

    def past(self, group: Sequence[Cell], seeds: Sequence[int]) -> None:
        """Report that these encoder seeds are trained."""
        for cell in group:
            self.left[cell.key] -= len(seeds)
        self.report(self._done(), str(group[0]))

    def _done(self) -> float:
        return self.cells - sum(count / self.lacking[key] for key, count in self.left.items())


def _loader() -> Callable[[str], Graph]:
    """Return a function that loads a graph and keeps the last one, or its failure: a failing download takes time."""

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
    """Trains and judges cell by cell; keeps the last graph, and the rows whose workers are not done."""

    results: Results
    device: torch.device
    workers: Workers
    failed: Callable[[Cell, str], None]
    load: Callable[[str], Graph] = field(default_factory=_loader)
    pending: list[_Pending] = field(default_factory=list)
    given_up: set[str] = field(default_factory=set)

    def run(self, cells: list[Cell], seeds: list[int], on_progress: OnProgress) -> None:
        """Train the encoders that these cells share, and judge each cell, except cells that failed before."""
        cells = [cell for cell in cells if cell.key not in self.given_up]
        if not cells:
            return
        row = provenance(self.device) | {"seeds": seeds}
        try:
            graph, models, cost = self._train(cells[0], seeds, on_progress)
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
            marks, measured = [marks for marks, _ in found], [measured for _, measured in found]
            self.pending.append(_Pending(cell, row | cost, marks, measured))

    def _train(
        self, cell: Cell, seeds: list[int], on_progress: OnProgress
    ) -> tuple[Graph, list[Method], dict[str, Any]]:
        """Return the graph, a model for each seed, and their cost."""
        graph, model = self.load(cell.graph), method_class(cell.method)(**cell.settings)
        if cell.redrawn and model.uses_labels:
            raise SignnapError(f"{cell.method} learns from the labels of one split: expected redrawn False")
        if self.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats()  # on a CPU only the peak of the whole process is known
        steps = model.num_steps(model.settings_for(graph.name), graph.num_nodes)
        steps = steps if model.trains else steps * len(seeds)  # methods that train take their seeds together
        report: Report = lambda done, words="": on_progress(done / (steps + 1), f"{model.unit} {done} of {steps}")
        begun = time.perf_counter()
        models = model.fit_seeds(graph, seeds, device=self.device.type, stop_on_collapse=False, report=report)
        cost = {
            "seconds": round(time.perf_counter() - begun, 3),
            "peak_memory_mb": max(m.info_.peak_memory_mb for m in models),
            "iterations": [m.info_.iterations for m in models],
            "resolved": resolved(models[0].settings_),
        }
        ends = zip(seeds, (m.info_.collapsed for m in models), strict=True)
        if collapsed := {str(seed): why for seed, why in ends if why}:  # JSON knows no other keys
            cost["collapsed"] = collapsed
        return graph, models, cost

    def _judge(self, cell: Cell, graph: Graph, model: Method, seed: int) -> tuple[Job, Measured]:
        """Judge an encoder: in this process where the encoder is needed, by a worker where its rows are enough."""
        parts = make_split(graph, cell.split, seed=seed if cell.redrawn else 0)
        assert graph.y is not None  # or there would be no split
        (z,) = embedded([model], graph, parts)
        arrays = z.numpy(), graph.y.numpy(), [part.numpy() for part in (parts.train, parts.val, parts.test)]
        decay = probe_weight_decay(graph.name)
        if model.uses_labels or cell.dropped:
            options: dict[str, Any] = {"probe": cell.probe, "seeds": range(cell.probe_seeds), "dropped": cell.dropped}
            marks = done(_marks_of(judged([model], graph, parts, **options)))
        else:
            marks = self.workers.submit(_judge_arrays, *arrays, cell.probe, cell.probe_seeds, decay)
        measured: Measured = {}
        for name in cell.looks:
            each = find_measurement(name)
            if each.first_only and seed:
                measured[name] = done(None)
            elif each.of_model:
                measured[name] = done(each.measure(model, graph, parts))
            else:
                rules = None if model.uses_labels else probe_settings(cell.probe, decay)
                measured[name] = self.workers.submit(each.measure, *arrays, rules)
        return marks, measured

    def collect(self, *, wait: bool) -> None:
        """Write the rows whose workers are done; with ``wait``, all rows."""
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
        """Whatever stops the block, write what is judged by then; the work of killed workers is not repeated."""
        try:
            yield
        except BaseException:
            self.pending = [entry for entry in self.pending if entry.is_done() and not entry.is_lost()]
            self.collect(wait=True)
            raise

    def _fail(self, cell: Cell, row: dict[str, Any], error: Exception) -> None:
        """Write the error in the place of a result, and report it."""
        why = failure(error)
        self.results.add(cell, row | why)
        if cell.key not in self.given_up:
            self.failed(cell, why["error"].removeprefix("SignnapError: "))
        self.given_up.add(cell.key)


@dataclass
class _Pending:
    """A row whose workers are not done: their marks and measurements for every encoder seed."""

    cell: Cell
    row: dict[str, Any]
    marks: list[Job]
    measured: list[Measured]

    def _jobs(self) -> list[Job]:
        return [*self.marks, *(job for measured in self.measured for job in measured.values())]

    def is_done(self) -> bool:
        return all(job.is_done() for job in self._jobs())

    def is_lost(self) -> bool:
        return any(job.is_lost() for job in self._jobs())

    def found(self) -> dict[str, Any]:
        marks = [job.result() for job in self.marks]
        tests, vals = ([[mark[which] for mark in each] for each in marks] for which in (0, 1))
        measured = {name: [each[name].result() for each in self.measured] for name in self.cell.looks}
        return {"test": tests, "val": vals, **({"looks": measured} if measured else {})}


def resolved(settings: Any) -> dict[str, Any]:
    """Return all settings but the seed, so that a row tells when a preset has changed since."""
    return {name: value for name, value in asdict(settings).items() if name != "seed"}


def _judge_arrays(
    z: np.ndarray, y: np.ndarray, parts: Sequence[np.ndarray], probe: str, seeds: int, weight_decay: float
) -> Marks:
    """Judge embeddings in a worker. Arrays are sent, not tensors, because containers have little shared memory."""
    nodes = [torch.from_numpy(part) for part in parts]
    options: dict[str, Any] = {"probe": probe, "seeds": range(seeds), "weight_decay": weight_decay}
    return _marks_of(score([torch.from_numpy(z)], torch.from_numpy(y), *nodes, **options))


def _marks_of(found: Score) -> Marks:
    """Return the score of one encoder as rows keep it, probe by probe."""
    (test,), (val,) = found.runs, found.val_runs
    return [*zip(test, val, strict=True)]
