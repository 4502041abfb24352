"""Commands that judge: evaluate and analyze."""

from __future__ import annotations

from math import isclose
from pathlib import Path
from typing import Annotated, Any

import typer

from .options import (
    CategoricalColumns,
    Endpoints,
    FeatureColumns,
    GraphArgument,
    IdColumn,
    Json,
    LabelColumn,
    Nodes,
    SplitColumn,
    open_graph,
    open_run,
)
from .output import emit, say


def evaluate(
    subjects: Annotated[
        list[Path], typer.Argument(metavar="RUN|FILE...", help="Run folders (one per encoder seed) or embedding files.")
    ],
    graph: GraphArgument,
    nodes: Nodes = None,
    endpoints: Endpoints = None,
    id_column: IdColumn = None,
    label_column: LabelColumn = None,
    feature_columns: FeatureColumns = None,
    categorical_columns: CategoricalColumns = None,
    split_column: SplitColumn = None,
    split: Annotated[
        str, typer.Option(help="paper, public, per-class:20:30, random:0.1:0.1 or inductive:….")
    ] = "paper",
    probe: Annotated[
        str,
        typer.Option(help="linear, logistic, or linear- and one of plain, dgi, 100, 300, 2000, quick."),
    ] = "linear",
    seeds: Annotated[int, typer.Option(min=1, help="Probe seeds.")] = 5,
    dropped_probe: Annotated[
        bool, typer.Option("--dropped-probe", help="Train the probe on dropped graphs (the paper: sage and gat).")
    ] = False,
    as_json: Json = False,
) -> None:
    """Judge embeddings by a linear classifier, beside raw features, untrained encoders and the most frequent class."""
    columns = id_column, label_column, feature_columns, categorical_columns, split_column
    loaded = open_graph(graph, nodes, endpoints, *columns, runs=subjects)
    from ..evaluate import plus_minus
    from ..evaluate.models import judge
    from ..train.progress import progress

    opened = [_open_subject(path, loaded, dropped_probe) for path in subjects]
    with progress(3, "judgement", "judging") as report:
        result = judge(opened, loaded, split=split, probe=probe, seeds=seeds, dropped=dropped_probe, report=report)
    exactly = {"raw features": f"raw features ({result['features']})"}
    named = {", ".join(map(str, subjects)): result} | {exactly.get(n, n): r for n, r in result["baselines"].items()}
    shown = ("accuracy", "balanced_accuracy")
    rows = [(name, *(plus_minus(**r[key]) for key in shown), r["protocol"]) for name, r in named.items()]
    by = f"probe {probe}" if result["probe"] == probe else f"no probe (of the baselines: {probe})"
    title = f"Accuracy in % on {loaded.name}, split {result['split']}, {by}"
    emit(result, as_json, (title, ("embeddings", "accuracy", "balanced", "spread"), rows))


def _open_subject(path: Path, graph: Any, dropped: bool) -> Any:
    """A run folder gives a model, a file gives its rows in the graph's order."""
    import torch

    from ..data.embeddings import align, read_embeddings
    from ..errors import SignnapError
    from ..storage import cannot_read

    try:
        folder, there = path.is_dir(), path.exists()
    except OSError as error:
        raise cannot_read(path, error) from error
    if folder:
        return open_run(path)
    if not there:
        raise SignnapError(f"there is no run folder or file {path}")
    if dropped:
        raise SignnapError(f"--dropped-probe embeds the graph anew and so needs run folders, but {path} is not one")
    embeddings, ids = read_embeddings(path, graph)
    return torch.tensor(align(embeddings, ids, graph))


def analyze(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    graph: GraphArgument,
    nodes: Nodes = None,
    endpoints: Endpoints = None,
    id_column: IdColumn = None,
    label_column: LabelColumn = None,
    feature_columns: FeatureColumns = None,
    categorical_columns: CategoricalColumns = None,
    split_column: SplitColumn = None,
    drop_edge: Annotated[float, typer.Option(help="Share of edges dropped in each copy.")] = 0.3,
    copies: Annotated[int, typer.Option(min=2, help="Dropped copies to compare.")] = 10,
    split: Annotated[str | None, typer.Option(help="Measure stability on this split's test nodes only.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the dropped copies.")] = 0,
    as_json: Json = False,
) -> None:
    """Measure how stable, smooth and identifiable the embeddings are."""
    model = open_run(run)
    columns = id_column, label_column, feature_columns, categorical_columns, split_column
    loaded = open_graph(graph, nodes, endpoints, *columns, runs=[run])
    from ..data.splits import make_split
    from ..evaluate.models import properties
    from ..train.progress import progress

    chosen = None if split is None else make_split(loaded, split).test
    with progress(copies + 2, "embedding", "analyzing") as report:
        result = properties(model, loaded, drop_edge=drop_edge, copies=copies, seed=seed, nodes=chosen, report=report)
    if isclose(result["stability"]["centred"], 1, abs_tol=1e-9):
        say(f"note: {model.name} embeds all copies alike, as if no edge were dropped, so stability tells nothing")
    rows = [
        (name, key, f"{value:.4f}")
        for name, numbers in result.items()
        for key, value in numbers.items()
        if isinstance(value, float)
    ]
    title = f"{run} on {loaded.name}: {copies} copies, {drop_edge:.0%} of edges dropped in each"
    emit(result, as_json, (title, ("property", "measure", "value"), rows))
