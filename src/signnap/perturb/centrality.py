"""How central every node is: degree, leading eigenvector or PageRank of the clean graph (spec §4.8).

All three read the pattern alone, without its self-loops, and return one float64 number of at least 0 per node. The
last two are repeated sparse products; they run where the pattern lies and hold a few vectors at a time.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ..graph import Pattern
from ..ops.sparse import spmm

#: The probability of following an edge rather than jumping anywhere.
DAMPING = 0.85
#: An iteration has arrived when all changes to a vector of sum one add up to less than this, ...
TOLERANCE = 1e-10
#: ... and is taken as it stands after so many rounds: PageRank needs about 100, the eigenvector depends on the graph.
MAX_ROUNDS = 1000


def degree(pattern: Pattern) -> Tensor:
    """The number of neighbours."""
    return pattern.degree.double()


def eigenvector(pattern: Pattern) -> Tensor:
    """The leading eigenvector of the adjacency at unit length, plus 1e-8 so that its logarithm exists.

    Power iteration on A + I, which has the eigenvectors of A but no second eigenvalue of equal size on bipartite
    graphs. It starts from equal numbers, so it never turns negative, and where several components share the largest
    eigenvalue the answer is still one definite vector.
    """
    ones = _ones(pattern, pattern.num_entries)

    def step(x: Tensor) -> Tensor:
        x = _product(pattern, ones, x)
        return x / x.sum()

    found = _settled(step, _ones(pattern, pattern.num_nodes) / pattern.num_nodes)
    return found / found.norm() + 1e-8


def pagerank(pattern: Pattern) -> Tensor:
    """How often a walk visits each node that jumps anywhere with probability 0.15, and always from isolated nodes.

    The public code of GCA leaves the jump out; on an undirected graph that is the degree again (spec §4.8).
    """
    edges = _ones(pattern, pattern.num_entries).index_fill_(0, pattern.diagonal.long(), 0)
    neighbours, isolated = degree(pattern).clamp(min=1), pattern.degree == 0

    def step(x: Tensor) -> Tensor:
        jump = (1 - DAMPING) + DAMPING * (x * isolated).sum()
        return DAMPING * _product(pattern, edges, x / neighbours) + jump / pattern.num_nodes

    return _settled(step, _ones(pattern, pattern.num_nodes) / pattern.num_nodes)


#: The centralities by name.
CENTRALITIES: dict[str, Callable[[Pattern], Tensor]] = {
    "degree": degree,
    "eigenvector": eigenvector,
    "pagerank": pagerank,
}


def _ones(pattern: Pattern, size: int) -> Tensor:
    return torch.ones(size, dtype=torch.float64, device=pattern.device)


def _product(pattern: Pattern, values: Tensor, x: Tensor) -> Tensor:
    return spmm(pattern, values, x[:, None]).squeeze(1)


@torch.no_grad()
def _settled(step: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Repeat a step until it changes nothing any more."""
    for _ in range(MAX_ROUNDS):
        x, before = step(x), x
        if float((x - before).abs().sum()) < TOLERANCE:
            break
    return x
