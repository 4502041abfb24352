"""Figures of plain numbers: curves, bars, maps and matrices, in one style, with the same bytes on every machine."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle
from math import floor, isnan
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from signnap.errors import SignnapError
from signnap.storage import replacing

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: One colour per series; colour-blind readers tell them apart, too (Okabe and Ito).
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#f0e442", "#999999", "#5d3a9b", "#000000")
#: One marker for each colour.
_MARKERS = "os^Dv<>pPX"
GREY = "#666666"
_STYLE_SETTINGS = {
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "figure.constrained_layout.w_pad": 0.07,
    "svg.hashsalt": "signnap",
}


class Style(NamedTuple):
    """How a series is drawn in every panel."""

    colour: str
    marker: str


@contextmanager
def plot_style() -> Iterator[None]:
    """Use our style whatever the user has configured, so that the same values give the same bytes everywhere."""
    try:
        import matplotlib.style
    except ImportError as error:
        raise SignnapError(
            "figures need matplotlib, which is not installed: in a clone, pip install '.[paper]'"
        ) from error
    with matplotlib.style.context(["default", _STYLE_SETTINGS]):
        yield


@plot_style()
def canvas(width: float, height: float) -> Figure:
    """Return an empty figure of that size in inches, without a window."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=150, layout="constrained")


def series_styles(names: Iterable[str], given: Mapping[str, Style] | None) -> dict[str, Style]:
    """Return a style for every series: the given one, or the next unused; colours of given styles are used last."""
    given = given or {}
    taken = {style.colour for style in given.values()}
    styles = cycle(sorted(map(Style, COLOURS, _MARKERS), key=lambda style: style.colour in taken))
    return {name: given.get(name) or next(styles) for name in dict.fromkeys(names)}


def write_inside(axes: Axes, words: str) -> None:
    """Write in the middle of an empty panel why it is empty."""
    axes.set(xticks=[], yticks=[])
    axes.text(0.5, 0.5, words, transform=axes.transAxes, ha="center", va="center", color=GREY)


def write_below(figure: Figure, words: str) -> None:
    """Write a note in small letters below all panels, which keep their size."""
    lines = textwrap.wrap(words, width=int(16 * figure.get_figwidth()))
    if lines:
        figure.set_figheight(figure.get_figheight() + 0.13 * len(lines))
        figure.supxlabel("\n".join(lines), x=0.01, ha="left", fontsize=7, color=GREY)


def add_legend(figure: Figure) -> None:
    """Name every series once, above all panels."""
    named: dict[str, Artist] = {}
    for axes in figure.axes:
        for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
            named.setdefault(name, handle)
    if named:
        figure.legend(list(named.values()), list(named), loc="outside upper center", ncols=len(named), frameon=False)


@plot_style()
def save(figure: Figure, stem: Path) -> list[Path]:
    """Write the figure as PNG and SVG beside each other; the same figure gives the same bytes."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # laid out a second time, panels would move by a hair
    written = []
    for kind, plain in {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}.items():
        path = stem.with_name(f"{stem.name}.{kind}")
        with replacing(path) as temporary:
            figure.savefig(temporary, format=kind, dpi="figure", metadata=plain)
        written.append(path)
    return written


# -- curves ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """One series: a mean for every x and, optionally, the deviation of each mean and the values behind it.

    An unknown mean is NaN: the line has a gap there.
    """

    x: Sequence[float]
    mean: Sequence[float]
    deviation: Sequence[float] = ()
    values: Sequence[Sequence[float]] = ()


@dataclass(frozen=True)
class Panel:
    """Lines by name. ``ticks`` are the values of x that were measured, and ``mark`` is one of them.

    ``log`` is the base of a logarithmic x axis. ``absent`` is written in a panel without lines.
    """

    title: str
    x_label: str
    y_label: str
    lines: Mapping[str, Line]
    ticks: Sequence[float] = ()
    log: int | None = None
    mark: float | None = None
    absent: str = "not run"


@plot_style()
def curves(
    panels: Sequence[Panel], note: str = "", *, mark: str = "", styles: Mapping[str, Style] | None = None
) -> Figure:
    """Draw the panels in a row, with the names of the lines above and the note below; ``mark`` names the marked value.

    ``styles`` gives the style of a line by name; other lines get the next unused one.
    """
    styles = series_styles((name for panel in panels for name in panel.lines), styles)
    figure = canvas(2.7 * len(panels), 2.7)
    for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        axes.set(title=panel.title, xlabel=panel.x_label, ylabel=panel.y_label)
        present = {name: line for name, line in panel.lines.items() if not all(map(isnan, line.mean))}
        if not present:
            write_inside(axes, panel.absent)
            continue
        for name, line in present.items():
            _draw_line(axes, name, line, styles[name])
        if panel.mark is not None:
            axes.axvline(panel.mark, color=GREY, linestyle="--", linewidth=1, zorder=0, label=mark)
        axes.grid(axis="y")
        _set_ticks(axes, panel)
    add_legend(figure)
    write_below(figure, note)
    return figure


def _draw_line(axes: Axes, name: str, line: Line, style: Style) -> None:
    """Draw a curve; with deviations, points with error bars or, where values are given, a band behind the values."""
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


def _set_ticks(axes: Axes, panel: Panel) -> None:
    """Put the ticks where the panel has them, in plain numbers, also where nothing is drawn."""
    if panel.log:
        axes.set_xscale("log", base=panel.log)
        axes.minorticks_off()
    if panel.ticks:
        axes.update_datalim([(tick, 0) for tick in panel.ticks], updatey=False)
        axes.autoscale_view(scaley=False)
        axes.set_xticks(panel.ticks, [f"{tick:g}" for tick in panel.ticks])


# -- bars --------------------------------------------------------------------------------------------------------------


#: An axis of accuracy begins at a multiple of this.
_STEP = 5
_ZOOMED = "The axes of accuracy do not begin at zero."


@dataclass(frozen=True)
class Bars:
    """A panel: by series, the mean and deviation (NaN: unknown) of every group that the series has.

    ``absent`` is written in a panel without bars.
    """

    title: str
    heights: Mapping[str, Mapping[str, tuple[float, float]]]
    absent: str = "not run"


@plot_style()
def bars(
    panels: Sequence[Bars],
    groups: Sequence[str],
    note: str = "",
    *,
    x_label: str,
    y_label: str,
    styles: Mapping[str, Style] | None = None,
) -> Figure:
    """Draw the panels in a row, with the names of the series above and the note below; a missing bar leaves a gap.

    ``styles`` gives the style of a series by name; other series get the next unused one.
    """
    styles = series_styles((name for panel in panels for name in panel.heights), styles)
    figure = canvas(3.1 * len(panels), 2.7)
    zoomed = False
    for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        axes.set(title=panel.title, xlabel=x_label, ylabel=y_label)
        known = [pair for heights in panel.heights.values() for pair in heights.values()]
        if not known:
            write_inside(axes, panel.absent)
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
    add_legend(figure)
    write_below(figure, f"{_ZOOMED if zoomed else ''} {note}".strip())
    return figure


def _limits(known: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Choose the ends of an axis so that differences are visible and all deviations are inside."""
    ends = [mean + side for mean, deviation in known for side in (-deviation, 0, deviation) if not isnan(side)]
    lowest, highest = min(ends), max(ends)
    margin = max(1.0, 0.1 * (highest - lowest))
    return max(0, _STEP * floor((lowest - margin) / _STEP)), highest + margin / 2


