"""Collapse, recognised early and explained in one sentence with what to try."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..errors import SignnapError


class Collapsed(SignnapError):
    """Training went where no more iterations will help."""


@dataclass
class Health:
    """Watches logged numbers for the four ways a contrastive run fails.

    ``chance`` is the loss of an embedding that tells nothing apart (None if unknown). A loss counts as stuck when
    for ``patience`` iterations it has not been further than 0.5 % from that.
    """

    chance: float | None = None
    patience: int = 300
    exploding: float = 1e4
    _away: int | None = None  # the last iteration, as far as we know, at which the loss was not at chance

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
        if self.chance is not None:
            if self._away is None or abs(loss - self.chance) > 0.005 * self.chance:
                self._away = iteration if iteration > 1 else 0
            if iteration - self._away >= self.patience:
                return (
                    f"the loss is still at chance {at} ({loss:.3f}, chance {self.chance:.3f}): try a lower "
                    f"--temperature, a higher --lr, a lower --weight-decay or the nce objective"
                )
        return None
