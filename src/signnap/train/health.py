"""Collapse, recognised early and explained in one sentence with what to try."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from ..errors import SignnapError


class Collapsed(SignnapError):
    """Training went where no more iterations will help."""


@dataclass
class Health:
    """Watches logged numbers for the four ways a contrastive run fails.

    ``chance`` is the loss of an embedding that tells nothing apart (None if unknown). A healthy NCE loss passes
    through it and may linger nearby for hundreds of iterations, so a loss counts as stuck only when it stays within
    0.1 % of chance for 300 iterations, or within 0.5 % for 1,000 (``patience``: share -> iterations).
    """

    chance: float | None = None
    patience: dict[float, int] = field(default_factory=lambda: {0.001: 300, 0.005: 1000})
    exploding: float = 1e4
    #: for each share, the last iteration, as far as we know, at which the loss was further away than that
    _away: dict[float, int] = field(default_factory=dict)

    def check(self, iteration: int, numbers: dict[str, float]) -> str | None:
        """Return the sentence for the first thing that is wrong, or None."""
        loss, norm = numbers["loss"], numbers["norm"]
        at = f"at iteration {iteration}"
        if not math.isfinite(loss) or not math.isfinite(norm):
            return f"the loss is {loss} and the mean norm {norm} {at}: try a lower --lr or a higher --temperature"
        if norm > self.exploding:
            return (
                f"the embeddings explode {at} (mean norm {norm:.3g}): try the nce objective, normalised infonce, "
                f"a higher --weight-decay or a lower --lr"
            )
        if numbers["effective_rank"] < 1.05 and numbers["uniformity"] > -1e-4:
            return (
                f"all embeddings are the same {at} (effective rank {numbers['effective_rank']:.2f}): try the nce "
                f"objective, a lower --weight-decay, fewer --layers or a lower --drop-edge"
            )
        if self.chance is not None and self._stuck(iteration, loss, self.chance):
            return (
                f"the loss is still at chance {at} ({loss:.3f}, chance {self.chance:.3f}): try a lower "
                f"--temperature, a higher --lr, a lower --weight-decay or the nce objective"
            )
        return None

    def _stuck(self, iteration: int, loss: float, chance: float) -> bool:
        for share in self.patience:
            if share not in self._away or abs(loss - chance) > share * chance:
                self._away[share] = iteration if iteration > 1 else 0
        return any(iteration - self._away[share] >= limit for share, limit in self.patience.items())
