"""From cells to rows: train every encoder seed of a cell at once, judge it while the next one trains."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from math import inf
from multiprocessing import get_context
from typing import Any

import numpy as np
import torch

from ..data import load_graph, make_split
from ..errors import SignnapError
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
        if todo:
            results.write()
        places = list(dict.fromkeys(cell.graph for cell in cells))
        for cell in sorted(todo, key=lambda cell: places.index(cell.graph)):
            if time.perf_counter() - begun >= limit:
                break
            runner.run(cell)
            runner.collect(wait=False)
            done += 1
            report(done, str(cell))
        runner.collect(wait=True)
    return len(results.missing(cells))


@dataclass
class _Runner:
    """Keeps the graph at hand, and the rows whose judges are still at work."""

    results: Results
    device: torch.device
    pool: ProcessPoolExecutor | None
    load: Callable[[str], Graph] = field(default_factory=lambda: lru_cache(maxsize=1)(load_graph))
    pending: list[tuple[Cell, dict[str, Any], list[Future[Marks]]]] = field(default_factory=list)

    def run(self, cell: Cell) -> None:
        row = provenance(self.device)
        try:
            graph, model = self.load(cell.graph), method_class(cell.method)(**cell.settings)
            if cell.redrawn and model.uses_labels:
                raise SignnapError(f"{cell.method} learns from the labels of one split: expected redrawn False")
            begun = time.perf_counter()
            models = model.fit_seeds(graph, range(cell.encoder_seeds), device=self.device.type, stop_on_collapse=False)
            row |= {"seconds": round(time.perf_counter() - begun, 3)}
            row |= {"iterations": [m.facts_["iterations"] for m in models]}
            jobs = [self._judge(cell, graph, m, number) for number, m in enumerate(models)]
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
    with _single_threads(), ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(cancel_futures=True)  # nobody is left to read what still waits
            raise


@contextmanager
def _single_threads() -> Iterator[None]:
    """Keep new processes to one core each. They read this when they import numpy, before any code of ours runs."""
    before = {name: os.environ.get(name) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    os.environ.update(dict.fromkeys(before, "1"))
    try:
        yield
    finally:
        for name in before:
            del os.environ[name]
        os.environ.update({name: value for name, value in before.items() if value is not None})
