"""Where walks begin: pass after pass over all nodes, each in an order of its own (spec §4.1)."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Starts(nn.Module):
    """The order of the present pass over the nodes and how far it has come: buffers, so that a run can be resumed."""

    order: Tensor
    used: Tensor

    def __init__(self, num_nodes: int, generator: torch.Generator) -> None:
        super().__init__()
        self.register_buffer("order", torch.randperm(num_nodes, generator=generator, device=generator.device))
        self.register_buffer("used", torch.zeros((), dtype=torch.int64, device=generator.device))

    def draw(self, count: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """The next so many nodes, and what ``update`` needs.

        The passes that may begin meanwhile are always drawn, whether they do or not: shapes stay the same.
        """
        nodes = len(self.order)
        more = [torch.randperm(nodes, generator=generator, device=generator.device) for _ in range(-(-count // nodes))]
        line = torch.cat([self.order, *more])
        return line[self.used + torch.arange(count, device=line.device)], line

    def update(self, count: int, line: Tensor) -> None:
        """Forget the passes that are complete."""
        nodes = len(self.order)
        used = self.used + count
        begin = used - used % nodes
        self.order.copy_(line[begin + torch.arange(nodes, device=line.device)])
        self.used.copy_(used - begin)
