"""What can be reproduced, by name: the cells that it takes, and the page that they make."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from . import authors, overall
from .cells import Cell, Results


@dataclass(frozen=True)
class Target:
    """A table: which cells it is made of, and how it reads."""

    recipe: Callable[[], list[Cell]]
    page: Callable[[Results], str]


TARGETS = {
    "authors": Target(authors.recipe, authors.table),
    "table-overall": Target(overall.recipe, overall.table),
}
