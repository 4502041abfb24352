"""An empty figure in the house's manner, what any figure may say in words, and the files that it becomes."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from signnap.errors import SignnapError
from signnap.storage import replacing

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: One colour per series, told apart by the colour-blind too (Okabe and Ito).
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#f0e442", "#999999", "#5d3a9b", "#000000")
#: One marker for each of them.
_MARKERS = "os^Dv<>pPX"
GREY = "#666666"
_MANNER = {
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
    """By what a series is known in every panel."""

    colour: str
    marker: str


@contextmanager
def manner() -> Iterator[None]:
    """Matplotlib as the house sets it, whatever its user has set: the same values give the same bytes everywhere."""
    try:
        import matplotlib.style
    except ImportError as error:
        raise SignnapError(
            "figures need matplotlib, which is not installed: in a clone, pip install '.[paper]'"
        ) from error
    with matplotlib.style.context(["default", _MANNER]):
        yield


@manner()
def canvas(width: float, height: float) -> Figure:
    """A figure of so many inches that belongs to no window."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=150, layout="constrained")


def styled(names: Iterable[str], given: Mapping[str, Style] | None) -> dict[str, Style]:
    """A style for every series: the given one, or the next by its place; colours that were given come last."""
    given = given or {}
    taken = {style.colour for style in given.values()}
    styles = cycle(sorted(map(Style, COLOURS, _MARKERS), key=lambda style: style.colour in taken))
    return {name: given.get(name) or next(styles) for name in dict.fromkeys(names)}


def say_empty(axes: Axes, words: str) -> None:
    """Say in the middle of a panel why there is nothing in it."""
    axes.set(xticks=[], yticks=[])
    axes.text(0.5, 0.5, words, transform=axes.transAxes, ha="center", va="center", color=GREY)


def say_below(figure: Figure, words: str) -> None:
    """Say something in small letters below all panels, which keep their size."""
    lines = textwrap.wrap(words, width=int(16 * figure.get_figwidth()))
    if lines:
        figure.set_figheight(figure.get_figheight() + 0.13 * len(lines))
        figure.supxlabel("\n".join(lines), x=0.01, ha="left", fontsize=7, color=GREY)


def name_series(figure: Figure) -> None:
    """Name every series once, above all panels."""
    named: dict[str, Artist] = {}
    for axes in figure.axes:
        for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
            named.setdefault(name, handle)
    if named:
        figure.legend(list(named.values()), list(named), loc="outside upper center", ncols=len(named), frameon=False)


@manner()
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
