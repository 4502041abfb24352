"""The paper's table of data sets, computed from the graphs as they are loaded."""

from __future__ import annotations

from ...data import load_graph, make_split
from .. import markdown
from ..paper import GRAPHS, reported

_COUNTS = ("nodes", "edges", "classes", "features", "train", "val", "test")


def counts(name: str) -> dict[str, int]:
    """What a graph and its split consist of."""
    graph = load_graph(name)
    parts = make_split(graph, "paper")
    sizes = {part: len(getattr(parts, part)) for part in ("train", "val", "test")}
    found = {"nodes": graph.num_nodes, "edges": graph.num_edges, "classes": graph.num_classes}
    return {**found, "features": graph.num_features, **sizes}


def page() -> str:
    """Our counts in Markdown, with the paper's in brackets where they differ."""
    lines = []
    for name in GRAPHS:
        ours, theirs = counts(name), reported()["datasets"][name]
        lines.append([name, *(_beside(ours[what], theirs[what]) for what in _COUNTS)])
    head = "Edges are undirected and counted once, without self-loops. In brackets: the paper, where it differs.\n\n"
    return head + markdown.table(["graph", *_COUNTS], lines)


def _beside(ours: int, theirs: int | str) -> str:
    same = theirs in (ours, "rest")
    return f"{ours:,}" if same else f"{ours:,} ({theirs:,})"
