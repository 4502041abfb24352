"""``signnap bench``: how much faster and smaller than the obvious formulations, measured in one run."""

from __future__ import annotations

import typer

from .options import Json
from .output import emit

bench = typer.Typer(
    help="Measure speed and memory against slow twins that ship with the program.", no_args_is_help=True
)


@bench.command()
def speed(as_json: Json = False) -> None:
    """Ratios of time: a training step and a propagation against their obvious formulations."""
    from ..bench.speed import measure_speed

    result = measure_speed()
    rows = [
        (name, f"{ratio:.1f} ×", f"{times['ours']:.1f} ms", f"{times['twin']:.0f} ms", result["measured_on"][name])
        for (name, ratio), times in zip(result["ratios"].items(), result["milliseconds"].values(), strict=True)
    ]
    step_ms = result["milliseconds"]["step_vs_per_anchor"]["ours"]
    title = (
        f"{result['threads']} threads, torch {result['torch']}; times are noisy, ratios were measured side by side\n"
        f"a step reaches {100 * result['matmul_fraction']:.0f} % of the rate of a large matrix product here "
        f"({result['step_operations'] / 1e9:.1f} GFLOP in {step_ms:.0f} ms)"
    )
    emit(result, as_json, (title, ("ratio", "faster", "ours", "twin", "measured on"), rows))


@bench.command()
def memory(as_json: Json = False) -> None:
    """Peak memory of a pubmed training step above the loaded graph."""
    from ..bench.memory import measure_memory

    result = measure_memory()
    rows = [(name, f"{value:,.0f} MB") for name, value in result.items() if name.endswith("_mb")]
    emit(result, as_json, ("Memory of one training step on pubmed", ("what", "memory"), rows))
