"""The paper's figures about depth: over-smoothing on pubmed, and over-fitting on facebook."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from signnap.evaluate import summarize

from . import summaries
from .cells import Cell
from .paper import COMPARED, OURS, UNLABELLED, cell
from .plots import Line, Map, Panel, curves, maps
from .results import Results
from .targets import Target

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DEPTHS = (2, 4, 6, 8, 10)


def _tables(
    results: Results, seeds: int, cell_of: Callable[[str, int], Cell], measures: dict[str, summaries.Measure]
) -> str:
    """Return one table for accuracy and one for each of the measures: methods down, layers across."""
    pages = []
    for title, measure in {"test accuracy, %": summaries.accuracies, **measures}.items():
        lines = []
        for name in COMPARED:
            rows = [results.find(cell_of(name, depth), seeds) for depth in DEPTHS]
            lines.append([name, *(summaries.shown(row, seeds, measure) for row in rows)])
        pages.append(summaries.table([title, *(f"{depth} layers" for depth in DEPTHS)], lines))
    return "\n".join(pages)


# -- figure-oversmoothing: do nodes stay apart when layers are stacked? ------------------------------------------------

SMOOTHED_GRAPH = "pubmed"
#: Nodes of mean length one all but coincide if their mean distance is less than this.
_NEAR = 0.01


def smoothed_cell(name: str, depth: int) -> Cell:
    """Return a method with so many layers, with its map and the spread of its nodes."""
    return cell(name, SMOOTHED_GRAPH, ("map", "spread"), layers=depth)


def _smoothed_cells() -> list[Cell]:
    return [smoothed_cell(name, depth) for name in COMPARED for depth in DEPTHS]


def spread_of(number: str) -> summaries.Measure:
    """Return the measure that reads one of the numbers of the spread."""
    return lambda row: [spread[number] for spread in row["looks"]["spread"]]


def _smoothed_page(results: Results, seeds: int) -> str:
    """Show accuracy and spread of every panel."""
    head = (
        f"{SMOOTHED_GRAPH}, mean ± standard deviation over {seeds} encoder seeds. For networks with labels, the class "
        f"scores are the embeddings.\n\n{_coinciding(results, seeds)}"
    )
    measures = {
        "mean distance between nodes": spread_of("distance"),
        "mean distance, relative to mean length": spread_of("relative_distance"),
        "effective rank": spread_of("effective_rank"),
    }
    return head + _tables(results, seeds, smoothed_cell, measures)


def _coinciding(results: Results, seeds: int) -> str:
    """Count the encoders of SIGNNAP that map all nodes to nearly one point: a mean over seeds would hide them."""
    sentences = []
    for depth in DEPTHS:
        row = results.find(smoothed_cell(OURS, depth), seeds)
        if row is None or "error" in row:
            continue
        spreads, accuracies = row["looks"]["spread"], summaries.accuracies(row)
        pairs = zip(spreads, accuracies, strict=True)
        near = [accuracy for spread, accuracy in pairs if spread["relative_distance"] < _NEAR]
        if near:
            shown = ", ".join(f"{accuracy:.2f} %" for accuracy in near)
            sentences.append(
                f"With {depth} layers, {len(near)} of {len(accuracies)} encoders of {OURS} map all nodes to nearly one "
                f"point, with accuracy {shown}."
            )
    return "".join(f"{sentence}\n\n" for sentence in sentences)


def _smoothed_figure(results: Results, seeds: int) -> Figure:
    """Draw a map for every method, down, and depth, across, with its accuracy and effective rank."""
    rows = {name: {d: results.find(smoothed_cell(name, d), seeds) for d in DEPTHS} for name in COMPARED}
    panels = {name: [_panel(row) for row in each.values()] for name, each in rows.items()}
    note = summaries.note({(name, str(d)): row for name, each in rows.items() for d, row in each.items()}, seeds)
    return maps(panels, [f"{depth} layers" for depth in DEPTHS], note, side=1.6)


def _panel(row: summaries.Row) -> Map | str:
    found = summaries.first_measured(row, "map")
    if row is None or isinstance(found, str):
        return found
    accuracy = summarize(summaries.accuracies(row))
    rank = summarize(spread_of("effective_rank")(row))
    below = f"accuracy {summaries.spread(accuracy, 1)} %\neffective rank {summaries.spread(rank, 1)}"
    return Map(found["x"], found["y"], found["class"], below)


OVERSMOOTHING = Target(
    _smoothed_cells, _smoothed_page, _smoothed_figure, seeds=3, title="Over-smoothing: embeddings of deeper encoders"
)

# -- figure-overfitting: accuracy with more layers, and while classifiers learn ----------------------------------------

FITTED_GRAPH = "facebook"


def fitted_cell(name: str, depth: int) -> Cell:
    """Return a method with so many layers; with two, as the paper uses it, also the curves of its classifier."""
    curve = "probe-curves" if name in UNLABELLED else "training-curves"
    return cell(name, FITTED_GRAPH, (curve,) if depth == min(DEPTHS) else (), layers=depth)


def _fitted_cells() -> list[Cell]:
    return [fitted_cell(name, depth) for name in COMPARED for depth in DEPTHS]


def _fitted_page(results: Results, seeds: int) -> str:
    """Show accuracy by depth."""
    head = f"{FITTED_GRAPH}, mean ± standard deviation over {seeds} encoder seeds. Curves are for the first seed.\n\n"
    return head + _tables(results, seeds, fitted_cell, {})


def _fitted_figure(results: Results, seeds: int) -> Figure:
    """Draw accuracy by depth, then how the classifiers of two layers learn, as the paper does."""
    rows = {name: {d: results.find(fitted_cell(name, d), seeds) for d in DEPTHS} for name in COMPARED}
    known = {(name, str(depth)): row for name, each in rows.items() for depth, row in each.items()}
    by_depth = {name: replace(summaries.line(each), values=()) for name, each in rows.items()}
    every = summaries.absent(known.values())
    panels = [Panel("(a) depth", "layers", "test accuracy, %", by_depth, ticks=DEPTHS, absent=every)]
    shallow = min(DEPTHS)
    found = {
        name: summaries.first_measured(each[shallow], *fitted_cell(name, shallow).looks) for name, each in rows.items()
    }
    words = ", ".join(dict.fromkeys(curve for curve in found.values() if isinstance(curve, str)))
    for letter, part, title in (("b", "train", "training"), ("c", "val", "validation")):
        lines = {name: Line(curve["iteration"], curve[part]) for name, curve in found.items() if type(curve) is not str}
        labels = "iteration of the classifier", f"{title} accuracy, %"
        panels.append(Panel(f"({letter}) {title}, {shallow} layers", *labels, lines, absent=words))
    return curves(panels, summaries.note(known, seeds), styles=summaries.STYLES)


OVERFITTING = Target(
    _fitted_cells, _fitted_page, _fitted_figure, seeds=3, title="Over-fitting: accuracy by depth, and learning curves"
)
