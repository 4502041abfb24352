"""The paper's figure of stability: cosines between ten dropped copies of facebook, for four methods."""

from __future__ import annotations

from statistics import fmean
from typing import Any

from ...evaluate import summarize
from .. import markdown
from ..cells import Cell, Results
from ..paper import cell, reported

GRAPH = "facebook"
METHODS = ("DropEdge(GCN)", "DGI", "GCC, with features", "SIGNNAP(GCN)")
ABOUT = f"""
{GRAPH}, ten copies with 30 % of the edges dropped, test nodes, mean ± deviation over {{seeds}} encoder seeds. *Cosine*
is the mean over pairs of copies; *normalised* the mean of the matrix after min-max scaling, diagonal included, which
the paper reports; *centred* the cosine after the average embedding is subtracted, by which a map that sends all nodes
to one point scores 0. Of networks with labels, the scores of the classes are compared.
"""


def cell_of(name: str) -> Cell:
    """A method with its matrix."""
    return cell(name, GRAPH, ("stability",))


def recipe() -> list[Cell]:
    """All panels."""
    return [cell_of(name) for name in METHODS]


def normalized(matrix: list[list[float]]) -> list[list[float]]:
    """The matrix min-max scaled, as the paper draws it; all ones where its entries are equal."""
    values = [value for row in matrix for value in row]
    low, high = min(values), max(values)
    return [[(value - low) / (high - low) if high > low else 1.0 for value in row] for row in matrix]


def page(results: Results, seeds: int) -> str:
    """Three means for every method in Markdown, beside the paper's."""
    lines = []
    for name in METHODS:
        row = results.find(cell_of(name), seeds)
        theirs = reported()["stability"][name.split(",", maxsplit=1)[0]]
        lines.append([name, *_means(row, seeds), f"{theirs:.3f}"])
    columns = ["method", "cosine", "normalised", "the paper: normalised", "centred"]
    lines = [[name, cosine, scaled, theirs, centred] for name, cosine, scaled, centred, theirs in lines]
    return ABOUT.format(seeds=seeds).strip() + "\n\n" + markdown.table(columns, lines)


def _means(row: dict[str, Any] | None, seeds: int) -> list[str]:
    if row is None or "error" in row:
        return [markdown.shown(None, row, seeds)] * 3
    looks = row["looks"]["stability"]
    scaled = [fmean(fmean(line) for line in normalized(look["matrix"])) for look in looks]
    found = [look["mean"] for look in looks], scaled, [look["centred"] for look in looks]
    return ["{0.mean:.3f} ± {0.std:.3f}".format(summarize(values)) for values in found]
