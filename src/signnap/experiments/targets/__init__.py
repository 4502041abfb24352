"""What can be reproduced, by name: the cells that it takes, the page that they make and, of figures, the picture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..cells import Cell, Results
from . import (
    authors,
    datasets,
    dimensions,
    fidelity,
    hyperparameters,
    overall,
    overfitting,
    oversmoothing,
    perturbations,
    sharing,
    stability,
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


TARGETS = {
    "authors": Target(authors.recipe, authors.page, seeds=3),
    "table-datasets": Target(list, lambda results, seeds: datasets.page()),
    "table-overall": Target(overall.recipe, overall.page),
    "table-fidelity": Target(fidelity.recipe, fidelity.page, seeds=10),
    "figure-oversmoothing": Target(oversmoothing.recipe, oversmoothing.page),
    "figure-overfitting": Target(overfitting.recipe, overfitting.page),
    "figure-stability": Target(stability.recipe, stability.page),
    "figure-tsne": Target(tsne.recipe, tsne.page),
    "table-perturbations": Target(perturbations.recipe, perturbations.page),
    "figure-hyperparameters": Target(hyperparameters.recipe, hyperparameters.page),
    "figure-dimensions": Target(dimensions.recipe, dimensions.page),
    "table-sharing": Target(sharing.recipe, sharing.page, seeds=10),
}
