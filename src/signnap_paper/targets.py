"""The registry of tables and figures: where each is defined, and what all of them have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from signnap.errors import unknown_name

from .cells import Cell
from .results import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The page of verdicts: it sums up all other targets.
WHOLE = "reproduction"
#: The module and the name of every target. A command imports the modules of the targets that it is asked for only.
HOMES = {
    "authors": "authors.AUTHORS",
    "table-datasets": "tables.DATASETS",
    "table-overall": "tables.OVERALL",
    "figure-ranks": "tables.RANKS",
    "table-fidelity": "fidelity.FIDELITY",
    "table-seeds": "fidelity.MORE_SEEDS",
    "table-start": "first_weights.START",
    "table-tried": "departures.TRIED",
    "table-letter": "departures.LETTER",
    "table-rounding": "first_weights.ROUNDING",
    "figure-oversmoothing": "depth.OVERSMOOTHING",
    "figure-overfitting": "depth.OVERFITTING",
    "figure-stability": "representations.STABILITY",
    "figure-tsne": "representations.TSNE",
    "table-perturbations": "tables.PERTURBATIONS",
    "figure-hyperparameters": "sweeps.HYPERPARAMETERS",
    "figure-dimensions": "sweeps.DIMENSIONS",
    "table-sharing": "departures.SHARING",
    "table-grid": "tables.GRID",
    "cells": "reproduction_cells.CELLS",
    WHOLE: "reproduction.REPRODUCTION",
}


@dataclass(frozen=True)
class Target:
    """A table or a figure: the cells it takes, and the page and the picture made of their results.

    ``page`` and ``figure`` are called with results and a number of encoder seeds; ``seeds`` is the number by default.
    ``title`` is the heading of the page.
    """

    recipe: Callable[[], list[Cell]]
    page: Callable[[Results, int], str]
    figure: Callable[[Results, int], Figure] | None = None
    seeds: int = 5
    title: str = ""

    def text(self, name: str, results: Results, seeds: int) -> str:
        """Return the page as its file has it: the title, the picture of that name if it is a figure, and the text."""
        title = f"# {self.title}\n\n" if self.title else ""
        picture = "" if self.figure is None else f"![{name}]({name}.png)\n\n"
        return title + picture + self.page(results, seeds)


def find_target(name: str) -> Target:
    """Import the target of that name."""
    if name not in HOMES:
        raise unknown_name("target", name, HOMES)
    module, _, attribute = HOMES[name].partition(".")
    return getattr(import_module(f"{__package__}.{module}"), attribute)
