"""The paper's figure of hyper-parameters: negatives K, share of dropped edges ρ and temperature τ on pubmed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import markdown, pictures
from ..cells import Cell
from ..paper import OURS, cell
from ..report.curves import Panel, curves
from ..results import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
#: What an axis of the figure is called, and the base of its logarithm where it has one.
_AXES: dict[str, tuple[str, int | None]] = {
    "negatives": ("number of negatives", 2),
    "drop_edge": ("share of edges dropped", None),
    "temperature": ("temperature", 10),
}


def cell_of(setting: str, value: float) -> Cell:
    """SIGNNAP(GCN) with one setting changed; with none, where the value is the paper's own."""
    changes: dict[str, Any] = {} if value == PAPER[setting] else {setting: value}
    return cell(OURS, GRAPH, **changes)


def recipe() -> list[Cell]:
    """All points, sweep by sweep; what they share is there once."""
    cells = [cell_of(setting, value) for setting, values in SWEEPS.items() for value in values]
    return list({each.key: each for each in cells}.values())


def page(results: Results, seeds: int) -> str:
    """One table for each sweep in Markdown."""
    pages = []
    for setting, values in SWEEPS.items():
        rows = [results.find(cell_of(setting, value), seeds) for value in values]
        line = [markdown.shown(row, seeds) for row in rows]
        names = [f"{value} (the paper's)" if value == PAPER[setting] else str(value) for value in values]
        pages.append(markdown.table([LETTERS[setting], *names], [["accuracy, %", *line]]))
    head = f"{OURS} on {GRAPH}, test accuracy, mean ± deviation over {seeds} encoder seeds.\n\n"
    return head + "\n".join(pages)


def figure(results: Results, seeds: int) -> Figure:
    """Accuracy along each sweep, with the paper's own value marked."""
    panels = []
    known: dict[tuple[str, str], pictures.Row] = {}
    for letter, (setting, values) in zip("abc", SWEEPS.items(), strict=True):
        rows = {value: results.find(cell_of(setting, value), seeds) for value in values}
        known |= {(LETTERS[setting], f"{value:g}"): row for value, row in rows.items()}
        name, log = _AXES[setting]
        words = f"({letter}) {name}", LETTERS[setting], "test accuracy, %"
        x: dict[str, Any] = {"ticks": values, "log": log, "mark": PAPER[setting]}
        lines = {OURS: pictures.line(rows)}
        panels.append(Panel(*words, lines, **x, absent=pictures.absent(rows.values())))
    return curves(panels, pictures.note(known, seeds), mark="the paper's value", styles=pictures.STYLES)
