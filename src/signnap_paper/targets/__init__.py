"""Tables and figures by name: the cells that each takes, the page that they make and, of figures, the picture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..cells import Cell
from ..results import Results
from . import (
    authors,
    datasets,
    dimensions,
    fidelity,
    grid,
    hyperparameters,
    letter,
    overall,
    overfitting,
    oversmoothing,
    perturbations,
    rounding,
    seeds,
    sharing,
    stability,
    start,
    tried,
    tsne,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Target:
    """A table or a figure. ``page`` and ``figure`` are made from results, for so many encoder seeds."""

    recipe: Callable[[], list[Cell]]
    page: Callable[[Results, int], str]
    figure: Callable[[Results, int], Figure] | None = None
    seeds: int = 5

    def text(self, name: str, results: Results, seeds: int) -> str:
        """The page as its file has it: of a figure, below the picture of that name."""
        picture = "" if self.figure is None else f"![{name}]({name}.png)\n\n"
        return picture + self.page(results, seeds)


TARGETS = {
    "authors": Target(authors.recipe, authors.page, seeds=3),
    "table-datasets": Target(list, lambda results, seeds: datasets.page()),
    "table-overall": Target(overall.recipe, overall.page),
    "table-fidelity": Target(fidelity.recipe, fidelity.page, seeds=10),
    "table-seeds": Target(seeds.recipe, seeds.page, seeds=30),
    "table-start": Target(start.recipe, start.page),
    "table-tried": Target(tried.recipe, tried.page),
    "table-letter": Target(letter.recipe, letter.page, seeds=5),
    "table-rounding": Target(rounding.recipe, rounding.page, seeds=3),
    "figure-oversmoothing": Target(oversmoothing.recipe, oversmoothing.page, oversmoothing.figure, seeds=3),
    "figure-overfitting": Target(overfitting.recipe, overfitting.page, overfitting.figure, seeds=3),
    "figure-stability": Target(stability.recipe, stability.page, stability.figure, seeds=3),
    "figure-tsne": Target(tsne.recipe, tsne.page, tsne.figure, seeds=3),
    "table-perturbations": Target(perturbations.recipe, perturbations.page, seeds=3),
    "figure-hyperparameters": Target(hyperparameters.recipe, hyperparameters.page, hyperparameters.figure, seeds=3),
    "figure-dimensions": Target(dimensions.recipe, dimensions.page, dimensions.figure, seeds=3),
    "table-sharing": Target(sharing.recipe, sharing.page, seeds=10),
    "table-grid": Target(grid.recipe, grid.page, seeds=1),
}
