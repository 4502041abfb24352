"""Commands that make things: train and embed."""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import SignnapError
from ..registry import ENCODERS, OBJECTIVES
from ..storage import expect_folder
from .options import (
    CategoricalColumns,
    Device,
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
    path,
)
from .output import emit, say

if TYPE_CHECKING:
    from ..methods.method import Method


def train(
    graph: GraphArgument,
    out: Annotated[Path, typer.Option("--out", parser=path, metavar="PATH", help="Run folder to write.")],
    nodes: Nodes = None,
    endpoints: Endpoints = None,
    id_column: IdColumn = None,
    label_column: LabelColumn = None,
    feature_columns: FeatureColumns = None,
    categorical_columns: CategoricalColumns = None,
    split_column: SplitColumn = None,
    method: Annotated[str | None, typer.Option(help="See signnap methods.")] = None,
    backbone: Annotated[str | None, typer.Option(help=f"{ENCODERS.choices()}.")] = None,
    objective: Annotated[str | None, typer.Option(help=f"{OBJECTIVES.choices()}.")] = None,
    iterations: Annotated[int | None, typer.Option(help="Training iterations.")] = None,
    dim: Annotated[int | None, typer.Option(help="Embedding width.")] = None,
    layers: Annotated[int | None, typer.Option(help="Layers of the encoder.")] = None,
    drop_edge: Annotated[float | None, typer.Option(help="Share of edges dropped in each view.")] = None,
    noise: Annotated[str | None, typer.Option(help="Noise on features, e.g. gaussian:0.01.")] = None,
    negatives: Annotated[int | None, typer.Option(help="Negatives per anchor (K).")] = None,
    temperature: Annotated[float | None, typer.Option(help="Temperature of the scores.")] = None,
    lr: Annotated[float | None, typer.Option(help="Learning rate.")] = None,
    weight_decay: Annotated[float | None, typer.Option(help="Weight decay.")] = None,
    split: Annotated[
        str | None,
        typer.Option(help="none, or inductive:SPLIT to hide the judged nodes; methods with labels take any."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Encoder seed.")] = None,
    seeds: Annotated[
        str | None, typer.Option(metavar="A,B,...", help="Several encoder seeds at once: run folders OUT/seed-A, ...")
    ] = None,
    precision: Annotated[str | None, typer.Option(help="Of a GPU's products: float32, tf32 or bf16.")] = None,
    more: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any other setting.")] = None,
    preset: Annotated[str, typer.Option(help="Settings to start from.")] = "paper",
    config: Annotated[Path | None, typer.Option(help="TOML file of settings, over the preset.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in --out.")] = False,
    keep_going: Annotated[bool, typer.Option("--keep-going", help="Train on after a collapse.")] = False,
    profile: Annotated[
        bool, typer.Option("--profile", help="Tell where the time goes, and write trace.json to the run folder.")
    ] = False,
    device: Device = "auto",
    as_json: Json = False,
) -> None:
    """Learn embeddings of a graph and keep the run in a folder."""
    flags = {
        "method": method, "backbone": backbone, "objective": objective, "iterations": iterations, "dim": dim,
        "layers": layers, "drop_edge": drop_edge, "noise": noise, "negatives": negatives, "temperature": temperature,
        "lr": lr, "weight_decay": weight_decay, "split": split, "seed": seed,
        "precision": precision,
    }  # fmt: skip
    wanted = None if seeds is None else _seeds(seeds)
    changes = _recorded(out, wanted) if resume and config is None else {}
    changes |= _changes(config, flags, more or [])
    _check(changes, preset, config, wanted)
    expect_folder(out)
    columns = id_column, label_column, feature_columns, categorical_columns, split_column
    loaded = open_graph(graph, nodes, endpoints, *columns)
    from ..methods.registry import method_class
    from ..train.progress import progress

    model = method_class(changes.get("method", "signnap"))(preset=preset, **changes)
    total = model.num_steps(model.settings_for(loaded.name), loaded.num_nodes)
    if not model.trains:  # one seed after the other
        total *= len(wanted or [0])
    if profile:
        os.environ.setdefault("KINETO_LOG_LEVEL", "6")  # torch's profiler would write its own log to stderr
    with progress(total, model.unit) as report:
        options: dict[str, Any] = {"out": out, "resume": resume, "device": device, "report": report}
        options |= {"stop_on_collapse": not keep_going, "profile": profile}
        models = [model.fit(loaded, **options)] if wanted is None else model.fit_seeds(loaded, wanted, **options)
    folders = [out if wanted is None else out / f"seed-{fitted.settings_.seed}" for fitted in models]
    _show([_result(*pair) for pair in zip(models, folders, strict=True)], wanted is not None, models[0], as_json)


def _show(results: list[dict[str, Any]], several: bool, first: Method, as_json: bool) -> None:
    """Print what came out, as far as the method has it, and the five worst regions if a profile was wanted."""
    found: dict[str, Any] = {"runs": results} if several else results[0]
    facts = lambda result: [(name, _short(value)) for name, value in result.items() if value is not None]
    tables: list[Any] = [(f"Run {result['run']}", ("what", "value"), facts(result)) for result in results]
    if (profile := first.outcome_.profile) is not None:
        worst = profile.regions[:5]
        rows = [(region.name, f"{region.milliseconds:.2f}", f"{region.share:.1%}") for region in worst]
        tables.append(("Most expensive regions", ("region", "ms per iteration", "share"), rows))
        found = found | {"profile": asdict(profile) | {"trace": str(profile.trace), "regions": [*map(asdict, worst)]}}
        say(f"wrote {profile.trace}: chrome://tracing and Perfetto show it")
    emit(found, as_json, *tables)


def _result(model: Method, out: Path) -> dict[str, Any]:
    facts = model.facts_
    return {
        "run": str(out), "graph": facts["graph"], "iterations": facts["iterations"], "loss": facts.get("loss"),
        "mutual_information_bound": facts.get("mutual_information_bound"), "seconds": facts["seconds"],
        "peak_memory_mb": facts["peak_memory_mb"], "device": facts["device"],
    }  # fmt: skip


def _seeds(text: str) -> list[int]:
    parts = text.split(",")
    if not all(re.fullmatch(r"\s*[0-9]{1,99}\s*", part) for part in parts):  # int() reads 1_0 and other scripts, too
        raise SignnapError(f"--seeds is {text!r}: expected whole numbers with commas between them, such as 0,1,2")
    return [int(part) for part in parts]


def _recorded(out: Path, seeds: list[int] | None) -> dict[str, Any]:
    """The settings of a run that is to go on, so that nobody has to give them again; of several, those of the first.

    Seeds that are new have none: they are trained as the others were.
    """
    from ..train.run_folder import RunFolder

    run = RunFolder(out)
    folders = [run] if seeds is None else [RunFolder(run.seed_folder(seed)) for seed in seeds]
    found = next((folder.read_config() for folder in folders if folder.exists()), {})
    return {name: value for name, value in found.items() if seeds is None or name != "seed"}


def _changes(config: Path | None, flags: dict[str, Any], more: list[str]) -> dict[str, Any]:
    """Settings from the file, then from --set, then from named flags."""
    from ..config import read_toml

    changes = read_toml(config) if config else {}
    for item in more:
        key, equals, value = item.partition("=")
        if not equals:
            raise SignnapError(f"--set {item}: expected KEY=VALUE")
        changes[key] = _value(key, value)
    return changes | {name: value for name, value in flags.items() if value is not None}


def _value(key: str, text: str) -> Any:
    """The value that JSON reads, or else the text itself. Brackets are refused: no setting has any, however deep."""
    try:
        value = json.loads(text)
    except RecursionError:
        value = []  # of so many that they cannot be read
    except ValueError:
        return text
    if isinstance(value, (list, dict)):
        raise SignnapError(f"--set {key} is a list or a table: expected one number, true, false or text")
    return value


def _check(changes: dict[str, Any], preset: str, config: Path | None, seeds: list[int] | None) -> None:
    """Refuse bad settings before anything heavy is loaded."""
    from ..methods.settings import resolve

    if seeds is not None and "seed" in changes:
        raise SignnapError("--seeds was given beside a seed: expected one of the two")
    resolve(changes, preset=preset, origin=str(config) if config else "the settings")


def _short(value: Any) -> str:
    return f"{value:.{4 if abs(value) < 10 else 1}f}" if isinstance(value, float) else str(value)


def embed(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    graph: GraphArgument,
    out: Annotated[
        Path, typer.Option("--out", parser=path, metavar="PATH", help="File to write: .npy, .csv or .parquet.")
    ],
    nodes: Nodes = None,
    endpoints: Endpoints = None,
    id_column: IdColumn = None,
    label_column: LabelColumn = None,
    feature_columns: FeatureColumns = None,
    categorical_columns: CategoricalColumns = None,
    split_column: SplitColumn = None,
    as_json: Json = False,
) -> None:
    """Embed a graph with a trained model; rows carry your node ids in your order."""
    from ..data.embeddings import write_embeddings

    for given in (Path(graph), nodes or Path(graph)):
        with suppress(OSError):  # one of them is not there
            if out.samefile(given):
                raise SignnapError(f"--out is {out}, which is a file of the graph itself: expected another one")
    model = open_run(run)
    columns = id_column, label_column, feature_columns, categorical_columns, split_column
    loaded = open_graph(graph, nodes, endpoints, *columns, runs=[run])
    z = model.transform(loaded)
    write_embeddings(out, z, loaded.ids)
    say(f"wrote {z.shape[0]:,} embeddings of width {z.shape[1]} to {out}")
    emit({"file": str(out), "nodes": z.shape[0], "dim": z.shape[1]}, as_json)
