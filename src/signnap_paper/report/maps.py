"""Maps of nodes in the plane, side by side: points in the colour of their class, without axes, which mean nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .canvas import COLOURS, canvas, manner, say_below, say_empty

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Map:
    """Points, the class of each, counted from 0, and what stands below them."""

    x: Sequence[float]
    y: Sequence[float]
    classes: Sequence[int]
    below: str = ""


@manner()
def maps(rows: Mapping[str, Sequence[Map | str]], columns: Sequence[str], note: str = "", *, side: float) -> Figure:
    """A grid of maps, each ``side`` inches wide; words in the place of a map say why there is none."""
    figure = canvas(side * len(columns) + 0.3, (side + 0.35) * len(rows) + 0.2)
    grid = figure.subplots(len(rows), len(columns), squeeze=False)
    for line, (name, panels) in zip(grid, rows.items(), strict=True):
        line[0].set_ylabel(name, fontsize=9)
        for axes, panel in zip(line, panels, strict=True):
            _draw(axes, panel)
    for axes, name in zip(grid[0], columns, strict=True):
        axes.set_title(name)
    say_below(figure, note)
    return figure


def _draw(axes: Axes, panel: Map | str) -> None:
    axes.set_box_aspect(1)
    axes.spines[:].set(visible=True, color="#bbbbbb")
    if isinstance(panel, str):
        say_empty(axes, panel)
        return
    axes.set(xticks=[], yticks=[])
    axes.set_xlabel(panel.below, fontsize=7)
    axes.set_aspect("equal", adjustable="datalim")  # a distance is the same in both directions
    colours = [COLOURS[kind % len(COLOURS)] for kind in panel.classes]
    # One image in the SVG rather than thousands of circles.
    axes.scatter(panel.x, panel.y, s=4, c=colours, linewidths=0, alpha=0.8, rasterized=True)
