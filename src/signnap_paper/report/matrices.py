"""Matrices side by side: deeper colours are larger values, on one scale for all that stand in a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .canvas import canvas, manner, say_below, say_empty

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Inches, of one matrix.
_SIDE = 1.8
Values = Sequence[Sequence[float]]


@dataclass(frozen=True)
class Matrix:
    """Square values and what stands above them."""

    values: Values
    title: str


@manner()
def matrices(rows: Mapping[str, Mapping[str, Matrix | str]], note: str = "", *, axis: str) -> Figure:
    """Rows of matrices, each with its own colour bar, whose label is the row's name.

    ``axis`` says what the lines and columns of the matrices are. Words in the place of a matrix say why there is none;
    the name of the panel then stands above them. The note is below.
    """
    width = max(map(len, rows.values()))
    figure = canvas(_SIDE * width + 0.8, (_SIDE + 0.5) * len(rows))
    grid = figure.subplots(len(rows), width, squeeze=False)
    for line, (label, panels) in zip(grid, rows.items(), strict=True):
        low, high = _scale([panel.values for panel in panels.values() if isinstance(panel, Matrix)])
        image = None
        for axes, (name, panel) in zip(line, panels.items(), strict=True):
            axes.set_box_aspect(1)
            axes.spines[:].set(visible=True, color="#bbbbbb")
            if isinstance(panel, str):
                axes.set_title(name)
                say_empty(axes, panel)
                continue
            axes.set_title(f"{name}\n{panel.title}")
            image = axes.imshow(panel.values, cmap="Blues", vmin=low, vmax=high)
            last = len(panel.values) - 1
            ends = {"ticks": [0, last], "labels": ["1", str(last + 1)]}
            axes.set_xticks(**ends)
            axes.set_yticks(**ends)
            axes.set_xlabel(axis, labelpad=-6)
        if image is not None:
            figure.colorbar(image, ax=line, label=label, fraction=0.03, pad=0.02)
    say_below(figure, note)
    return figure


def _scale(matrices: Sequence[Values]) -> tuple[float, float]:
    """From the lowest to the highest value; where all are equal, that value gets the deepest colour."""
    values = [value for matrix in matrices for line in matrix for value in line] or [1.0]
    low, high = min(values), max(values)
    return (low, high) if low < high else (high - 1, high)
