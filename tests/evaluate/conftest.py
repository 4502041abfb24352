"""Data that every probe is tried on."""

import pytest
import torch


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
    """A maker of embeddings, labels, and the three parts of a split."""
    return labelled_clouds
