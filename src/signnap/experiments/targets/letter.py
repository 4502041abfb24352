"""Do our departures cost anything? SIGNNAP as its authors' code has it, beside the way that all other pages train it.

Elsewhere products are rounded to tf32 and 512 anchors share a draw of negatives. To the letter, everything is float32
and every anchor draws its own (spec §2.4), at several times the cost.
"""

from __future__ import annotations

from statistics import fmean, stdev
from typing import Any

from .. import markdown
from ..cells import Cell
from ..paper import GRAPHS, cell, reported
from ..results import Results
from .fidelity import NAMES

WAYS: dict[str, dict[str, Any]] = {
    "as elsewhere (tf32, share 512)": {},
    "to the letter (float32, own negatives)": {"precision": "float32", "share": 1},
}


def recipe() -> list[Cell]:
    """All cells, way by way."""
    return [cell(name, graph, **changes) for changes in WAYS.values() for graph in GRAPHS for name in NAMES]


def page(results: Results, seeds: int) -> str:
    """Test accuracy in Markdown, and the difference on the seeds that both ways have. Nothing is chosen by it."""
    lines, differences = [], []
    for name in NAMES:
        for graph in GRAPHS:
            rows = [results.find(cell(name, graph, **changes), seeds) for changes in WAYS.values()]
            line = [name, graph, f"{reported()['overall'][name][graph][0]:.2f}"]
            line += [markdown.shown(row, seeds) for row in rows]
            if (found := difference(*rows)) is not None:
                differences.append(found)
            lines.append([*line, "–" if found is None else f"{found:+.2f}"])
    head = (
        f"Test accuracy in % on the paper's splits, mean ± deviation over {seeds} encoder seeds. *Difference*: to the "
        "letter less as elsewhere, on the seeds that both have."
    )
    columns = ["method", "graph", "the paper", *WAYS, "difference"]
    return f"{head}{_summary(differences)}\n\n{markdown.table(columns, lines)}"


def difference(before: dict[str, Any] | None, after: dict[str, Any] | None) -> float | None:
    """By how much the mean accuracy changes, on the encoder seeds that both rows have; None if there are none."""
    if before is None or after is None or "error" in before or "error" in after:
        return None
    first, second = (dict(zip(row["seeds"], markdown.accuracies(row), strict=True)) for row in (before, after))
    common = first.keys() & second.keys()
    return fmean(second[seed] - first[seed] for seed in common) if common else None


def _summary(differences: list[float]) -> str:
    """The mean over cells and its standard error."""
    if len(differences) < 2:
        return ""
    error = stdev(differences) / len(differences) ** 0.5
    higher = sum(value > 0 for value in differences)
    return (
        f" It is {fmean(differences):+.2f} on average over {len(differences)} cells, with a standard error of "
        f"{error:.2f}, and above zero in {higher} of them."
    )
