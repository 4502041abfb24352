"""One training iteration of every backbone on every graph: recorded, eager, and beside a direct prototype.

``python -m signnap_paper.benchmarks.steps --out benchmarks/results/steps.json``
measures only the cells that the file lacks.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from signnap import SIGNNAP, Graph, load_graph
from signnap.methods.settings import Settings
from signnap.train.loop import lockstep

from ..provenance import failure
from .limits import COUNTED, copy_rate, floor_ms, matmul_rate, step_operations
from .record import Record
from .timing import Pace, measure
from .twins import PerAnchorStep

GRAPHS = ("pubmed", "facebook", "coauthor_cs", "amazon_computers", "amazon_photo", "coauthor_physics")
GATHERED = ("pubmed", "facebook", "synthetic")  # N×(K+1)×d numbers are gathered on these, 12 GB on the larger one

ABOUT = """
Milliseconds per iteration and peak device memory above the loaded graph. *captured* is a step as training runs it
on a GPU, replayed from a CUDA graph; *eager* the same step without a recording; *prototype* is the obvious code
through autograd (`PerAnchorStep` in `twins.py`), all anchors with one draw of negatives or, *per anchor*, each
with its own, which *own negatives* is to be compared with; *tf32* and *bf16* are coarser products;
*five seeds* trains five encoders at once, and its ratios are per encoder.

The floor is the arithmetic or traffic of the matrix products alone (`limits.py`) at the rates that a large
float32 product and a large copy reached in the same run. Products with negatives may run in 16-bit units, three times
over for float32: the second floor takes their rate, where that is higher.
""".strip()
COLUMNS = {
    "graph": "graph", "backbone": "backbone", "variant": "variant", "milliseconds": "ms per iteration",
    "peak_mb": "peak MB", "gflop": "GFLOP", "floor_ms": "floor, ms", "over_floor": "÷ floor",
    "over_floor_16bit": "÷ floor, 16-bit scores", "than_eager": "× faster than eager",
    "than_prototype": "× faster than prototype", "note": "note", "error": "error",
}  # fmt: skip


@dataclass(frozen=True)
class Variant:
    """One way to compute an iteration, its backbones and graphs (None: all), and the variants it is compared with."""

    changes: dict[str, Any] = field(default_factory=dict)
    capture: bool = True
    seeds: int = 1
    backbones: tuple[str, ...] = ("gcn",)
    graphs: tuple[str, ...] | None = None
    is_twin: bool = False
    eager: str | None = "eager"
    prototype: str | None = "prototype"


VARIANTS = {
    "captured": Variant(backbones=COUNTED),
    "eager": Variant(capture=False, backbones=COUNTED),
    "prototype": Variant({"share": 0}, is_twin=True, eager=None, prototype=None),
    "prototype per anchor": Variant({"share": 1}, is_twin=True, graphs=GATHERED, eager=None, prototype=None),
    "own negatives": Variant({"share": 1}, graphs=GATHERED, eager=None, prototype="prototype per anchor"),
    "tf32": Variant({"precision": "tf32"}, backbones=COUNTED),
    "bf16": Variant({"precision": "bf16"}),
    "five seeds": Variant(seeds=5),
    "five seeds, tf32": Variant({"precision": "tf32"}, seeds=5),
}


def main() -> None:
    """Measure every cell that was asked for, and write each when it is done."""
    options = _options()
    pace = Pace(1, 0.0, 1) if options.quick else Pace()
    changes = {"negatives": 64} if options.quick else {}
    protocol = {**pace.in_words(), "preset": "paper", "changes": changes, "seeds": "0, or 0 to 4 for five seeds"}
    record = Record(
        options.out, title="Training steps", about=ABOUT, protocol=protocol, keys=["graph", "backbone", "variant"],
        columns=COLUMNS,
    )  # fmt: skip
    rates = _rates(options.quick)
    record.session["rates in 10⁹ per second"] = {name: rate / 1e9 for name, rate in rates.items()}
    for name in options.graphs:
        graph = None
        for backbone, variant in _cells(name, options.backbones, options.variants):
            key = {"graph": name, "backbone": backbone, "variant": variant}
            if record.holds(**key):
                continue
            try:
                graph = graph or load_graph(name)
                row = _measured(graph, backbone, VARIANTS[variant], changes, pace, rates)
            except Exception as error:  # one cell that fails must not cost the others
                row = failure(error)
            record.add(key | row)
            _compare(record)
            record.save()
            print(key, row.get("milliseconds", row.get("error")), file=sys.stderr, flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="the JSON file to write or to continue")
    parser.add_argument("--graphs", nargs="+", default=None, help="only these (default: the paper's six)")
    parser.add_argument("--backbones", nargs="+", default=COUNTED, choices=COUNTED, help="only these")
    parser.add_argument("--variants", nargs="+", default=list(VARIANTS), choices=list(VARIANTS), help="only these")
    parser.add_argument("--quick", action="store_true", help="a try: the synthetic graph, few negatives, no precision")
    options = parser.parse_args()
    options.graphs = options.graphs or (["synthetic"] if options.quick else GRAPHS)
    return options


def _cells(graph: str, backbones: list[str], variants: list[str]) -> list[tuple[str, str]]:
    fits = lambda backbone, variant: backbone in variant.backbones and graph in (variant.graphs or [graph])
    return [(backbone, name) for backbone in backbones for name in variants if fits(backbone, VARIANTS[name])]


def _rates(quick: bool) -> dict[str, float]:
    """Measure the operations per second of a large product, by precision, and the bytes per second of a large copy."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    precisions = ("float32", "bf16") if device.type == "cuda" else ("float32",)
    size, megabytes = (512, 64) if quick else (None, None)
    products = {f"{name} operations": matmul_rate(device, name, size) for name in precisions}
    return products | {"bytes copied": copy_rate(device, megabytes)}


