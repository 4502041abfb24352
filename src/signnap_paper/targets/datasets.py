"""The paper's table of data sets, computed from the graphs as they are loaded."""

from __future__ import annotations

from signnap.data.load import load_graph
from signnap.data.splits import make_split

from .. import markdown
from ..paper import GRAPHS, reported

_COUNTS = ("nodes", "edges", "density", "classes", "features", "label rate", "train", "val", "test")
_HEAD = """
Edges are undirected and counted once, without self-loops. Density is their number over the square of that of nodes, as
the paper has it, and the label rate is the share of training nodes. In brackets: the paper, where it differs.
"""


def counts(name: str) -> dict[str, float]:
    """What a graph and its split consist of; shares are in %."""
    graph = load_graph(name)
    parts = make_split(graph, "paper")
    nodes, edges = graph.num_nodes, graph.num_edges
    return {
        "nodes": nodes, "edges": edges, "density": 100 * edges / nodes**2, "classes": graph.num_classes,
        "features": graph.num_features, "label rate": 100 * len(parts.train) / nodes,
        **{part: len(getattr(parts, part)) for part in ("train", "val", "test")},
    }  # fmt: skip


def page() -> str:
    """Our counts in Markdown, with the paper's in brackets where they differ."""
    lines = []
    for name in GRAPHS:
        ours, theirs = counts(name), reported()["datasets"][name]
        lines.append([name, *(_beside(ours[what], theirs[what]) for what in _COUNTS)])
    return f"{_HEAD.strip()}\n\n{markdown.table(['graph', *_COUNTS], lines)}"


def _beside(ours: float, theirs: float | str) -> str:
    written, reported = map(_written, (ours, theirs))
    return written if reported in (written, "rest") else f"{written} ({reported})"


def _written(number: float | str) -> str:
    """A count, a share in %, or a word."""
    return f"{number:.2f} %" if isinstance(number, float) else f"{number:,}" if isinstance(number, int) else number
