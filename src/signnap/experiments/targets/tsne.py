"""The paper's maps of coauthor_cs: do classes stand apart in the plane, and in the embeddings themselves?"""

from __future__ import annotations

from dataclasses import replace

from ...evaluate import summarize
from .. import markdown
from ..cells import Cell, Results
from ..paper import cell, reported

GRAPH = "coauthor_cs"
METHODS = ("Raw", "DGI", "GCC, with features", "SIGNNAP(GCN)")


def cell_of(name: str) -> Cell:
    """A method with its map and silhouette."""
    looks = ("map", "silhouette")
    if name == "Raw":
        return Cell("raw", GRAPH, probe="linear-plain", looks=looks)
    return replace(cell(name, GRAPH), looks=looks)


def recipe() -> list[Cell]:
    """All panels."""
    return [cell_of(name) for name in METHODS]


def page(results: Results, seeds: int) -> str:
    """Silhouettes in Markdown, beside the paper's."""
    lines = []
    for name in METHODS:
        row = results.find(cell_of(name), seeds)
        found = None if row is None or "error" in row else summarize(row["looks"]["silhouette"])
        ours = markdown.shown(None, row, seeds) if found is None else f"{found.mean:.4f} ± {found.std:.4f}"
        lines.append([name, ours, f"{reported()['silhouette'][name.split(',', maxsplit=1)[0]]:.4f}"])
    head = f"{GRAPH}, the first ten classes: silhouette of the embeddings, over {seeds} encoder seeds.\n\n"
    return head + markdown.table(["method", "ours", "the paper"], lines)
