"""Data for tests of the probes."""

import numpy as np
import pytest
import torch

from signnap import Graph


def labelled_clouds(n=150, d=6, *, classes=3, noise=0.7, seed=0):
    """Labelled Gaussian clouds that overlap, and a split of 45 / 45 / rest."""
    source = torch.Generator().manual_seed(seed)
    y = torch.randint(classes, (n,), generator=source)
    centres = torch.randn(classes, d, generator=source)
    z = centres[y] + noise * torch.randn(n, d, generator=source)
    order = torch.randperm(n, generator=source)
    return z, y, order[:45], order[45:90], order[90:]


@pytest.fixture(scope="session")
def clouds():
    """A function that makes embeddings, labels, and the three parts of a split."""
    return labelled_clouds


@pytest.fixture(scope="session")
def labelled():
    """Three communities of thirty with weakly informative features."""
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    ends = rng.integers(0, 90, (2, 900))
    kept = (y[ends[0]] == y[ends[1]]) | (rng.random(900) < 0.1)
    x = rng.random((90, 10)) + np.eye(3, 10)[y]
    return Graph.from_edges(*ends[:, kept], x, y=torch.from_numpy(y), name="labelled")
