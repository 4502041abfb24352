"""How time and memory of a full-batch step grow with the graph: random graphs of up to a million nodes.

``python -m signnap_paper.benchmarks.scaling --out benchmarks/results/scaling.json``
measures only the cells that the file lacks.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from signnap import Graph
from signnap.graph import Pattern

from ..provenance import failure
from .bench import training_step
from .record import Record
from .timing import Pace, measure

SIZES = (250_000, 500_000, 1_000_000)
ENTRIES_PER_NODE = 20
FEATURES = 100
SETTINGS: dict[str, Any] = {"backbone": "gcn", "negatives": 1024, "share": 512}

ABOUT = """
A training step (GCN of width 128, K = 1,024, negatives shared by 512 anchors) on random graphs with uneven degrees and
dense features. Entries are those of the adjacency, both directions of every edge. An exponent is the slope of a
straight line through log(measured) against log(nodes + entries), by least squares: 1 is growth in proportion.
""".strip()
COLUMNS = {
    "nodes": "nodes", "entries": "entries", "largest_degree": "largest degree", "milliseconds": "ms per iteration",
    "peak_mb": "peak MB above the graph", "note": "note", "error": "error",
}  # fmt: skip


def random_graph(nodes: int, seed: int = 0) -> Graph:
    """Draw ends with probability ∝ rank^(−1/3), ranks in random order: hubs have a hundred times the mean degree.

    Loops and pairs that are drawn twice vanish, so the graph has slightly fewer entries than asked for.
    """
    rng = np.random.default_rng(seed)
    ranks = (nodes * rng.random((2, nodes * ENTRIES_PER_NODE // 2)) ** 1.5).astype(np.int64)
    source, target = rng.permutation(nodes)[ranks]
    x = rng.standard_normal((nodes, FEATURES), dtype=np.float32)
    # Graph.from_edges would also report on the edges, which takes longer than all the rest.
    return Graph(Pattern.from_pairs(source, target, nodes), torch.from_numpy(x), name="random")


def exponent(rows: list[dict[str, Any]], name: str) -> float | None:
    """Return the slope of log(measured) over log(nodes + entries); None with fewer than two measurements."""
    known = [(row["nodes"] + row["entries"], row[name]) for row in rows if row.get(name)]
    if len(known) < 2:
        return None
    sizes, measured = np.log(np.array(known)).T
    return float(np.polyfit(sizes, measured, 1)[0])


def main() -> None:
    """Measure every size that the file lacks, then fit the exponents."""
    options = _options()
    pace = Pace(1, 0.0, 1) if options.quick else Pace()
    protocol = {**pace.in_words(), "entries per node": ENTRIES_PER_NODE, "features": FEATURES, "seed": 0, **SETTINGS}
    record = Record(
        options.out, title="Growth with the graph", about=ABOUT, protocol=protocol, keys=["size"], columns=COLUMNS
    )
    for size in options.sizes:
        if record.holds(size=size):
            continue
        try:
            row = _measured(random_graph(size), pace)
        except Exception as error:  # one size that fails must not cost the others
            row = {"nodes": size, **failure(error)}
        record.add({"size": size} | row)
        record.rows.sort(key=lambda each: each["size"])
        record.content["found"] = {
            f"exponent of {what}": exponent(record.rows, name)
            for what, name in (("time", "milliseconds"), ("memory", "peak_mb"))
        }
        record.save()
        print(size, row.get("milliseconds", row.get("error")), file=sys.stderr, flush=True)


def _measured(graph: Graph, pace: Pace) -> dict[str, Any]:
    degree = graph.pattern.degree
    sizes = {"nodes": graph.num_nodes, "entries": 2 * graph.num_edges, "largest_degree": int(degree.max())}
    prepare: Callable[[Graph], Callable[[], Any]] = lambda loaded: training_step(loaded, **SETTINGS)
    return sizes | measure(prepare, graph, pace)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="the JSON file to write or to continue")
    parser.add_argument("--sizes", type=int, nargs="+", default=None, help="numbers of nodes")
    parser.add_argument("--quick", action="store_true", help="a try: small graphs, no precision")
    options = parser.parse_args()
    options.sizes = options.sizes or ([1000, 2000, 4000] if options.quick else SIZES)
    return options


if __name__ == "__main__":
    main()
