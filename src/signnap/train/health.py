"""Collapse, recognised early and explained in one sentence with what to try."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import SignnapError

#: A setting, what to try with it, and the value that leaves nothing to try (None: there is none).
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

#: Embeddings whose mean norm is larger than this explode.
_EXPLODING = 1e4
#: How near to chance, as a share of it, a loss may stay for how many iterations. A healthy NCE loss passes through it
#: and may linger nearby for hundreds.
_PATIENCE = {0.001: 300, 0.005: 1000}


class Collapsed(SignnapError):
    """Training went where no more iterations will help."""


@dataclass
class Health:
    """Watches logged numbers for the four ways a run fails.

    ``chance`` is the loss of an embedding that tells nothing apart (None if unknown). Advice concerns only the
    ``settings`` that the method has, and values that it does not have yet (None: any).
    """

    chance: float | None = None
    settings: Mapping[str, Any] | None = None
    #: for each share, the last iteration, as far as we know, at which the loss was further away than that
    _away: dict[float, int] = field(default_factory=dict)

    def check(self, iteration: int, numbers: dict[str, float]) -> str | None:
        """Return the sentence for the first thing that is wrong, or None.

        The first iteration has not shown anything but numbers that are none: batch norm has yet to learn its averages,
        and without them embeddings may be large and all but coincide.
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
