"""The paper's figures of embeddings: their stability when edges are dropped, and maps of their classes."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

import torch

from signnap.evaluate import summarize
from signnap.evaluate.properties import min_max

from . import summaries
from .cells import Cell
from .paper import OURS, cell, reported, reported_as
from .plots import Map, Matrix, maps, matrices
from .results import Results
from .targets import Target

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# -- figure-stability: cosines between ten dropped copies of a graph ---------------------------------------------------

STABLE_GRAPH = "facebook"
STABLE_METHODS = ("DropEdge(GCN)", "DGI", "GCC, with features", OURS)
_STABILITY_HEAD = """
{graph}, ten copies with 30 % of the edges dropped, test nodes, mean ± standard deviation over {seeds} encoder seeds.
For networks with labels, the class scores are compared.

- *Cosine* is the mean over pairs of copies.
- *Normalised* is the mean of the matrix of cosines after min-max scaling, diagonal included, which the paper reports.
  It says little: if all pairs of copies are about equally similar, only the ones on the diagonal remain, and the mean
  is near 0.1.
- *Centred* is the cosine after the average embedding is subtracted. An encoder that maps all nodes to one point has 0.
"""


def stability_cell(name: str) -> Cell:
    """Return a method with its matrix of cosines."""
    return cell(name, STABLE_GRAPH, ("stability",))


def _stability_cells() -> list[Cell]:
    return [stability_cell(name) for name in STABLE_METHODS]


def normalized(matrix: list[list[float]]) -> list[list[float]]:
    """Scale a matrix from its minimum to its maximum, as the paper draws it."""
    return min_max(torch.tensor(matrix, dtype=torch.float64)).tolist()


def cosines(row: dict[str, Any]) -> list[float]:
    """Return the mean cosine over pairs of copies, of every encoder seed."""
    return [found["mean"] for found in row["looks"]["stability"]]


def scaled_cosines(row: dict[str, Any]) -> list[float]:
    """Return the mean of the normalised matrix, of every encoder seed."""
    return [fmean(fmean(line) for line in normalized(found["matrix"])) for found in row["looks"]["stability"]]


def centred_cosines(row: dict[str, Any]) -> list[float]:
    """Return the mean cosine after the average embedding is subtracted, of every encoder seed."""
    return [found["centred"] for found in row["looks"]["stability"]]


def _stability_page(results: Results, seeds: int) -> str:
    """Show three means for every method, beside the paper's."""
    lines = []
    for name in STABLE_METHODS:
        row = results.find(stability_cell(name), seeds)
        theirs = reported()["stability"][reported_as(name)]
        measures = cosines, scaled_cosines, centred_cosines
        cosine, scaled, centred = (summaries.shown(row, seeds, measure, digits=3) for measure in measures)
        lines.append([name, cosine, scaled, f"{theirs:.3f}", centred])
    columns = ["method", "cosine", "normalised", "the paper: normalised", "centred"]
    head = _STABILITY_HEAD.format(graph=STABLE_GRAPH, seeds=seeds).strip()
    return f"{head}\n\n{summaries.table(columns, lines)}"


def _stability_figure(results: Results, seeds: int) -> Figure:
    """Draw the matrices of the first encoder seeds, on one scale and as the paper scales them."""
    rows = {name: results.find(stability_cell(name), seeds) for name in STABLE_METHODS}
    plain: dict[str, Matrix | str] = {}
    scaled: dict[str, Matrix | str] = {}
    for name, row in rows.items():
        found = summaries.first_measured(row, "stability")
        if row is None or isinstance(found, str):
            plain[name] = scaled[name] = found
            continue
        cosine, normal = (summaries.spread(summarize(measure(row)), 3) for measure in (cosines, scaled_cosines))
        plain[name] = Matrix(found["matrix"], f"mean {cosine}")
        scaled[name] = Matrix(normalized(found["matrix"]), f"mean {normal}")
    note = summaries.note({(name, ""): row for name, row in rows.items()}, seeds)
    return matrices({"cosine": plain, "cosine, min-max scaled": scaled}, note, axis="perturbed copy")


STABILITY = Target(
    _stability_cells,
    _stability_page,
    _stability_figure,
    seeds=3,
    title="Stability of embeddings when edges are dropped",
)

# -- figure-tsne: do classes stand apart in the plane, and in the embeddings themselves? -------------------------------

MAPPED_GRAPH = "coauthor_cs"
MAPPED_METHODS = ("Raw", "DGI", "GCC, with features", OURS)


def mapped_cell(name: str) -> Cell:
    """Return a method with its map and silhouette."""
    looks = ("map", "silhouette")
    if name == "Raw":
        return Cell("raw", MAPPED_GRAPH, probe="linear-plain", looks=looks)
    return replace(cell(name, MAPPED_GRAPH), looks=looks)


def _mapped_cells() -> list[Cell]:
    return [mapped_cell(name) for name in MAPPED_METHODS]


def silhouettes(row: dict[str, Any]) -> list[float]:
    """Return the silhouette of every encoder seed."""
    return row["looks"]["silhouette"]


def _mapped_page(results: Results, seeds: int) -> str:
    """Show silhouettes beside the paper's."""
    lines = []
    for name in MAPPED_METHODS:
        row = results.find(mapped_cell(name), seeds)
        ours = summaries.shown(row, seeds, silhouettes, digits=4)
        lines.append([name, ours, f"{reported()['silhouette'][reported_as(name)]:.4f}"])
    head = (
        f"{MAPPED_GRAPH}, the first ten classes: silhouette of the classes in the embeddings, mean ± standard "
        f"deviation over {seeds} encoder seeds.\n\n"
    )
    return head + summaries.table(["method", "ours", "the paper"], lines)


def _mapped_figure(results: Results, seeds: int) -> Figure:
    """Draw the maps side by side, each with its silhouette."""
    rows = {name: results.find(mapped_cell(name), seeds) for name in MAPPED_METHODS}
    note = summaries.note({(name, ""): row for name, row in rows.items()}, seeds)
    return maps({"": [_panel(row) for row in rows.values()]}, MAPPED_METHODS, note, side=2.1)


def _panel(row: summaries.Row) -> Map | str:
    found = summaries.first_measured(row, "map")
    if row is None or isinstance(found, str):
        return found
    silhouette = summaries.spread(summarize(silhouettes(row)), 3)
    return Map(found["x"], found["y"], found["class"], f"silhouette {silhouette}")


TSNE = Target(_mapped_cells, _mapped_page, _mapped_figure, seeds=3, title="Separation of classes in embeddings")
