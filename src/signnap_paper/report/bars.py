"""Bars in groups, side by side, with their deviations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor, isnan
from typing import TYPE_CHECKING

from .canvas import Style, canvas, manner, name_series, say_below, say_empty, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: An axis begins at a multiple of this.
_STEP = 5
_ZOOMED = "The axes of accuracy do not begin at zero."


@dataclass(frozen=True)
class Bars:
    """A panel: by series, the mean and deviation (NaN: unknown) in every group where it has one.

    ``absent`` stands in a panel without any bar.
    """

    title: str
    heights: Mapping[str, Mapping[str, tuple[float, float]]]
    absent: str = "not run"


@manner()
def bars(
    panels: Sequence[Bars],
    groups: Sequence[str],
    note: str = "",
    *,
    x_label: str,
    y_label: str,
    styles: Mapping[str, Style] | None = None,
) -> Figure:
    """The panels in a row, the series named above and the note below; a bar that is not there leaves its gap.

    ``styles`` are those of series by their names; any other gets one by its place.
    """
    styles = styled((name for panel in panels for name in panel.heights), styles)
    figure = canvas(3.1 * len(panels), 2.7)
    zoomed = False
    for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        axes.set(title=panel.title, xlabel=x_label, ylabel=y_label)
        known = [pair for heights in panel.heights.values() for pair in heights.values()]
        if not known:
            say_empty(axes, panel.absent)
            continue
        width = 0.8 / len(panel.heights)
        for number, (name, heights) in enumerate(panel.heights.items()):
            if not heights:
                continue
            shift = (number - (len(panel.heights) - 1) / 2) * width
            places = [at + shift for at, group in enumerate(groups) if group in heights]
            means, deviations = zip(*(heights[group] for group in groups if group in heights), strict=True)
            thin = {"elinewidth": 0.8, "capsize": 1.5}
            axes.bar(places, means, width, yerr=deviations, color=styles[name].colour, label=name, error_kw=thin)
        axes.set_xticks(range(len(groups)), groups)
        axes.set_ylim(*_limits(known))
        axes.grid(axis="y")
        zoomed |= axes.get_ylim()[0] > 0
    name_series(figure)
    say_below(figure, f"{_ZOOMED if zoomed else ''} {note}".strip())
    return figure


def _limits(known: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Where an axis begins and ends so that differences are seen and all deviations are inside."""
    ends = [mean + side for mean, deviation in known for side in (-deviation, 0, deviation) if not isnan(side)]
    lowest, highest = min(ends), max(ends)
    margin = max(1.0, 0.1 * (highest - lowest))
    return max(0, _STEP * floor((lowest - margin) / _STEP)), highest + margin / 2
