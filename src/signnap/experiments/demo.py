"""The whole story on the embedded graph: train, judge, perturb, judge again."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from .. import rng
from ..analyze import stability
from ..data import Split, make_split, synthetic_graph, write_embeddings
from ..errors import SignnapError
from ..evaluate import score
from ..graph import Graph, SparseFeatures
from ..methods.signnap import SIGNNAP
from ..perturb import DropEdge
from ..storage import write_text
from ..train.checkpoint import RunFolder
from ..train.progress import progress

ITERATIONS = 400
GONE = DropEdge(0.3, "undirected")

_READING = """\
Stability: mean cosine between the embeddings of ten copies of the graph that each lost 30 % of their edges, after
the mean embedding is subtracted (so a constant map scores 0). Raw features ignore edges, so they cannot move."""


def run_demo(out: Path, seed: int = 0) -> dict[str, Any]:
    """Train SIGNNAP on the embedded graph and compare it with raw features and its own untrained encoder.

    The classifier learns on the whole graph from 20 labels a class. ``accuracy_perturbed`` asks the same classifier
    about the test nodes after 30 % of the edges are gone; ``stability`` is how little embeddings move then.
    """
    begun = time.perf_counter()
    graph = synthetic_graph(seed)
    split = make_split(graph, "per-class:20:30", seed=seed)
    _clear(RunFolder(out / "run"))
    with progress(ITERATIONS) as report:
        model = SIGNNAP(iterations=ITERATIONS, seed=seed).fit(graph, out=out / "run", report=report)
    features = graph.view().x
    rows = [
        _row("raw features", graph, split, features, features, None),
        _model_row("untrained encoder", model.untrained(graph), graph, split, seed),
        _model_row("SIGNNAP", model, graph, split, seed),
    ]
    files = {"run": out / "run", "embeddings": out / "embeddings.csv", "result": out / "demo.json"}
    write_embeddings(files["embeddings"], model.transform(graph), graph.ids)
    size = f"{graph.num_nodes:,} nodes, {graph.num_edges:,} edges (20 % of them wrong), {graph.num_classes} classes"
    result = {
        "title": f"{size}; one encoder seed ({seed}), mean of 5 probe seeds",
        "rows": rows,
        "reading": _READING,
        "files": {name: str(path) for name, path in files.items()},
        "seconds": time.perf_counter() - begun,
    }
    write_text(files["result"], json.dumps(result, indent=2) + "\n")
    return result


def _clear(folder: RunFolder) -> None:
    """Remove what an earlier demo left, and nothing else."""
    if not folder.exists():
        return
    trained_on = folder.read_facts()["graph"]
    if trained_on != "synthetic":
        raise SignnapError(f"{folder.path} holds a run on {trained_on}, not an earlier demo: give another --out")
    shutil.rmtree(folder.path)


def _model_row(name: str, model: SIGNNAP, graph: Graph, split: Split, seed: int) -> dict[str, Any]:
    view = model.view(graph)
    source = rng.generator(seed, "demo")
    draw = lambda: model.embed_view(GONE(view, source))
    return _row(name, graph, split, model.embed_view(view), draw(), stability(draw).centred)


def _row(
    name: str,
    graph: Graph,
    split: Split,
    z: Tensor | SparseFeatures,
    perturbed: Tensor | SparseFeatures,
    steady: float | None,
) -> dict[str, Any]:
    """Score one set of embeddings; the perturbed ones stand in for the test nodes only."""
    mixed = z
    if isinstance(z, Tensor) and isinstance(perturbed, Tensor):
        mixed = torch.where(torch.isin(torch.arange(len(z)), split.test)[:, None], perturbed, z)
    accuracy, after = (score([e], graph.y, split.train, split.val, split.test).accuracy.mean for e in (z, mixed))
    return {
        "method": name,
        "accuracy": accuracy,
        "accuracy_perturbed": after,
        "stability": 1.0 if steady is None else steady,
        "stability_text": "1 (ignores edges)" if steady is None else f"{steady:.3f}",
    }
