"""The demo on a generated graph: train, measure accuracy and stability, remove edges, measure again."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from .. import rng
from ..data.embeddings import write_embeddings
from ..data.splits import Split, make_split
from ..data.synthetic import synthetic_graph
from ..errors import SignnapError
from ..evaluate import score, stability
from ..graph import Graph, SparseFeatures
from ..methods.signnap import SIGNNAP
from ..perturb.edges import DropEdge
from ..storage import expect_folder, stat_regular, write_regular
from ..train.progress import Report, silent
from ..train.run_folder import RunFolder
from ..train.session import Interrupted

ITERATIONS = 400
REMOVED = DropEdge(0.3, "undirected")
#: The file that marks a run folder as the demo's own. The next demo removes marked folders only.
MARK = "demo.txt"

_READING = """\
Stability: mean cosine between the embeddings of ten copies of the graph that each lost 30 % of their edges, after
the mean embedding is subtracted (so a constant map scores 0). Raw features ignore edges, so they cannot move."""


def run_demo(out: Path, seed: int = 0, *, report: Report = silent) -> dict[str, Any]:
    """Train SIGNNAP on the generated graph and compare it with raw features and its own untrained encoder.

    The classifier learns on the whole graph from 20 labels per class. ``accuracy_perturbed`` is its accuracy on test
    nodes that were embedded without 30 % of the edges, and ``stability`` is how similar embeddings stay then.
    ``report`` is called after each of the ``ITERATIONS`` of training.
    """
    expect_folder(out)
    begun = time.perf_counter()
    graph = synthetic_graph(seed)
    split = make_split(graph, "per-class:20:30", seed=seed)
    files = {"run": out / "run", "embeddings": out / "embeddings.csv", "result": out / "demo.json"}
    _clear(RunFolder(files["run"]), files["embeddings"], files["result"])
    model = _trained(graph, files["run"], seed, report)
    features = graph.view().x
    rows = [
        _row("raw features", graph, split, features, features, None),
        _model_row("untrained encoder", model.untrained(graph), graph, split, seed),
        _model_row("SIGNNAP", model, graph, split, seed),
    ]
    write_embeddings(files["embeddings"], model.transform(graph), graph.ids)
    size = f"{graph.num_nodes:,} nodes, {graph.num_edges:,} edges (20 % of them wrong), {graph.num_classes} classes"
    result = {
        "title": f"{size}; one encoder seed ({seed}), mean of 5 probe seeds",
        "rows": rows,
        "reading": _READING,
        "files": {name: str(path) for name, path in files.items()},
        "seconds": time.perf_counter() - begun,
    }
    write_regular(files["result"], json.dumps(result, indent=2) + "\n")
    return result


def _clear(folder: RunFolder, *others: Path) -> None:
    """Remove the files of an earlier demo; files of other origin stay."""
    written = [folder.config, folder.metrics, folder.model, folder.state, folder.facts, *others]
    found = [file for file in written if stat_regular(file)]
    if found and not stat_regular(folder.path / MARK):
        raise SignnapError(f"{found[0]} is there already, without the {MARK} of an earlier demo: give another --out")
    for file in found:
        file.unlink()


def _trained(graph: Graph, folder: Path, seed: int, report: Report) -> SIGNNAP:
    """Train the model in a folder that is marked before any other file is written."""
    write_regular(folder / MARK, "signnap demo made the run in this folder, and the next demo may remove it.\n")
    try:
        return SIGNNAP(iterations=ITERATIONS, seed=seed).fit(graph, out=folder, report=report)
    except Interrupted as stopped:
        raise Interrupted("the demo was stopped during training: run it again to start from the beginning") from stopped


def _model_row(name: str, model: SIGNNAP, graph: Graph, split: Split, seed: int) -> dict[str, Any]:
    view = model.view(graph)
    source = rng.generator(seed, "demo", view.pattern.device)
    draw = lambda: model.embed_view(REMOVED(view, source)).cpu()
    return _row(name, graph, split, model.embed_view(view).cpu(), draw(), stability(draw).centred)


def _row(
    name: str,
    graph: Graph,
    split: Split,
    z: Tensor | SparseFeatures,
    perturbed: Tensor | SparseFeatures,
    stable: float | None,
) -> dict[str, Any]:
    """Score one set of embeddings, and again with the perturbed embeddings of the test nodes."""
    mixed = z
    if isinstance(z, Tensor) and isinstance(perturbed, Tensor):
        mixed = torch.where(torch.isin(torch.arange(len(z)), split.test)[:, None], perturbed, z)
    accuracy, after = (score([e], graph.y, split.train, split.val, split.test).accuracy.mean for e in (z, mixed))
    return {
        "method": name,
        "accuracy": accuracy,
        "accuracy_perturbed": after,
        "stability": 1.0 if stable is None else stable,
        "stability_text": "1 (ignores edges)" if stable is None else f"{stable:.3f}",
    }
