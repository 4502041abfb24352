"""Detection of a collapse, and one sentence that explains it and suggests what to try."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import SignnapError

#: A setting, a suggestion for it, and the value at which the suggestion is pointless (None: there is no such value).
_Suggestion = tuple[str, str, Any]
_NCE: _Suggestion = ("objective", "the nce objective", "nce")
_LOWER_LR: _Suggestion = ("lr", "a lower lr", None)
_HIGHER_LR: _Suggestion = ("lr", "a higher lr", None)
_MORE_DECAY: _Suggestion = ("weight_decay", "a higher weight_decay", None)
_LESS_DECAY: _Suggestion = ("weight_decay", "a lower weight_decay", 0)
_LOWER_TEMPERATURE: _Suggestion = ("temperature", "a lower temperature", None)
_HIGHER_TEMPERATURE: _Suggestion = ("temperature", "a higher temperature", None)
_FEWER_LAYERS: _Suggestion = ("layers", "fewer layers", 1)
_LOWER_DROP: _Suggestion = ("drop_edge", "a lower drop_edge", 0)

#: Embeddings with a larger mean norm are reported as exploding.
_EXPLODING = 1e4
#: The relative distance to chance within which a loss may stay, and for how many iterations. A healthy NCE loss passes
#: through chance and may stay nearby for hundreds of iterations.
_PATIENCE = {0.001: 300, 0.005: 1000}


class Collapsed(SignnapError):
    """Training has collapsed, so that further iterations are useless."""


@dataclass
class Health:
    """Checks logged numbers for four kinds of collapse.

    ``chance`` is the loss of a constant embedding (None if unknown). The advice names only ``settings`` that the method
    has, and no value that it has already (None: all advice).
    """

    chance: float | None = None
    settings: Mapping[str, Any] | None = None
    #: for each distance, the last checked iteration at which the loss was further from chance
    _away: dict[float, int] = field(default_factory=dict)

    def check(self, iteration: int, numbers: dict[str, float]) -> str | None:
        """Return a sentence about the first problem, or None.

        At the first iteration only NaN and infinity count. Before batch norm has learned its averages, embeddings may
        be large and almost equal.
        """
        loss, norm = numbers["loss"], numbers["norm"]
        at = f"at iteration {iteration}"
        if not math.isfinite(loss) or not math.isfinite(norm):
            advice = self._advice(_LOWER_LR, _HIGHER_TEMPERATURE)
            return f"the loss is {loss:.4g} and the mean norm {norm:.3g} {at}{advice}"
        if norm > _EXPLODING and iteration > 1:
            return (
                f"the embeddings explode {at} (mean norm {norm:.3g})"
                f"{self._advice(_NCE, ('objective', 'normalised infonce', 'infonce'), _MORE_DECAY, _LOWER_LR)}"
            )
        if numbers["effective_rank"] < 1.05 and numbers["uniformity"] > -1e-4 and iteration > 1:
            return (
                f"all embeddings are the same {at} (effective rank {numbers['effective_rank']:.2f})"
                f"{self._advice(_NCE, _LOWER_LR, _LESS_DECAY, _FEWER_LAYERS, _LOWER_DROP)}"
            )
        if self.chance is not None and self._stuck(iteration, loss, self.chance):
            return (
                f"the loss is still at chance {at} ({loss:.3f}, chance {self.chance:.3f})"
                f"{self._advice(_LOWER_TEMPERATURE, _HIGHER_LR, _LESS_DECAY, _NCE)}"
            )
        return None

    def _advice(self, *suggestions: _Suggestion) -> str:
        words = [
            what for setting, what, last in suggestions
            if self.settings is None or self.settings.get(setting, last) != last
        ]  # fmt: skip
        return f": try {' or '.join(filter(None, [', '.join(words[:-1]), words[-1]]))}" if words else ""

    def _stuck(self, iteration: int, loss: float, chance: float) -> bool:
        for share in _PATIENCE:
            if share not in self._away or abs(loss - chance) > share * chance:
                self._away[share] = iteration if iteration > 1 else 0
        return any(iteration - self._away[share] >= limit for share, limit in _PATIENCE.items())
