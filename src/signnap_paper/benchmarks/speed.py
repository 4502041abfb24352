"""Ratios of time, each measured side by side in one run: the machine may be noisy, the comparison is fair."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import torch

from signnap.data.load import load_graph
from signnap.graph import Graph
from signnap.methods.signnap import SIGNNAP
from signnap.ops.dense import processor_name

from .floor import step_operations
from .rates import matmul_rate
from .twins import DenseGraceStep, PerAnchorStep, scatter_propagation


def measure_speed() -> dict[str, Any]:
    """Time a training step on amazon_photo and a propagation on facebook against their twins.

    ``matmul_fraction`` is the share of the machine's rate, measured here in a large float32 matrix product, that the
    step reaches: (operations of the step's products) / (seconds of the step) / (operations per second). It counts the
    products of features and layers, over edges, and with negatives, forwards and backwards, by the formula in
    ``step_operations``: on this graph, whose features are dense, 8·N·F·d + 24·N·d² + 16·E·d + 8·N·(K+1)·d.
    """
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
    """One full iteration of SIGNNAP (GCN, K=1024, width 128, paper preset) as the training loop runs it."""
    iterations = SIGNNAP(**changes).run(graph).iterate(until=10**9)
    return lambda: next(iterations)


def _side_by_side(ours: Callable[[], Any], twin: Callable[[], Any], rounds: int) -> tuple[float, float]:
    """Alternate the two after a warm-up of each, ours ten times as often; medians of both."""
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
