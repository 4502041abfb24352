"""The paper's whole table by the wall clock: five encoder seeds of every backbone on every graph, trained and judged.

``python -m signnap_paper.benchmarks.matrix --out benchmarks/results/matrix.json --limit-seconds 500``
goes on where an earlier run stopped.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..results import Results
    from .record import Record

BEGUN = time.perf_counter()  # heavy imports come later, so that the clock counts them

#: The graph whose probes take longest comes first: its probes run while the others train.
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
    "training_seconds": "training, s", "iterations_per_second": "iterations per second, all seeds", "error": "error",
}  # fmt: skip


def train_and_judge(record: Record, options: argparse.Namespace) -> None:
    """Fill in the missing cells. Their rows are kept in a file beside the record, so that a kill loses nothing."""
    from ..cells import Cell
    from ..results import Results
    from ..runner import run_cells

    wanted = {
        (graph, backbone): Cell(
            "signnap", graph, {"backbone": backbone, "iterations": options.iterations, "precision": options.precision},
            probe=options.probe, probe_seeds=options.probe_seeds,
        )
        for graph in options.graphs
        for backbone in options.backbones
        if not record.holds(graph=graph, backbone=backbone)
    }  # fmt: skip
    rows = Results(options.out.with_suffix(".jsonl"))
    told = lambda done, words="": print(f"{done} of {len(wanted)}: {words}", file=sys.stderr, flush=True)
    limit = options.limit_seconds - (time.perf_counter() - BEGUN)
    cells = list(wanted.values())
    missing = run_cells(cells, rows, seeds=options.seeds, jobs=options.workers, limit=limit, report=told)
    for (graph, backbone), cell in wanted.items():
        found = rows.find(cell, options.seeds)
        if found is not None:
            record.add({"graph": graph, "backbone": backbone, **_summary(found)})
    _save(record, rows)
    if missing:
        print(f"{missing} cells are missing: run the same command again to go on", file=sys.stderr)


def _summary(row: dict[str, Any]) -> dict[str, Any]:
    from signnap.evaluate import summarize

    if "error" in row:
        return {"error": row["error"]}
    accuracy = summarize([fmean(probes) for probes in row["test"]])
    speed = sum(row["iterations"]) / row["seconds"]
    numbers = {"accuracies": accuracy.values, "mean": accuracy.mean, "std": accuracy.std}
    return numbers | {"training_seconds": row["seconds"], "iterations_per_second": speed}


def _save(record: Record, rows: Results) -> None:
    """Write the record, and remove the rows, which are no longer needed."""
    earlier = sum(session.get("wall_seconds", 0.0) for session in record.content["sessions"])
    record.session["wall_seconds"] = time.perf_counter() - BEGUN
    done = [row for row in record.rows if "error" not in row]
    record.content["found"] = {
        "cells": len(done),
        "training, s": sum(row["training_seconds"] for row in done),
        "wall clock, s": earlier + record.session["wall_seconds"],
    }
    record.save()
    rows.path.unlink(missing_ok=True)


def main() -> None:
    """Open the record, then run."""
    options = _options()
    from .record import Record

    protocol = {
        "preset": "paper", "split": "paper", "probe": options.probe, "iterations": options.iterations,
        "precision": options.precision, "encoder seeds": list(range(options.seeds)),
        "probe seeds": list(range(options.probe_seeds)),
    }  # fmt: skip
    record = Record(
        options.out, title="The whole matrix", about=ABOUT, protocol=protocol, keys=["graph", "backbone"],
        columns=COLUMNS,
    )  # fmt: skip
    train_and_judge(record, options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="the JSON file to write or to continue")
    parser.add_argument("--graphs", nargs="+", default=None, help="only these (default: the paper's six)")
    parser.add_argument("--backbones", nargs="+", default=None, choices=BACKBONES, help="only these")
    parser.add_argument("--seeds", type=int, default=None, help="encoder seeds, from 0 (default: 5)")
    parser.add_argument("--iterations", type=int, default=None, help="default: 5000, as in the paper")
    parser.add_argument("--precision", default="float32", help="of a GPU's products: float32, tf32 or bf16")
    parser.add_argument(
        "--limit-seconds", type=float, default=float("inf"), help="begin no further cell after so many seconds"
    )
    parser.add_argument("--workers", type=int, default=min(12, os.cpu_count() or 1), help="processes that judge")
    parser.add_argument("--quick", action="store_true", help="a try: the synthetic graph, two backbones, no precision")
    options = parser.parse_args()
    full = {
        "graphs": GRAPHS, "backbones": BACKBONES, "seeds": 5, "iterations": 5000, "probe": "linear", "probe_seeds": 5,
    }  # fmt: skip
    quick = {
        "graphs": ["synthetic"], "backbones": ["gcn", "gat"], "seeds": 2, "iterations": 3, "probe": "linear-quick",
        "probe_seeds": 2,
    }  # fmt: skip
    for name, value in (quick if options.quick else full).items():
        setattr(options, name, getattr(options, name, None) or value)
    return options


if __name__ == "__main__":
    main()
