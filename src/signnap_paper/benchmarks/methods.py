"""One training iteration of every method that trains, and of three of them written with PyG's layers.

``python -m signnap_paper.benchmarks.methods --out benchmarks/results/methods.json``
measures only the cells that the file lacks.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from signnap import Graph, load_graph
from signnap.methods import method_class
from signnap.methods.base import Method
from signnap.registry import METHODS
from signnap.train.loop import iterate

from ..provenance import failure
from .record import Record
from .timing import Contender, Turns, alone_on_device, free_bytes, in_turns
from .twins import TWINS

GRAPHS = ("amazon_photo", "pubmed")
TRAINED = tuple(name for name in METHODS if method_class(name).trains)

ABOUT = """
Seconds per iteration of every method that trains, with the paper's preset for the graph, views, gradients and the
optimiser's step included, and peak device memory above the loaded graph. An iteration is an epoch, all nodes once, but
for `deepwalk` and `node2vec`, which take a batch of walks, and `gcc` and `gcc-attributed`, with a batch of subgraphs.
*PyG* is the same method with the same settings written down directly (`twins.py`): `GCNConv`, dense
features and autograd, and for `grace` all N×N similarities. Both took turns in one run.
""".strip()
COLUMNS = {
    "graph": "graph", "method": "method", "device": "device", "seconds": "s per iteration",
    "twin_seconds": "PyG, s per iteration", "times_faster": "× faster than PyG", "peak_mb": "peak MB",
    "twin_peak_mb": "PyG, peak MB", "note": "note", "error": "error",
}  # fmt: skip


def main() -> None:
    """Measure every cell that was asked for, and write each when it is done."""
    options = _options()
    warm_up = 12 if torch.cuda.is_available() else 2  # a GPU compiles and records a step first
    turns = Turns(1, 0.0, 1) if options.quick else Turns(warm_up)
    changes: dict[str, Any] = {"dim": 16, "hidden": 16} if options.quick else {}
    threads = {"threads": torch.get_num_threads()}  # rows of one file are compared with each other
    record = Record(
        options.out, title="Methods", about=ABOUT, keys=["graph", "method"], columns=COLUMNS,
        protocol={**turns.in_words(), "preset": "paper", "changes": changes, "seed": 0, **threads},
    )  # fmt: skip
    order = {name: number for number, name in enumerate((*GRAPHS, *TRAINED))}
    for name in options.graphs:
        graph = None
        for method in options.methods:
            key = {"graph": name, "method": method}
            if record.holds(**key):
                continue
            try:
                graph = graph or load_graph(name)
                fitting: dict[str, Any] = {
                    part: value for part, value in changes.items() if hasattr(METHODS[method].settings_class(), part)
                }
                row = _measured(graph, method_class(method)(**fitting), turns)
            except Exception as error:  # one cell that fails must not cost the others
                row = failure(error)
            record.add(key | row)
            record.rows.sort(key=lambda each: [order.get(each[part], -1) for part in record.keys])
            record.save()
            print(key, row.get("seconds", row.get("error")), row.get("times_faster", ""), file=sys.stderr, flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="the JSON file to write or to continue")
    parser.add_argument("--graphs", nargs="+", default=None, help=f"only these (default: {' '.join(GRAPHS)})")
    parser.add_argument("--methods", nargs="+", default=TRAINED, choices=TRAINED, metavar="METHOD", help="only these")
    parser.add_argument("--quick", action="store_true", help="a try: the synthetic graph, small widths, no precision")
    options = parser.parse_args()
    options.graphs = options.graphs or (["synthetic"] if options.quick else GRAPHS)
    return options


def _measured(graph: Graph, model: Method, turns: Turns) -> dict[str, Any]:
    """Measure time and memory of a method and, if there is memory for it, of its twin."""
    settings = model.settings_for(graph.name)
    loaded = alone_on_device(model.training_view(graph, settings.split))
    contenders = [Contender(lambda seen: training_step(model, seen), loaded, turns.warm_up)]
    notes = list(contenders[0].notes)
    if model.name in TWINS:
        try:
            twin = lambda seen: _twin(model.name, seen, settings)
            contenders.append(Contender(twin, loaded, turns.warm_up))
        except (MemoryError, RuntimeError) as error:  # the twin may be too large for this machine
            notes.append(f"PyG: {failure(error)['error']}")
    seconds, peaks = in_turns(contenders, turns), [each.peak_mb for each in contenders]
    row = {
        "nodes": loaded.num_nodes, "entries": loaded.pattern.num_entries, "device": loaded.pattern.device.type,
        "seconds": seconds[0], "peak_mb": peaks[0], "note": "; ".join(notes) or None,
    }  # fmt: skip
    if len(contenders) > 1:
        row |= {"twin_seconds": seconds[1], "times_faster": seconds[1] / seconds[0], "twin_peak_mb": peaks[1]}
    return row


def training_step(model: Method, graph: Graph) -> Callable[[], Any]:
    """Return one iteration as the training loop runs it."""
    iterations = iterate(model.run(graph), until=10**9)
    return lambda: next(iterations)


def _twin(name: str, graph: Graph, settings: Any) -> Callable[[], Any]:
    """Build the twin, unless its N×N matrices exceed the free memory, for which a system may kill the process."""
    needed, free = 4 * TWINS[name].squares * graph.num_nodes**2, free_bytes(graph.pattern.device)
    if free is not None and needed > free:
        raise MemoryError(f"needs about {needed / 1e9:.1f} GB, and {free / 1e9:.1f} GB are free")
    return TWINS[name](graph, settings)


if __name__ == "__main__":
    main()
