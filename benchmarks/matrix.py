"""The paper's whole table: every backbone on every graph, five encoder seeds each, trained and judged, by the clock.

``python benchmarks/matrix.py --out results/matrix.json --limit-seconds 540``; run again, it goes on where it stopped.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from record import Record

    from signnap import Graph, Split

BEGUN = time.perf_counter()  # what is heavy is imported after this, and so counts

#: The graph whose probes take longest comes first: they run beside the training on the others.
GRAPHS = ("coauthor_physics", "pubmed", "facebook", "coauthor_cs", "amazon_computers", "amazon_photo")
BACKBONES = ("gcn", "resgcn", "jknet", "sage", "gat")

ABOUT = """
Test accuracy in % on the paper's splits (linear probe; mean over the probe seeds, then mean and sample standard
deviation over the encoder seeds), with the paper's settings. All encoder seeds of a cell are trained at once, to the
last iteration whatever happens, and judged on the CPU while the next cell trains. The clock starts with the process, so
it covers imports, loading, training, embedding and judging.
""".strip()
COLUMNS = {
    "graph": "graph", "backbone": "backbone", "mean": "accuracy, %", "std": "± over encoder seeds",
    "training_seconds": "training, s", "iterations_per_second": "iterations per second, all seeds",
    "wall_seconds": "wall clock so far, s", "error": "error",
}  # fmt: skip


def since_start() -> float:
    """Seconds since this process began."""
    return time.perf_counter() - BEGUN


def judged(
    z: np.ndarray, y: np.ndarray, parts: tuple[np.ndarray, ...], seeds: int, weight_decay: float
) -> tuple[float, float]:
    """Test accuracy of one encoder, averaged over probe seeds, and the seconds it took; runs in a worker.

    It takes plain arrays: tensors would travel through shared memory, of which containers have little.
    """
    import torch

    from signnap.evaluate import score

    begun = time.perf_counter()
    nodes = [torch.from_numpy(part) for part in parts]
    result = score([torch.from_numpy(z)], torch.from_numpy(y), *nodes, seeds=range(seeds), weight_decay=weight_decay)
    return result.accuracy.mean, time.perf_counter() - begun


def one_thread() -> None:
    """Keep a worker to one core: there is a worker for each."""
    import torch

    torch.set_num_threads(1)


@dataclass
class Matrix:
    """Trains cells one after another; what is trained waits in ``pending`` for its judges."""

    record: Record
    options: argparse.Namespace
    pool: ProcessPoolExecutor
    earlier_seconds: float
    pending: list[tuple[dict[str, Any], list[Future[tuple[float, float]]]]] = field(default_factory=list)

    def run(self) -> None:
        """Train and judge all cells, or as many as the limit allows."""
        for graph, parts, backbone in self.cells():
            if since_start() + self.expected_seconds() > self.options.limit_seconds:
                print("stopped at the limit: run the same command again to go on", file=sys.stderr)
                break
            self.train(graph, parts, backbone)
            self.collect(wait=False)
        self.collect(wait=True)

    def cells(self) -> Iterator[tuple[Graph, Split, str]]:
        """Graphs, their splits and backbones that have no result yet; a graph is loaded when its turn comes."""
        from signnap import load_graph, make_split

        for name in self.options.graphs:
            left = [b for b in self.options.backbones if not self.record.holds(graph=name, backbone=b)]
            if left:
                graph = load_graph(name)
                parts = make_split(graph, "paper")
                yield from ((graph, parts, backbone) for backbone in left)

    def expected_seconds(self) -> float:
        """What another cell and all probes that are left may take, judging by the longest so far."""
        longest = lambda name, rows: max((row.get(name, 0.0) for row in rows), default=0.0)
        training = longest("training_seconds", [*self.record.rows, *(row for row, _ in self.pending)])
        left = self.options.seeds + sum(not job.done() for _, jobs in self.pending for job in jobs)
        rounds = math.ceil(left / self.options.workers)
        return 1.25 * (training + rounds * longest("longest_probe_seconds", self.record.rows))

    def train(self, graph: Graph, parts: Split, backbone: str) -> None:
        """Train all seeds of a cell at once and hand their embeddings to the judges."""
        from signnap import SIGNNAP
        from signnap.experiments.judge import embedded
        from signnap.experiments.provenance import failure
        from signnap.methods.settings import probe_weight_decay

        seeds, iterations = self.options.seeds, self.options.iterations
        row: dict[str, Any] = {"graph": graph.name, "backbone": backbone}
        begun = time.perf_counter()
        try:
            model = SIGNNAP(backbone, iterations=iterations, precision=self.options.precision)
            models = model.fit_seeds(graph, range(seeds), stop_on_collapse=False)
            seconds = time.perf_counter() - begun
            rows = embedded(models, graph, parts)
        except Exception as error:  # one cell that fails must not cost the others
            self.record.add(row | failure(error))
            self.save()
            return
        row |= {"training_seconds": seconds, "iterations_per_second": seeds * iterations / seconds}
        split = tuple(part.numpy() for part in (parts.train, parts.val, parts.test))
        rules = (self.options.probe_seeds, probe_weight_decay(graph.name))
        jobs = [self.pool.submit(judged, z.numpy(), graph.y.numpy(), split, *rules) for z in rows]
        self.pending.append((row, jobs))
        print(f"{graph.name} {backbone}: trained in {seconds:.1f} s", file=sys.stderr, flush=True)

    def collect(self, *, wait: bool) -> None:
        """Write the cells whose judges are done; with ``wait``, all."""
        from signnap.evaluate import summarize
        from signnap.experiments.provenance import failure

        for row, jobs in list(self.pending):
            if not wait and not all(job.done() for job in jobs):
                continue
            try:
                accuracies, seconds = zip(*(job.result() for job in jobs), strict=True)
                summary = summarize(accuracies)
                row.update(accuracies=summary.values, mean=summary.mean, std=summary.std)
                row.update(longest_probe_seconds=max(seconds), wall_seconds=self.wall_seconds())
            except Exception as error:
                row.update(failure(error))
            self.pending.remove((row, jobs))
            self.record.add(row)
            self.save()

    def wall_seconds(self) -> float:
        return self.earlier_seconds + since_start()

    def save(self) -> None:
        self.record.session["wall_seconds"] = since_start()
        done = [row for row in self.record.rows if "error" not in row]
        self.record.content["found"] = {
            "cells": len(done),
            "training, s": sum(row["training_seconds"] for row in done),
            "wall clock, s": self.wall_seconds(),
        }
        self.record.save()


def main() -> None:
    """Open the record and the workers, then run."""
    options = _options()
    from record import Record

    protocol = {
        "preset": "paper", "split": "paper", "probe": "linear", "iterations": options.iterations,
        "precision": options.precision, "encoder seeds": list(range(options.seeds)),
        "probe seeds": list(range(options.probe_seeds)),
    }  # fmt: skip
    record = Record(
        options.out, title="The whole matrix", about=ABOUT, protocol=protocol, keys=["graph", "backbone"],
        columns=COLUMNS,
    )  # fmt: skip
    earlier = sum(session.get("wall_seconds", 0.0) for session in record.content["sessions"])
    with ProcessPoolExecutor(options.workers, get_context("spawn"), one_thread) as pool:
        Matrix(record, options, pool, earlier).run()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="the JSON file to write or to continue")
    parser.add_argument("--graphs", nargs="+", default=None, help="only these (default: the paper's six)")
    parser.add_argument("--backbones", nargs="+", default=None, choices=BACKBONES, help="only these")
    parser.add_argument("--seeds", type=int, default=None, help="encoder seeds, from 0 (default: 5)")
    parser.add_argument("--iterations", type=int, default=None, help="default: 5000, as in the paper")
    parser.add_argument("--precision", default="float32", help="of a GPU's products: float32, tf32 or bf16")
    parser.add_argument(
        "--limit-seconds", type=float, default=float("inf"), help="begin no cell that may end after this"
    )
    parser.add_argument("--workers", type=int, default=min(12, os.cpu_count() or 1), help="processes that judge")
    parser.add_argument("--quick", action="store_true", help="a try: the synthetic graph, two backbones, no precision")
    options = parser.parse_args()
    full = {"graphs": GRAPHS, "backbones": BACKBONES, "seeds": 5, "iterations": 5000, "probe_seeds": 5}
    quick = {"graphs": ["synthetic"], "backbones": ["gcn", "gat"], "seeds": 2, "iterations": 3, "probe_seeds": 2}
    for name, value in (quick if options.quick else full).items():
        setattr(options, name, getattr(options, name, None) or value)
    return options


if __name__ == "__main__":
    main()
