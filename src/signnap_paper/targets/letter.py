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
from .fidelity import NAMES, Compared

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
    compared: dict[str, list[Compared]] = {way: [] for way in WAYS}
    for name in NAMES:
        for graph in GRAPHS:
            figure = reported()["overall"][name][graph][0]
            rows = [results.find(cell(name, graph, **changes), seeds) for changes in WAYS.values()]
            for found, row in zip(compared.values(), rows, strict=True):
                if row is not None and "error" not in row:
                    found.append(Compared(figure, markdown.accuracies(row)))
            changed = difference(*rows)
            if changed is not None:
                differences.append(changed)
            texts = [f"{figure:.2f}", *(markdown.shown(row, seeds) for row in rows)]
            lines.append([name, graph, *texts, "–" if changed is None else f"{changed:+.2f}"])
    head = (
        f"Test accuracy in % on the paper's splits, mean ± deviation over {seeds} encoder seeds. *Difference*: the "
        "mean to the letter minus that as elsewhere, on the seeds that both have."
    )
    columns = ["method", "graph", "the paper", *WAYS, "difference"]
    return f"{head}{_summary(differences)}\n\n{_inside(compared)}\n\n{markdown.table(columns, lines)}"


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


def _inside(compared: dict[str, list[Compared]]) -> str:
    """How many of the paper's figures lie among the seeds of either way, beside how many one more seed would."""
    counts = [
        f"{way} {sum(each.place == 'inside' for each in found)} of {len(found)}, "
        f"{sum(each.share for each in found):.1f} expected"
        for way, found in compared.items()
    ]
    return (
        f"Cells where the paper's figure lies within the range of these encoder seeds: {'; '.join(counts)}. "
        "*Expected*: on average, if the paper's encoder were one more seed of ours (see *Fidelity*)."
    )
