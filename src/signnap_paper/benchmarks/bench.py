"""What ``signnap bench`` measures: ratios of time against slow twins, and the memory of a training step."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import torch

from signnap.data.load import load_graph
from signnap.data.public import DATASETS
from signnap.errors import SignnapError
from signnap.graph import Graph
from signnap.methods.settings import Settings
from signnap.methods.signnap import SIGNNAP
from signnap.ops.dense import processor_name
from signnap.train.loop import iterate

from .limits import matmul_rate, step_operations
from .twins import DenseGraceStep, PerAnchorStep, pyg, scatter_propagation

#: The program that measures memory in a process of its own.
_MEASURE = """
import json, sys
from signnap_paper.benchmarks.bench import training_step
from signnap.data.load import load_graph
from signnap.train.run_info import peak_memory_mb
from signnap.train.run_info import process_memory_mb
import torch
torch.optim.Adam([torch.zeros(1, requires_grad=True)])  # loads its modules, which are no part of a step
graph = load_graph("pubmed")
before = process_memory_mb("VmRSS")
step = training_step(graph, share=int(sys.argv[1]))
for _ in range(5):
    step()
print(json.dumps({"loaded": before, "peak": peak_memory_mb(torch.device("cpu"))}))
"""


def measure_speed() -> dict[str, Any]:
    """Time a training step on amazon_photo and a propagation on facebook against their twins.

    ``matmul_fraction`` is the share of the machine's rate, measured here in a large float32 matrix product, that the
    step reaches: (operations of the step's products) / (seconds of the step) / (operations per second). It counts the
    products of features and layers, over edges, and with negatives, forwards and backwards, by the formula in
    ``step_operations``: on this graph, whose features are dense, 8·N·F·d + 24·N·d² + 16·E·d + 8·N·(K+1)·d.
    """
    pyg("nn")  # fails at once where PyG is not installed
    photo, facebook = load_graph("amazon_photo"), load_graph("facebook")
    step = training_step(photo)
    view = facebook.view(edge_value=2.0, loop_value=3.0)
    h = torch.randn(facebook.num_nodes, 128)
    edges, operator = facebook.pattern.edge_index(loops=True), view.random_walk
    pairs: dict[str, tuple[Callable[[], Any], Callable[[], Any], int, str]] = {
        "step_vs_dense_grace": (step, DenseGraceStep(photo), 3, "amazon_photo, one training step"),
        "propagation_vs_scatter": (
            lambda: operator(h),
            lambda: scatter_propagation(edges, operator.values, h),
            10,
            "facebook, width 128",
        ),
        "step_vs_per_anchor": (step, PerAnchorStep(photo), 3, "amazon_photo, one training step"),
    }
    times = {name: _side_by_side(ours, twin, rounds) for name, (ours, twin, rounds, _) in pairs.items()}
    work = step_operations(photo, SIGNNAP().settings_for(photo.name))
    operations, rate = sum(part.operations for part in work.values()), matmul_rate(torch.device("cpu"))
    return {
        "ratios": {name: twin / ours for name, (ours, twin) in times.items()},
        "milliseconds": {name: {"ours": 1e3 * ours, "twin": 1e3 * twin} for name, (ours, twin) in times.items()},
        "matmul_fraction": operations / times["step_vs_per_anchor"][0] / rate,
        "step_operations": operations,
        "matmul_operations_per_second": rate,
        "measured_on": {name: what for name, (_, _, _, what) in pairs.items()},
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "processor": processor_name(),
    }


def training_step(graph: Graph, **changes: Any) -> Callable[[], Any]:
    """Return one full iteration of SIGNNAP (GCN, K=1024, width 128, paper preset) as the training loop runs it."""
    iterations = iterate(SIGNNAP(**changes).run(graph), until=10**9)
    return lambda: next(iterations)


def _side_by_side(ours: Callable[[], Any], twin: Callable[[], Any], rounds: int) -> tuple[float, float]:
    """Time the two in turns after a warm-up of each, ours ten times as often; return the medians."""
    ours(), twin()
    mine, theirs = [], []
    for _ in range(rounds):
        mine += [_seconds(ours) for _ in range(10)]
        theirs.append(_seconds(twin))
    return median(mine), median(theirs)


def _seconds(action: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    action()
    return time.perf_counter() - begun


def measure_memory() -> dict[str, Any]:
    """Measure the peak memory of five pubmed iterations (GCN, K=1024, width 128) above the loaded graph.

    ``naive_gather_mb`` is the size of N×(K+1)×d bank rows for both views, by arithmetic.
    """
    shared, own = _measured(Settings.share), _measured(1)
    gathered = 2 * DATASETS["pubmed"].nodes * (Settings.negatives + 1) * Settings.dim
    return {
        "pubmed_step_mb": shared["peak"] - shared["loaded"],
        "pubmed_step_per_anchor_mb": own["peak"] - own["loaded"],
        "loaded_graph_mb": shared["loaded"],
        "naive_gather_mb": 4 * gathered / 2**20,
    }


def _measured(share: int) -> dict[str, float]:
    """Measure in a new process: the peak of a process never goes down."""
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-c", _MEASURE, str(share)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        reason = done.stderr.strip().splitlines()[-1].removeprefix("signnap.errors.SignnapError: ")
        raise SignnapError(f"the memory measurement failed: {reason}")
    return json.loads(done.stdout)
