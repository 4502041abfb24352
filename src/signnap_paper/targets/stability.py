"""The paper's figure of stability: cosines between ten dropped copies of facebook, for four methods."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Any

import torch

from signnap.analyze.stability import min_max
from signnap.evaluate import summarize

from .. import markdown, pictures
from ..cells import Cell
from ..paper import OURS, cell, reported, reported_as
from ..report.matrices import Matrix, matrices
from ..results import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GRAPH = "facebook"
METHODS = ("DropEdge(GCN)", "DGI", "GCC, with features", OURS)
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
        theirs = reported()["stability"][reported_as(name)]
        measures = cosines, scaled_cosines, centred_cosines
        cosine, scaled, centred = (markdown.shown(row, seeds, measure, digits=3) for measure in measures)
        lines.append([name, cosine, scaled, f"{theirs:.3f}", centred])
    columns = ["method", "cosine", "normalised", "the paper: normalised", "centred"]
    return ABOUT.format(seeds=seeds).strip() + "\n\n" + markdown.table(columns, lines)


def cosines(row: dict[str, Any]) -> list[float]:
    """The mean over pairs of copies, of every encoder seed."""
    return [look["mean"] for look in row["looks"]["stability"]]


def scaled_cosines(row: dict[str, Any]) -> list[float]:
    """The mean of the normalised matrix."""
    return [fmean(fmean(line) for line in normalized(look["matrix"])) for look in row["looks"]["stability"]]


def centred_cosines(row: dict[str, Any]) -> list[float]:
    """The cosine after the average embedding is subtracted."""
    return [look["centred"] for look in row["looks"]["stability"]]


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
        cosine, normal = (markdown.spread(summarize(measure(row)), 3) for measure in (cosines, scaled_cosines))
        plain[name] = Matrix(look["matrix"], f"mean {cosine}")
        scaled[name] = Matrix(normalized(look["matrix"]), f"mean {normal}")
    note = pictures.note({(name, ""): row for name, row in rows.items()}, seeds)
    return matrices({"cosine": plain, "cosine, min-max scaled": scaled}, note, axis="perturbed copy")
