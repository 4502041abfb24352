"""The paper's sweeps: accuracy along three hyper-parameters of SIGNNAP, and over the width of embeddings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import summaries
from .cells import Cell
from .paper import COMPARED, OURS, ROWS, cell
from .plots import Bars, Panel, bars, curves
from .results import Results
from .targets import Target

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# -- figure-hyperparameters --------------------------------------------------------------------------------------------

SWEPT_GRAPH = "pubmed"
#: The values of each sweep; the other settings stay as the paper has them. The paper's own value is among them.
SWEEPS: dict[str, tuple[float, ...]] = {
    "negatives": (64, 256, 1024, 4096, 16384),
    "drop_edge": (0.1, 0.3, 0.5, 0.7, 0.9),
    "temperature": (0.02, 0.05, 0.1, 0.2, 0.5, 1.0),
}
#: The paper's letters for them.
LETTERS = {"negatives": "K", "drop_edge": "ρ", "temperature": "τ"}
#: The paper's values.
PAPER = {"negatives": 1024, "drop_edge": 0.3, "temperature": 0.1}
#: The name of an axis, and the base of its logarithm if it has one.
_AXES: dict[str, tuple[str, int | None]] = {
    "negatives": ("number of negatives", 2),
    "drop_edge": ("share of edges dropped", None),
    "temperature": ("temperature", 10),
}


def swept_cell(setting: str, value: float) -> Cell:
    """Return SIGNNAP(GCN) with one setting changed, or unchanged where the value is the paper's own."""
    changes: dict[str, Any] = {} if value == PAPER[setting] else {setting: value}
    return cell(OURS, SWEPT_GRAPH, **changes)


def _swept_cells() -> list[Cell]:
    """Return all points, sweep by sweep; the point that sweeps share is there once."""
    cells = [swept_cell(setting, value) for setting, values in SWEEPS.items() for value in values]
    return list({each.key: each for each in cells}.values())


def _swept_page(results: Results, seeds: int) -> str:
    """Show one table for each sweep."""
    pages = []
    for setting, values in SWEEPS.items():
        rows = [results.find(swept_cell(setting, value), seeds) for value in values]
        line = [summaries.shown(row, seeds) for row in rows]
        names = [f"{value} (the paper's)" if value == PAPER[setting] else str(value) for value in values]
        pages.append(summaries.table([LETTERS[setting], *names], [["accuracy, %", *line]]))
    head = f"{OURS} on {SWEPT_GRAPH}, test accuracy, mean ± standard deviation over {seeds} encoder seeds.\n\n"
    return head + "\n".join(pages)


def _swept_figure(results: Results, seeds: int) -> Figure:
    """Draw accuracy along each sweep, with the paper's own value marked."""
    panels = []
    known: dict[tuple[str, str], summaries.Row] = {}
    for letter, (setting, values) in zip("abc", SWEEPS.items(), strict=True):
        rows = {value: results.find(swept_cell(setting, value), seeds) for value in values}
        known |= {(LETTERS[setting], f"{value:g}"): row for value, row in rows.items()}
        name, log = _AXES[setting]
        words = f"({letter}) {name}", LETTERS[setting], "test accuracy, %"
        x: dict[str, Any] = {"ticks": values, "log": log, "mark": PAPER[setting]}
        lines = {OURS: summaries.line(rows)}
        panels.append(Panel(*words, lines, **x, absent=summaries.absent(rows.values())))
    return curves(panels, summaries.note(known, seeds), mark="the paper's value", styles=summaries.STYLES)


HYPERPARAMETERS = Target(
    _swept_cells, _swept_page, _swept_figure, seeds=3, title="Accuracy along three hyper-parameters of SIGNNAP"
)

# -- figure-dimensions -------------------------------------------------------------------------------------------------

WIDTH_GRAPHS = ("pubmed", "facebook", "coauthor_cs")
WIDTHS = (32, 64, 128, 256, 512)


def width_cell(name: str, graph: str, dim: int) -> Cell:
    """Return a method with layers of that width; at the paper's own width, the cell of the main table."""
    own = {"dgi": 512}.get(ROWS[name][0], 128)
    widths: dict[str, Any] = {"dim": dim, "hidden": dim} if name == "DGI" else {"dim": dim}
    return cell(name, graph, **({} if dim == own else widths))


def _width_cells() -> list[Cell]:
    return [width_cell(name, graph, dim) for graph in WIDTH_GRAPHS for name in COMPARED for dim in WIDTHS]


def _width_page(results: Results, seeds: int) -> str:
    """Show one table for each graph."""
    pages = []
    for graph in WIDTH_GRAPHS:
        lines = []
        for name in COMPARED:
            rows = [results.find(width_cell(name, graph, dim), seeds) for dim in WIDTHS]
            lines.append([name, *(summaries.shown(row, seeds) for row in rows)])
        pages.append(summaries.table([graph, *map(str, WIDTHS)], lines))
    return f"Test accuracy in %, mean ± standard deviation over {seeds} encoder seeds.\n\n" + "\n".join(pages)


def _width_figure(results: Results, seeds: int) -> Figure:
    """Draw a panel for each graph: the methods side by side for every width."""
    panels = []
    known: dict[tuple[str, str], summaries.Row] = {}
    for graph in WIDTH_GRAPHS:
        rows = {(name, dim): results.find(width_cell(name, graph, dim), seeds) for name in COMPARED for dim in WIDTHS}
        known |= {(graph, f"{name} {dim}"): row for (name, dim), row in rows.items()}
        heights: dict[str, dict[str, tuple[float, float]]] = {name: {} for name in COMPARED}
        for (name, dim), row in rows.items():
            if (found := summaries.over_encoders(row)) is not None:
                heights[name][str(dim)] = found.mean, summaries.deviation(found)
        panels.append(Bars(graph, heights, summaries.absent(rows.values())))
    labels = {"x_label": "latent dimension", "y_label": "test accuracy, %"}
    groups = [str(dim) for dim in WIDTHS]
    return bars(panels, groups, summaries.note(known, seeds), **labels, styles=summaries.STYLES)


DIMENSIONS = Target(_width_cells, _width_page, _width_figure, seeds=3, title="Accuracy over embedding dimensions")
