"""The paper's figure of over-fitting: accuracy on facebook with more layers, and while classifiers learn."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from signnap.methods.registry import method_class

from .. import pictures
from ..cells import Cell
from ..paper import COMPARED, ROWS, cell
from ..report.curves import Line, Panel, curves
from ..results import Results
from . import depths

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GRAPH = "facebook"


def cell_of(name: str, depth: int) -> Cell:
    """A method with so many layers; with two, as the paper uses it, also how its classifier learns."""
    curves = "training-curves" if method_class(ROWS[name][0]).uses_labels else "probe-curves"
    return cell(name, GRAPH, (curves,) if depth == min(depths.DEPTHS) else (), layers=depth)


def recipe() -> list[Cell]:
    """All cells, method by method."""
    return [cell_of(name, depth) for name in COMPARED for depth in depths.DEPTHS]


def page(results: Results, seeds: int) -> str:
    """Accuracy by depth in Markdown."""
    head = f"{GRAPH}, mean ± deviation over {seeds} encoder seeds. The curves are those of the first seed.\n\n"
    return head + depths.tables(results, seeds, cell_of, {})


def figure(results: Results, seeds: int) -> Figure:
    """As the paper has it: accuracy by depth, then how the classifiers of two layers learn."""
    rows = {name: {d: results.find(cell_of(name, d), seeds) for d in depths.DEPTHS} for name in COMPARED}
    known = {(name, str(depth)): row for name, each in rows.items() for depth, row in each.items()}
    by_depth = {name: replace(pictures.line(each), values=()) for name, each in rows.items()}
    every = pictures.absent(known.values())
    panels = [Panel("(a) depth", "layers", "test accuracy, %", by_depth, ticks=depths.DEPTHS, absent=every)]
    shallow = min(depths.DEPTHS)
    looks = {name: pictures.first_look(each[shallow], *cell_of(name, shallow).looks) for name, each in rows.items()}
    words = ", ".join(dict.fromkeys(look for look in looks.values() if isinstance(look, str)))
    for letter, part, title in (("b", "train", "training"), ("c", "val", "validation")):
        lines = {name: Line(look["iteration"], look[part]) for name, look in looks.items() if not isinstance(look, str)}
        labels = "iteration of the classifier", f"{title} accuracy, %"
        panels.append(Panel(f"({letter}) {title}, {shallow} layers", *labels, lines, absent=words))
    return curves(panels, pictures.note(known, seeds), styles=pictures.STYLES)
