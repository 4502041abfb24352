"""How many anchors may share a draw of negatives? Not in the paper, where each has its own: what we chose by."""

from __future__ import annotations

from .. import markdown
from ..cells import Cell
from ..paper import OURS, cell
from ..results import Results

GRAPHS = ("pubmed", "facebook")
#: Anchors that share a draw. 1 is the paper, at several times the cost; 0: all.
SHARES = (1, 64, 256, 512, 0)


def cell_of(share: int, graph: str) -> Cell:
    """SIGNNAP(GCN), trained briefly, with so many anchors to a draw."""
    return cell(OURS, graph, share=share, iterations=1500)


def recipe() -> list[Cell]:
    """All cells, graph by graph."""
    return [cell_of(share, graph) for graph in GRAPHS for share in SHARES]


def page(results: Results, seeds: int) -> str:
    """Validation accuracy in Markdown: choices are made by that."""
    lines = []
    for share in SHARES:
        rows = [results.find(cell_of(share, graph), seeds) for graph in GRAPHS]
        lines.append([str(share or "all"), *(markdown.shown(row, seeds, markdown.validation) for row in rows)])
    head = f"{OURS}, 1,500 iterations, validation accuracy in % on the paper's splits, "
    return head + f"mean ± deviation over {seeds} encoder seeds.\n\n" + markdown.table(["anchors", *GRAPHS], lines)
