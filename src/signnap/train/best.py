"""The weights of the best iteration, and when to stop waiting for a better one (spec §1, model choice)."""

from __future__ import annotations

import copy
import math

import torch
from torch import Tensor, nn


class Best(nn.Module):
    """A copy of an encoder as it was when a watched number was lowest; on a tie the later iteration wins.

    Once the number has not fallen for ``patience`` iterations the copy stays what it is, so it does not matter when
    somebody notices: everything happens on the device, and a recorded iteration can do it.
    """

    lowest: Tensor
    waited: Tensor

    def __init__(self, encoder: nn.Module, patience: int) -> None:
        super().__init__()
        self.encoder, self.patience = copy.deepcopy(encoder).requires_grad_(False), patience
        place = next(encoder.parameters()).device
        self.register_buffer("lowest", torch.full((), math.inf, device=place))
        self.register_buffer("waited", torch.zeros((), dtype=torch.int64, device=place))

    @torch.no_grad()
    def consider(self, encoder: nn.Module, watched: Tensor) -> None:
        """Take over the encoder's weights, with which the number was computed, if it is the lowest so far."""
        waiting = self.waited < self.patience
        better = waiting & (watched <= self.lowest)
        for kept, current in zip(self._tensors(self.encoder), self._tensors(encoder), strict=True):
            kept.copy_(torch.where(better, current, kept))
        self.lowest.copy_(torch.where(better, watched, self.lowest))
        self.waited.copy_(torch.where(better, 0, self.waited + waiting))

    def is_final(self) -> bool:
        """Whether no later iteration can change anything."""
        return int(self.waited) >= self.patience

    @staticmethod
    def _tensors(module: nn.Module) -> list[Tensor]:
        return [*module.parameters(), *module.buffers()]
