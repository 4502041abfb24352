"""How far a matrix of cells is, while its encoders are trained: cells that take hours must not look as if they hung."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from signnap.train.progress import Report

from .cells import Cell

#: Called in training with the share that is done, and a few words.
Told = Callable[[float, str], None]


class Advance:
    """Counts cells: one whose encoder seeds are trained in turn comes bit by bit, and so does every training."""

    def __init__(self, cells: int, todo: Sequence[tuple[Cell, list[int]]], report: Report) -> None:
        self.cells, self.report = cells, report
        self.lacking = {cell.key: len(seeds) for cell, seeds in todo}
        self.left = dict(self.lacking)

    def within(self, group: Sequence[Cell], seeds: Sequence[int]) -> Told:
        """What to call while these encoder seeds of these cells are trained."""
        before, step = self._done(), sum(len(seeds) / self.lacking[cell.key] for cell in group)
        return lambda share, words: self.report(before + step * share, f"{group[0]}, {words}")

    def past(self, group: Sequence[Cell], seeds: Sequence[int]) -> None:
        """Tell that they are trained."""
        for cell in group:
            self.left[cell.key] -= len(seeds)
        self.report(self._done(), str(group[0]))

    def _done(self) -> float:
        return self.cells - sum(count / self.lacking[key] for key, count in self.left.items())
