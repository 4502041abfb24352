"""An empty figure in the house's manner, and the files that it becomes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import SignnapError
from ..storage import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: One colour per series, told apart by the colour-blind too (Okabe and Ito).
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#f0e442", "#999999", "#5d3a9b", "#000000")


def canvas(width: float, height: float) -> Figure:
    """A figure of so many inches that belongs to no window."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise SignnapError("figures need matplotlib, which is not installed: pip install 'signnap[plots]'") from error
    return Figure(figsize=(width, height), layout="constrained")


def save(figure: Figure, stem: Path) -> list[Path]:
    """Write the figure as PNG and SVG beside each other; the same figure gives the same bytes."""
    import matplotlib

    written = []
    with matplotlib.rc_context({"svg.hashsalt": "signnap", "font.size": 9}):
        for kind, plain in {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}.items():
            path = stem.with_name(f"{stem.name}.{kind}")
            with replacing(path) as temporary:
                figure.savefig(temporary, format=kind, dpi=150, metadata=plain)
            written.append(path)
    return written
