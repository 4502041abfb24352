"""The command ``train``: settings from options and files, one or more runs, and a table of the results."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..config import build, read_toml
from ..errors import SignnapError
from ..registry import ENCODERS, OBJECTIVES
from ..storage import expect_folder
from ..train.progress import tell
from .options import Device, GraphSource, Json, OptionGroup, grouped, path
from .output import emit

if TYPE_CHECKING:
    from ..methods.base import Method
    from ..methods.settings import BaseSettings


@dataclass(frozen=True)
class SettingOptions(OptionGroup):
    """Settings of a run: a preset, then a file, then ``--set``, then the options with the names of settings."""

    method: Annotated[str | None, typer.Option(help="A name that 'signnap methods' lists.")] = None
    backbone: Annotated[str | None, typer.Option(help=f"{ENCODERS.choices()}.")] = None
    objective: Annotated[str | None, typer.Option(help=f"{OBJECTIVES.choices()}.")] = None
    iterations: Annotated[int | None, typer.Option(help="Number of training iterations.")] = None
    dim: Annotated[int | None, typer.Option(help="Width of the embeddings.")] = None
    layers: Annotated[int | None, typer.Option(help="Number of layers of the encoder.")] = None
    drop_edge: Annotated[float | None, typer.Option(help="Share of the edges that each view drops.")] = None
    noise: Annotated[str | None, typer.Option(help="Noise on the features, for example gaussian:0.01.")] = None
    negatives: Annotated[int | None, typer.Option(help="Number of negatives per anchor (K).")] = None
    temperature: Annotated[float | None, typer.Option(help="Temperature of the scores.")] = None
    lr: Annotated[float | None, typer.Option(help="Learning rate.")] = None
    weight_decay: Annotated[float | None, typer.Option(help="Weight decay.")] = None
    split: Annotated[
        str | None,
        typer.Option(
            help="none, or inductive:SPLIT to hide validation and test nodes; methods that use labels take any split."
        ),
    ] = None
    seed: Annotated[int | None, typer.Option(help="Encoder seed.")] = None
    precision: Annotated[
        str | None, typer.Option(help="Precision of matrix products on a GPU: float32, tf32 or bf16.")
    ] = None
    more: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any other setting.")] = None
    preset: Annotated[str, typer.Option(help="Preset to start from.")] = "paper"
    config: Annotated[Path | None, typer.Option(help="TOML file with settings that override the preset.")] = None

    def changes(self) -> dict[str, Any]:
        """The settings that override the preset."""
        changes = read_toml(self.config) if self.config else {}
        for item in self.more or []:
            key, equals, value = item.partition("=")
            if not equals:
                raise SignnapError(f"--set {item}: expected KEY=VALUE")
            changes[key] = _value(key, value)
        options = {name: value for name, value in asdict(self).items() if name not in ("more", "preset", "config")}
        return changes | {name: value for name, value in options.items() if value is not None}

    def complete(self, changes: Mapping[str, Any], dataset: str | None) -> BaseSettings:
        """The complete settings for a data set. This needs no torch, so errors are reported before it is loaded."""
        from ..methods.settings import resolve

        origin = str(self.config) if self.config else "the settings"
        return resolve(changes, dataset=dataset, preset=self.preset, origin=origin)


def _value(key: str, text: str) -> Any:
    """Parse a value as JSON, or take the text itself. Lists and tables are refused, because no setting is one."""
    try:
        value = json.loads(text)
    except RecursionError:
        value = []  # nested too deeply for the parser
    except ValueError:
        return text
    if isinstance(value, (list, dict)):
        raise SignnapError(f"--set {key} is a list or a table: expected one number, true, false or text")
    return value


@grouped
def train(
    graph: GraphSource,
    out: Annotated[Path, typer.Option(parser=path, metavar="PATH", help="Run folder to write.")],
    settings: SettingOptions,
    seeds: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="Train several encoder seeds at once into OUT/seed-A, OUT/seed-B, ..."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in --out.")] = False,
    keep_going: Annotated[bool, typer.Option("--keep-going", help="Continue after a collapse.")] = False,
    profile: Annotated[
        bool, typer.Option("--profile", help="Measure where the time goes, and write trace.json to the run folder.")
    ] = False,
    device: Device = "auto",
    as_json: Json = False,
) -> None:
    """Learn embeddings of a graph, and save the run in a folder."""
    several = None if seeds is None else _seeds(seeds)
    changes = _recorded(out, several) if resume and settings.config is None else {}
    changes |= settings.changes()
    if several is not None and "seed" in changes:
        raise SignnapError("--seeds was given beside a seed: expected one of the two")
    resolved = settings.complete(changes, graph.dataset)
    expect_folder(out)
    loaded = graph.load()
    from ..methods import method_class
    from ..methods.fit import fit_together

    if profile:
        os.environ.setdefault("KINETO_LOG_LEVEL", "6")  # otherwise torch's profiler writes its own log to stderr
    model: Method = method_class(resolved.method)(preset=settings.preset, **changes)
    models, folders = ([model], [out]) if several is None else model.seed_copies(several, out)
    complete = [resolved] if several is None else [_with_seed(resolved, seed) for seed in several]
    fit_together(
        models, complete, loaded, folders, resume=resume, device=device, profile=profile, progress=True,
        stop_on_collapse=not keep_going,
    )  # fmt: skip
    _show([_result(*pair) for pair in zip(models, folders, strict=True)], several is not None, models[0], as_json)


def _seeds(text: str) -> list[int]:
    parts = text.split(",")
    # int() would also accept 1_0 and digits of other scripts
    if not all(re.fullmatch(r"\s*[0-9]{1,99}\s*", part) for part in parts):
        raise SignnapError(f"--seeds is {text!r}: expected whole numbers with commas between them, such as 0,1,2")
    return [int(part) for part in parts]


def _with_seed(settings: BaseSettings, seed: int) -> BaseSettings:
    """The same settings with another seed, which is checked."""
    return build(type(settings), asdict(settings) | {"seed": seed})


def _recorded(out: Path, seeds: list[int] | None) -> dict[str, Any]:
    """The settings of the run to resume, so that the user need not repeat them; of several runs, those of the first.

    Runs of new seeds have no recorded settings and train with those of the others.
    """
    from ..train.run_folder import RunFolder

    run = RunFolder(out)
    folders = [run] if seeds is None else [RunFolder(run.seed_folder(seed)) for seed in seeds]
    found = next((folder.read_config() for folder in folders if folder.exists()), {})
    return {name: value for name, value in found.items() if seeds is None or name != "seed"}


def _result(model: Method, out: Path | None) -> dict[str, Any]:
    info, numbers = model.info_, model.outcome_.numbers
    return {
        "run": str(out), "graph": info.graph, "iterations": info.iterations, "loss": numbers.get("loss"),
        "mutual_information_bound": numbers.get("mutual_information_bound"), "seconds": info.seconds,
        "peak_memory_mb": info.peak_memory_mb, "device": info.device,
    }  # fmt: skip


def _show(results: list[dict[str, Any]], several: bool, first: Method, as_json: bool) -> None:
    """Print the numbers that the method has and, with a profile, its five most expensive regions."""
    found: dict[str, Any] = {"runs": results} if several else results[0]
    numbers = lambda result: [(name, _short(value)) for name, value in result.items() if value is not None]
    tables: list[Any] = [(f"Run {result['run']}", ("what", "value"), numbers(result)) for result in results]
    if (profile := first.outcome_.profile) is not None:
        worst = profile.regions[:5]
        rows = [(region.name, f"{region.milliseconds:.2f}", f"{region.share:.1%}") for region in worst]
        tables.append(("Most expensive regions", ("region", "ms per iteration", "share"), rows))
        found = found | {"profile": asdict(profile) | {"trace": str(profile.trace), "regions": [*map(asdict, worst)]}}
        tell(f"wrote {profile.trace}: chrome://tracing and Perfetto show it")
    emit(found, as_json, *tables)


def _short(value: Any) -> str:
    return f"{value:.{4 if abs(value) < 10 else 1}f}" if isinstance(value, float) else str(value)