def _measured(
    graph: Graph, backbone: str, variant: Variant, changes: dict[str, Any], pace: Pace, rates: dict[str, float]
) -> dict[str, Any]:
    """Measure time and memory of one cell, and compute the limits of the machine for them."""
    changes = changes | variant.changes
    model = SIGNNAP(backbone, **changes)
    settings = model.settings_for(graph.name)
    seen = model.training_view(graph, settings.split)

    def prepare(loaded: Graph) -> Callable[[], Any]:
        if variant.is_twin:
            return PerAnchorStep(
                loaded, settings.dim, settings.negatives, settings.temperature, shared=settings.share == 0
            )
        models = [SIGNNAP(backbone, seed=seed, **changes) for seed in range(variant.seeds)]
        runs = [model.run(loaded) for model in models]
        iterations = lockstep(runs, until=10**9, capture=variant.capture)
        return lambda: next(iterations)

    found = measure(prepare, seen, pace)
    sizes = {"nodes": seen.num_nodes, "entries": seen.pattern.num_entries, "runs": variant.seeds}
    return sizes | found | _floors(seen, settings, variant.seeds, rates, found["milliseconds"])


def _floors(
    graph: Graph, settings: Settings, runs: int, rates: dict[str, float], milliseconds: float
) -> dict[str, float]:
    work = {part: one.times(runs) for part, one in step_operations(graph, settings).items()}
    at = lambda rate, *parts: floor_ms({part: work[part] for part in parts}, rate, rates["bytes copied"])
    full, passes = rates["float32 operations"], 3 if settings.precision == "float32" else 1
    coarse = max(full, rates.get("bf16 operations", 0.0) / passes)
    encoder = at(full, "features", "layers", "propagation")
    floors = {"floor_ms": encoder + at(full, "scores"), "floor_16bit_ms": encoder + at(coarse, "scores")}
    return floors | {
        "gflop": sum(one.operations for one in work.values()) / 1e9,
        "over_floor": milliseconds / floors["floor_ms"],
        "over_floor_16bit": milliseconds / floors["floor_16bit_ms"],
    }


def _compare(record: Record) -> None:
    """Sort the rows, and add to each how many times faster it is than the variants that are measured already."""
    order = {name: number for number, name in enumerate((*GRAPHS, *COUNTED, *VARIANTS))}
    record.rows.sort(key=lambda row: [order.get(row[name], -1) for name in record.keys])
    for row in record.rows:
        rivals = {"than_eager": VARIANTS[row["variant"]].eager, "than_prototype": VARIANTS[row["variant"]].prototype}
        for name, variant in rivals.items():
            rival = record.find(graph=row["graph"], backbone=row["backbone"], variant=variant)
            if rival is not None and rival is not row and "error" not in rival and "error" not in row:
                row[name] = rival["milliseconds"] * row["runs"] / row["milliseconds"]


if __name__ == "__main__":
    main()
