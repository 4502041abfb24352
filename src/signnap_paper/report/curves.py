"""Curves side by side: what was measured at a few points, with its spread, or watched at many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING

from .canvas import GREY, Style, canvas, manner, name_series, say_below, say_empty, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Line:
    """One series: a mean for every x and, if it has any, the deviation of each and the values that it is over.

    A mean that is not known is NaN: a line has a gap there, rather than a guess.
    """

    x: Sequence[float]
    mean: Sequence[float]
    deviation: Sequence[float] = ()
    values: Sequence[Sequence[float]] = ()


@dataclass(frozen=True)
class Panel:
    """Lines by their names. ``ticks`` are the places where x was measured, ``mark`` one of them.

    With ``log``, its base, the axis of x is logarithmic. ``absent`` stands in a panel without any line.
    """

    title: str
    x_label: str
    y_label: str
    lines: Mapping[str, Line]
    ticks: Sequence[float] = ()
    log: int | None = None
    mark: float | None = None
    absent: str = "not run"


@manner()
def curves(
    panels: Sequence[Panel], note: str = "", *, mark: str = "", styles: Mapping[str, Style] | None = None
) -> Figure:
    """The panels in a row, the lines named above and the note below; ``mark`` names what panels mark.

    ``styles`` are those of lines by their names; any other line gets one by its place.
    """
    styles = styled((name for panel in panels for name in panel.lines), styles)
    figure = canvas(2.7 * len(panels), 2.7)
    for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        axes.set(title=panel.title, xlabel=panel.x_label, ylabel=panel.y_label)
        present = {name: line for name, line in panel.lines.items() if not all(map(isnan, line.mean))}
        if not present:
            say_empty(axes, panel.absent)
            continue
        for name, line in present.items():
            _draw(axes, name, line, styles[name])
        if panel.mark is not None:
            axes.axvline(panel.mark, color=GREY, linestyle="--", linewidth=1, zorder=0, label=mark)
        axes.grid(axis="y")
        _measure(axes, panel)
    name_series(figure)
    say_below(figure, note)
    return figure


def _draw(axes: Axes, name: str, line: Line, style: Style) -> None:
    """A curve; with deviations, points with bars or, where the values themselves are shown, a band behind those."""
    colour, marker = style
    if not line.deviation:
        axes.plot(line.x, line.mean, color=colour, label=name, linewidth=1.1)
    elif not line.values:
        axes.errorbar(line.x, line.mean, line.deviation, color=colour, marker=marker, capsize=2, label=name)
    else:
        low = [mean - far for mean, far in zip(line.mean, line.deviation, strict=True)]
        high = [mean + far for mean, far in zip(line.mean, line.deviation, strict=True)]
        axes.fill_between(line.x, low, high, color=colour, alpha=0.2, linewidth=0, label="± standard deviation")
        axes.plot(line.x, line.mean, color=colour, marker=marker, label=f"{name}, mean")
        places = [x for x, values in zip(line.x, line.values, strict=True) for _ in values]
        dots = [value for values in line.values for value in values]
        axes.scatter(places, dots, s=9, color=GREY, alpha=0.6, linewidths=0, zorder=3, label="one encoder seed")


def _measure(axes: Axes, panel: Panel) -> None:
    """Tick the places that were asked for, drawn or not, in plain numbers."""
    if panel.log:
        axes.set_xscale("log", base=panel.log)
        axes.minorticks_off()
    if panel.ticks:
        axes.update_datalim([(tick, 0) for tick in panel.ticks], updatey=False)
        axes.autoscale_view(scaley=False)
        axes.set_xticks(panel.ticks, [f"{tick:g}" for tick in panel.ticks])
