"""Commands that apply a trained model: embed, evaluate and analyze."""

from __future__ import annotations

from contextlib import suppress
from math import isclose
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import SignnapError
from ..storage import cannot_read
from ..train.progress import tell
from .options import GraphSource, Json, RunArgument, grouped, open_run, path
from .output import emit


@grouped
def embed(
    run: RunArgument,
    graph: GraphSource,
    out: Annotated[Path, typer.Option(parser=path, metavar="PATH", help="File to write: .npy, .csv or .parquet.")],
    as_json: Json = False,
) -> None:
    """Embed a graph with a trained model. The rows of the file have the ids and the order of the nodes."""
    from ..data.embeddings import write_embeddings

    for given in (Path(graph.graph), graph.nodes or Path(graph.graph)):
        with suppress(OSError):  # a path does not exist
            if out.samefile(given):
                raise SignnapError(f"--out is {out}, which is a file of the graph itself: expected another one")
    model = open_run(run)
    loaded = graph.load(model.info_.feature_names)
    z = model.transform(loaded)
    write_embeddings(out, z, loaded.ids)
    tell(f"wrote {z.shape[0]:,} embeddings of width {z.shape[1]} to {out}")
    emit({"file": str(out), "nodes": z.shape[0], "dim": z.shape[1]}, as_json)


@grouped
def evaluate(
    subjects: Annotated[
        list[Path], typer.Argument(metavar="RUN|FILE...", help="Run folders (one per encoder seed) or embedding files.")
    ],
    graph: GraphSource,
    split: Annotated[
        str, typer.Option(help="paper, public, per-class:20:30, random:0.1:0.1 or inductive:SPLIT.")
    ] = "paper",
    probe: Annotated[
        str,
        typer.Option(help="linear, logistic, or linear- with one of plain, dgi, 100, 300, 2000, quick."),
    ] = "linear",
    seeds: Annotated[int, typer.Option(min=1, help="Number of probe seeds.")] = 5,
    dropped_probe: Annotated[
        bool,
        typer.Option(
            "--dropped-probe", help="Train the probe on graphs with dropped edges, as the paper does for sage and gat."
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Measure the accuracy of a linear classifier on embeddings, beside trivial baselines.

    The baselines are raw features, untrained encoders and the most frequent class.
    """
    models = {subject: open_run(subject) for subject in subjects if _is_folder(subject)}
    names = next((model.info_.feature_names for model in models.values()), ())
    loaded = graph.load(names)
    from ..evaluate import plus_minus
    from ..evaluate.models import judge
    from ..train.progress import progress

    opened = [models.get(subject) or _open_file(subject, loaded, dropped_probe) for subject in subjects]
    with progress(3, "judgement", "judging") as report:
        result = judge(opened, loaded, split=split, probe=probe, seeds=seeds, dropped=dropped_probe, report=report)
    detailed = {"raw features": f"raw features ({result['features']})"}
    scores = {", ".join(map(str, subjects)): result}
    scores |= {detailed.get(name, name): score for name, score in result["baselines"].items()}
    shown = ("accuracy", "balanced_accuracy")
    rows = [(name, *(plus_minus(**score[key]) for key in shown), score["protocol"]) for name, score in scores.items()]
    by = f"probe {probe}" if result["probe"] == probe else f"no probe (of the baselines: {probe})"
    title = f"Accuracy in % on {loaded.name}, split {result['split']}, {by}"
    emit(result, as_json, (title, ("embeddings", "accuracy", "balanced", "mean ± std over"), rows))


def _is_folder(subject: Path) -> bool:
    """Whether a path is a folder, and so a run; a path that does not exist is an error."""
    try:
        folder, exists = subject.is_dir(), subject.exists()
    except OSError as error:
        raise cannot_read(subject, error) from error
    if not exists:
        raise SignnapError(f"there is no run folder or file {subject}")
    return folder


def _open_file(file: Path, graph: Any, dropped: bool) -> Any:
    """Read a file of embeddings, with its rows in the order of the graph."""
    import torch

    from ..data.embeddings import align, read_embeddings

    if dropped:
        raise SignnapError(f"--dropped-probe embeds the graph anew and so needs run folders, but {file} is not one")
    embeddings, ids = read_embeddings(file, graph)
    return torch.tensor(align(embeddings, ids, graph))


@grouped
def analyze(
    run: RunArgument,
    graph: GraphSource,
    drop_edge: Annotated[float, typer.Option(help="Share of the edges that each copy drops.")] = 0.3,
    copies: Annotated[int, typer.Option(min=2, help="Number of copies with dropped edges to compare.")] = 10,
    split: Annotated[str | None, typer.Option(help="Measure stability on the test nodes of this split only.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the dropped edges.")] = 0,
    as_json: Json = False,
) -> None:
    """Measure how stable, smooth and identifiable the embeddings are."""
    model = open_run(run)
    loaded = graph.load(model.info_.feature_names)
    from ..data.splits import make_split
    from ..evaluate.models import properties
    from ..train.progress import progress

    chosen = None if split is None else make_split(loaded, split).test
    with progress(copies + 2, "embedding", "analyzing") as report:
        result = properties(model, loaded, drop_edge=drop_edge, copies=copies, seed=seed, nodes=chosen, report=report)
    if isclose(result["stability"]["centred"], 1, abs_tol=1e-9):
        tell(f"note: dropped edges do not change the embeddings of {model.name}, so its stability says nothing")
    rows = [
        (name, key, f"{value:.4f}")
        for name, numbers in result.items()
        for key, value in numbers.items()
        if isinstance(value, float)
    ]
    title = f"{run} on {loaded.name}: {copies} copies, {drop_edge:.0%} of edges dropped in each"
    emit(result, as_json, (title, ("property", "measure", "value"), rows))
