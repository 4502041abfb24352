"""Commands that make things: train and embed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import SignnapError
from .options import Device, Endpoints, FeatureColumns, GraphArgument, IdColumn, Json, LabelColumn, Nodes, open_graph
from .output import emit, say


def train(
    graph: GraphArgument,
    out: Annotated[Path, typer.Option("--out", help="Run folder to write.")],
    nodes: Nodes = None,
    endpoints: Endpoints = None,
    id_column: IdColumn = None,
    label_column: LabelColumn = None,
    feature_columns: FeatureColumns = None,
    method: Annotated[str | None, typer.Option(help="signnap")] = None,
    backbone: Annotated[str | None, typer.Option(help="gcn, resgcn, jknet, sage or gat.")] = None,
    objective: Annotated[str | None, typer.Option(help="nce or infonce.")] = None,
    iterations: Annotated[int | None, typer.Option(help="Training iterations.")] = None,
    dim: Annotated[int | None, typer.Option(help="Embedding width.")] = None,
    layers: Annotated[int | None, typer.Option(help="Layers of the encoder.")] = None,
    drop_edge: Annotated[float | None, typer.Option(help="Share of edges dropped in each view.")] = None,
    noise: Annotated[str | None, typer.Option(help="Noise on features, e.g. gaussian:0.01.")] = None,
    negatives: Annotated[int | None, typer.Option(help="Negatives per anchor (K).")] = None,
    temperature: Annotated[float | None, typer.Option(help="Temperature of the scores.")] = None,
    lr: Annotated[float | None, typer.Option(help="Learning rate.")] = None,
    weight_decay: Annotated[float | None, typer.Option(help="Weight decay.")] = None,
    split: Annotated[str | None, typer.Option(help="none, or inductive:SPLIT to hide the judged nodes.")] = None,
    seed: Annotated[int | None, typer.Option(help="Encoder seed.")] = None,
    more: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any other setting.")] = None,
    preset: Annotated[str, typer.Option(help="Settings to start from.")] = "paper",
    config: Annotated[Path | None, typer.Option(help="TOML file of settings, over the preset.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in --out.")] = False,
    keep_going: Annotated[bool, typer.Option("--keep-going", help="Train on after a collapse.")] = False,
    device: Device = "auto",
    as_json: Json = False,
) -> None:
    """Learn embeddings of a graph and keep the run in a folder."""
    flags = {
        "method": method, "backbone": backbone, "objective": objective, "iterations": iterations, "dim": dim,
        "layers": layers, "drop_edge": drop_edge, "noise": noise, "negatives": negatives, "temperature": temperature,
        "lr": lr, "weight_decay": weight_decay, "split": split, "seed": seed,
    }  # fmt: skip
    changes = _changes(config, flags, more or [])
    _check(changes, preset, config)
    loaded = open_graph(graph, nodes, endpoints, id_column, label_column, feature_columns)
    from ..methods.signnap import SIGNNAP
    from ..train.progress import progress

    model = SIGNNAP(preset=preset, **changes)
    total = model.settings_for(loaded.name).iterations
    with progress(total) as report:
        model.fit(loaded, out=out, resume=resume, device=device, report=report, stop_on_collapse=not keep_going)
    facts = model.facts_
    result = {
        "run": str(out), "graph": facts["graph"], "iterations": facts["iterations"], "loss": facts.get("loss"),
        "mutual_information_bound": facts.get("mutual_information_bound"), "seconds": facts["seconds"],
        "peak_memory_mb": facts["peak_memory_mb"], "device": facts["device"],
    }  # fmt: skip
    emit(result, as_json, (f"Run {out}", ("what", "value"), [(key, _short(value)) for key, value in result.items()]))


def _changes(config: Path | None, flags: dict[str, Any], more: list[str]) -> dict[str, Any]:
    """Settings from the file, then from --set, then from named flags."""
    from ..config import read_toml

    changes = read_toml(config) if config else {}
    for item in more:
        key, equals, value = item.partition("=")
        if not equals:
            raise SignnapError(f"--set {item}: expected KEY=VALUE")
        try:
            changes[key] = json.loads(value)
        except ValueError:
            changes[key] = value
    return changes | {name: value for name, value in flags.items() if value is not None}


def _check(changes: dict[str, Any], preset: str, config: Path | None) -> None:
    """Refuse bad settings before anything heavy is loaded."""
    from ..methods.settings import resolve

    resolve(changes, preset=preset, origin=str(config) if config else "the settings")


def _short(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def embed(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    graph: GraphArgument,
    out: Annotated[Path, typer.Option("--out", help="File to write: .npy, .csv or .parquet.")],
    nodes: Nodes = None,
    endpoints: Endpoints = None,
    id_column: IdColumn = None,
    label_column: LabelColumn = None,
    feature_columns: FeatureColumns = None,
    as_json: Json = False,
) -> None:
    """Embed a graph with a trained model; rows carry your node ids in your order."""
    from ..data import write_embeddings
    from ..methods.signnap import SIGNNAP

    model = SIGNNAP.load(run)
    loaded = open_graph(graph, nodes, endpoints, id_column, label_column, feature_columns)
    z = model.transform(loaded)
    write_embeddings(out, z, loaded.ids)
    say(f"wrote {z.shape[0]:,} embeddings of width {z.shape[1]} to {out}")
    emit({"file": str(out), "nodes": z.shape[0], "dim": z.shape[1]}, as_json)
