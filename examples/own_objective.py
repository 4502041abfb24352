"""Trains with an objective of your own: here that of Barlow Twins, which needs no negatives."""

import torch
from torch import Tensor

from signnap import SIGNNAP, Objective, Terms, load_graph, make_split, score


class RedundancyReduction(Objective):
    """The correlations between the columns of the two views become the identity matrix."""

    def __init__(self, off_diagonal: float = 1 / 64) -> None:
        super().__init__()
        self.off_diagonal = off_diagonal

    def forward(self, z1: Tensor, z2: Tensor, generator: torch.Generator) -> Terms:
        correlation = standardised(z1).t() @ standardised(z2) / len(z1)
        agree = (1 - correlation.diagonal()).square().sum()
        differ = correlation.square().sum() - correlation.diagonal().square().sum()
        return Terms(agree + self.off_diagonal * differ, {"agree": agree, "differ": differ})


def standardised(z: Tensor) -> Tensor:
    return (z - z.mean(dim=0)) / (z.std(dim=0, correction=0) + 1e-6)


graph = load_graph("synthetic")
split = make_split(graph, "per-class:20:30")
model = SIGNNAP(objective=RedundancyReduction(), dim=64, weight_decay=0.0, iterations=60).fit(graph)
z = torch.from_numpy(model.transform(graph))
result = score([z], graph.y, split.train, split.val, split.test)
print(f"accuracy {result.accuracy} % ({result.protocol})")
