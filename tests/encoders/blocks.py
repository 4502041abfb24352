"""Padded subgraphs for the tests of encoders."""

import torch

from dense import source_of


def blocks(sizes, room, seed=0, density=0.5):
    """Connected random graphs of these sizes with padding behind: adjacency (B, room, room) and real (B, room)."""
    source = source_of(seed)
    adjacency, real = torch.zeros(len(sizes), room, room), torch.zeros(len(sizes), room, dtype=torch.bool)
    for block, mask, size in zip(adjacency, real, sizes, strict=True):
        mask[:size] = True
        upper = (torch.rand(size, size, generator=source) < density).float().triu(1)
        upper[torch.arange(size - 1), torch.arange(1, size)] = 1
        block[:size, :size] = upper + upper.mT
    return adjacency, real