# -- dots --------------------------------------------------------------------------------------------------------------


@plot_style()
def dots(series: Mapping[str, Mapping[str, float]], names: Sequence[str], note: str = "", *, x_label: str) -> Figure:
    """Draw one line for each name, from the top down, with a dot for each series that has a value of that name."""
    styles = series_styles(series, None)
    figure = canvas(4.8, 0.22 * len(names) + 0.8)
    axes = figure.subplots()
    for title, values in series.items():
        if values:
            places = [names.index(name) for name in values]
            axes.scatter(
                [*values.values()], places, c=styles[title].colour, marker=styles[title].marker, label=title, s=22
            )
    axes.set_yticks(range(len(names)), names)
    axes.set(xlabel=x_label, ylim=(len(names) - 0.5, -0.5))
    axes.grid()
    add_legend(figure)
    write_below(figure, note)
    return figure


# -- maps --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Map:
    """Points in the plane, the class of each (counted from 0), and the text below them."""

    x: Sequence[float]
    y: Sequence[float]
    classes: Sequence[int]
    below: str = ""


@plot_style()
def maps(rows: Mapping[str, Sequence[Map | str]], columns: Sequence[str], note: str = "", *, side: float) -> Figure:
    """Draw a grid of maps, each ``side`` inches wide; a text in the place of a map says why there is none."""
    figure = canvas(side * len(columns) + 0.3, (side + 0.35) * len(rows) + 0.2)
    grid = figure.subplots(len(rows), len(columns), squeeze=False)
    for line, (name, panels) in zip(grid, rows.items(), strict=True):
        line[0].set_ylabel(name, fontsize=9)
        for axes, panel in zip(line, panels, strict=True):
            _draw_map(axes, panel)
    for axes, name in zip(grid[0], columns, strict=True):
        axes.set_title(name)
    write_below(figure, note)
    return figure


def _draw_map(axes: Axes, panel: Map | str) -> None:
    axes.set_box_aspect(1)
    axes.spines[:].set(visible=True, color="#bbbbbb")
    if isinstance(panel, str):
        write_inside(axes, panel)
        return
    axes.set(xticks=[], yticks=[])
    axes.set_xlabel(panel.below, fontsize=7)
    axes.set_aspect("equal", adjustable="datalim")  # a distance is the same in both directions
    colours = [COLOURS[kind % len(COLOURS)] for kind in panel.classes]
    # One image in the SVG rather than thousands of circles.
    axes.scatter(panel.x, panel.y, s=4, c=colours, linewidths=0, alpha=0.8, rasterized=True)


# -- matrices ----------------------------------------------------------------------------------------------------------


#: The side of one matrix in inches.
_SIDE = 1.8
Values = Sequence[Sequence[float]]


@dataclass(frozen=True)
class Matrix:
    """A square matrix and the title above it."""

    values: Values
    title: str


@plot_style()
def matrices(rows: Mapping[str, Mapping[str, Matrix | str]], note: str = "", *, axis: str) -> Figure:
    """Draw rows of matrices; each row has its own colour bar, labelled with the row's name.

    ``axis`` says what rows and columns of the matrices are. A text in the place of a matrix says why there is none. The
    note is written below.
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
                write_inside(axes, panel)
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
    write_below(figure, note)
    return figure


def _scale(matrices: Sequence[Values]) -> tuple[float, float]:
    """Return the lowest and the highest value; where all are equal, that value gets the deepest colour."""
    values = [value for matrix in matrices for line in matrix for value in line] or [1.0]
    low, high = min(values), max(values)
    return (low, high) if low < high else (high - 1, high)
