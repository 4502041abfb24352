"""What can be reproduced, by name: the cells that it takes, and the page that they make."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from . import authors, overall, perturbations, statistics
from .cells import Cell, Results


@dataclass(frozen=True)
class Target:
    """A table: which cells it is made of, if any, and how it reads."""

    recipe: Callable[[], list[Cell]]
    page: Callable[[Results], str]


TARGETS = {
    "authors": Target(authors.recipe, authors.table),
    "table-datasets": Target(list, lambda results: statistics.table()),
    "table-overall": Target(overall.recipe, overall.table),
    "table-perturbations": Target(perturbations.recipe, perturbations.table),
}
