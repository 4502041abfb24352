"""The paper's figure of stability: cosines between ten dropped copies of facebook, for four methods."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Any

import torch

from ...analyze.stability import min_max
from ...evaluate import Summary, summarize
from ...report.matrices import Matrix, matrices
from .. import markdown, pictures
from ..cells import Cell, Results
from ..paper import cell, reported

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GRAPH = "facebook"
METHODS = ("DropEdge(GCN)", "DGI", "GCC, with features", "SIGNNAP(GCN)")
ABOUT = f"""
{GRAPH}, ten copies with 30 % of the edges dropped, test nodes, mean ± deviation over {{seeds}} encoder seeds. *Cosine*
is the mean over pairs of copies; *normalised* the mean of the matrix after min-max scaling, diagonal included, which
the paper reports; *centred* the cosine after the average embedding is subtracted, by which a map that sends all nodes
to one point scores 0. Of networks with labels, the scores of the classes are compared. Scaling says little: where all
pairs of copies are about equally alike, it leaves the ones of the diagonal and next to nothing, a mean near 0.1.
"""


def cell_of(name: str) -> Cell:
    """A method with its matrix."""
    return cell(name, GRAPH, ("stability",))


def recipe() -> list[Cell]:
    """All panels."""
    return [cell_of(name) for name in METHODS]


def normalized(matrix: list[list[float]]) -> list[list[float]]:
    """The matrix min-max scaled, as the paper draws it."""
    return min_max(torch.tensor(matrix, dtype=torch.float64)).tolist()


def page(results: Results, seeds: int) -> str:
    """Three means for every method in Markdown, beside the paper's."""
    lines = []
    for name in METHODS:
        row = results.find(cell_of(name), seeds)
        theirs = reported()["stability"][name.split(",", maxsplit=1)[0]]
        found = [None] * 3 if row is None or "error" in row else _measures(row)
        cosine, scaled, centred = (markdown.shown(each, row, seeds, digits=3) for each in found)
        lines.append([name, cosine, scaled, f"{theirs:.3f}", centred])
    columns = ["method", "cosine", "normalised", "the paper: normalised", "centred"]
    return ABOUT.format(seeds=seeds).strip() + "\n\n" + markdown.table(columns, lines)


def _measures(row: dict[str, Any]) -> list[Summary]:
    """Over encoder seeds: the cosine, its normalised mean and the centred cosine."""
    looks = row["looks"]["stability"]
    scaled = [fmean(fmean(line) for line in normalized(look["matrix"])) for look in looks]
    found = [look["mean"] for look in looks], scaled, [look["centred"] for look in looks]
    return [summarize(values) for values in found]


def figure(results: Results, seeds: int) -> Figure:
    """The matrices of the first encoder seeds, as they are on one scale and as the paper draws them."""
    rows = {name: results.find(cell_of(name), seeds) for name in METHODS}
    plain: dict[str, Matrix | str] = {}
    scaled: dict[str, Matrix | str] = {}
    for name, row in rows.items():
        look = pictures.first_look(row, "stability")
        if row is None or isinstance(look, str):
            plain[name] = scaled[name] = look
            continue
        cosine, normal, _ = _measures(row)
        plain[name] = Matrix(look["matrix"], f"mean {markdown.spread(cosine, 3)}")
        scaled[name] = Matrix(normalized(look["matrix"]), f"mean {markdown.spread(normal, 3)}")
    note = pictures.note({(name, ""): row for name, row in rows.items()}, seeds)
    return matrices({"cosine": plain, "cosine, min-max scaled": scaled}, note, axis="perturbed copy")
