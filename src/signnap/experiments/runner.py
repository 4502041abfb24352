"""From cells to rows: train every encoder seed of a cell at once, judge it while the next one trains."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf
from multiprocessing import get_context
from typing import Any

import numpy as np
import torch

from ..data import load_graph, make_split
from ..evaluate import Score, score
from ..graph import Graph
from ..methods.facts import choose_device
from ..methods.method import Method
from ..methods.registry import method_class
from ..methods.settings import probe_weight_decay
from ..train.progress import Report, silent
from .cells import Cell, Results
from .judge import embedded, judged
from .provenance import failure, provenance

#: test and validation accuracy in % of every probe of one encoder
Marks = list[tuple[float, float]]


def run_cells(
    cells: Sequence[Cell],
    results: Results,
    *,
    device: str = "auto",
    jobs: int = 0,
    limit: float = inf,
    report: Report = silent,
) -> int:
    """Fill in the cells that ``results`` lacks, and return how many are still missing.

    ``jobs`` processes judge embeddings while the next cell trains (0: this one judges before it goes on), and after
    ``limit`` seconds no further cell is begun. A cell that fails is a row with its error. Whatever stops this, the rows
    that are written stay, and the next call goes on from there.
    """
    begun, todo = time.perf_counter(), results.missing(cells)
    done = len(cells) - len(todo)
    with _pool(jobs) as pool:
        runner = _Runner(results, choose_device(device), pool)
        for cell in sorted(todo, key=lambda cell: [c.graph for c in cells].index(cell.graph)):
            if time.perf_counter() - begun > limit:
                break
            runner.run(cell)
            done += 1
            report(done, str(cell))
            runner.collect(wait=False)
        runner.collect(wait=True)
    return len(results.missing(cells))


@dataclass
class _Runner:
    """Holds the graph at hand, and the rows whose judges are still at work."""

    results: Results
    device: torch.device
    pool: ProcessPoolExecutor | None
    graph: Graph | None = None
    pending: list[tuple[Cell, dict[str, Any], list[Future[Marks]]]] = field(default_factory=list)

    def run(self, cell: Cell) -> None:
        row = provenance(self.device)
        begun = time.perf_counter()
        try:
            if self.graph is None or self.graph.name != cell.graph:
                self.graph = load_graph(cell.graph)
            model = method_class(cell.method)(**cell.settings)
            models = model.fit_seeds(
                self.graph, range(cell.encoder_seeds), device=self.device.type, stop_on_collapse=False
            )
            row |= {"seconds": round(time.perf_counter() - begun, 3)}
            row |= {"iterations": [m.facts_["iterations"] for m in models]}
            jobs = [self._judge(cell, self.graph, m, number) for number, m in enumerate(models)]
        except Exception as error:  # one cell that fails must not cost the others
            self.results.add(cell, row | failure(error))
            return
        self.pending.append((cell, row, jobs))

    def _judge(self, cell: Cell, graph: Graph, model: Method, number: int) -> Future[Marks]:
        """Hand an encoder to its judge: here where it needs the encoder, elsewhere where its rows are enough."""
        parts = make_split(graph, cell.split, seed=number if cell.redrawn else 0)
        here: Future[Marks] = Future()
        if model.uses_labels or cell.dropped:
            options: dict[str, Any] = {"probe": cell.probe, "seeds": range(cell.probe_seeds), "dropped": cell.dropped}
            here.set_result(_marks(judged([model], graph, parts, **options)))
            return here
        (z,) = embedded([model], graph, parts)
        assert graph.y is not None  # or there would be no split
        arrays = z.numpy(), graph.y.numpy(), [part.numpy() for part in (parts.train, parts.val, parts.test)]
        rules = cell.probe, cell.probe_seeds, probe_weight_decay(graph.name)
        if self.pool is not None:
            return self.pool.submit(_judged_elsewhere, *arrays, *rules)
        here.set_result(_judged_elsewhere(*arrays, *rules))
        return here

    def collect(self, *, wait: bool) -> None:
        """Write the rows whose judges are done; with ``wait``, all."""
        for entry in list(self.pending):
            cell, row, jobs = entry
            if not wait and not all(job.done() for job in jobs):
                continue
            try:
                marks = [job.result() for job in jobs]
                row |= {"test": [[test for test, _ in m] for m in marks], "val": [[val for _, val in m] for m in marks]}
            except Exception as error:
                row |= failure(error)
            self.pending.remove(entry)
            self.results.add(cell, row)


def _judged_elsewhere(
    z: np.ndarray, y: np.ndarray, parts: Sequence[np.ndarray], probe: str, seeds: int, weight_decay: float
) -> Marks:
    """Plain arrays in and out: tensors would travel through shared memory, of which containers have little."""
    nodes = [torch.from_numpy(part) for part in parts]
    options: dict[str, Any] = {"probe": probe, "seeds": range(seeds), "weight_decay": weight_decay}
    return _marks(score([torch.from_numpy(z)], torch.from_numpy(y), *nodes, **options))


def _marks(found: Score) -> Marks:
    (test,), (val,) = found.runs, found.val_runs
    return [*zip(test, val, strict=True)]


@contextmanager
def _pool(jobs: int) -> Iterator[ProcessPoolExecutor | None]:
    if not jobs:
        yield None
        return
    with ProcessPoolExecutor(jobs, get_context("spawn"), _one_core) as pool:
        yield pool


def _one_core() -> None:
    """Keep a judge to one core: there is one for each."""
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
    torch.set_num_threads(1)
