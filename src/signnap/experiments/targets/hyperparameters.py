"""The paper's figure of hyper-parameters: negatives K, share of dropped edges ρ and temperature τ on pubmed."""

from __future__ import annotations

from typing import Any

from .. import markdown
from ..cells import Cell, Results
from ..paper import cell

GRAPH = "pubmed"
#: What is swept while the others stay as the paper has them; the paper's own value is among them.
SWEEPS: dict[str, tuple[float, ...]] = {
    "negatives": (64, 256, 1024, 4096, 16384),
    "drop_edge": (0.1, 0.3, 0.5, 0.7, 0.9),
    "temperature": (0.02, 0.05, 0.1, 0.2, 0.5, 1.0),
}
#: The paper's letters for them, and its values.
LETTERS = {"negatives": "K", "drop_edge": "ρ", "temperature": "τ"}
PAPER = {"negatives": 1024, "drop_edge": 0.3, "temperature": 0.1}


def cell_of(setting: str, value: float) -> Cell:
    """SIGNNAP(GCN) with one setting changed; with none, where the value is the paper's own."""
    changes: dict[str, Any] = {} if value == PAPER[setting] else {setting: value}
    return cell("SIGNNAP(GCN)", GRAPH, **changes)


def recipe() -> list[Cell]:
    """All points, sweep by sweep; what they share is there once."""
    cells = [cell_of(setting, value) for setting, values in SWEEPS.items() for value in values]
    return list({each.key: each for each in cells}.values())


def page(results: Results, seeds: int) -> str:
    """One table for each sweep in Markdown."""
    pages = []
    for setting, values in SWEEPS.items():
        rows = [results.find(cell_of(setting, value), seeds) for value in values]
        line = [markdown.shown(markdown.over_encoders(row), row, seeds) for row in rows]
        names = [f"{value} (the paper's)" if value == PAPER[setting] else str(value) for value in values]
        pages.append(markdown.table([LETTERS[setting], *names], [["accuracy, %", *line]]))
    head = f"SIGNNAP(GCN) on {GRAPH}, test accuracy, mean ± deviation over {seeds} encoder seeds.\n\n"
    return head + "\n".join(pages)
