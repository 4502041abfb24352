"""What the tests of methods share."""

import numpy as np
import pytest
import torch

from signnap import SIGNNAP, Graph
from signnap.graph import SparseFeatures


@pytest.fixture(scope="session")
def fitted():
    """Train a small model on a graph."""

    def fitted(graph, backbone="gcn", *, iterations=4, **settings):
        return SIGNNAP(backbone, **{"dim": 8, "negatives": 16} | settings, iterations=iterations).fit(graph)

    return fitted


@pytest.fixture(scope="session")
def same_weights():
    """Whether two models learned the same, to the last bit."""

    def same_weights(one, other):
        pairs = zip(one.encoder_.state_dict().items(), other.encoder_.state_dict().items(), strict=True)
        return all(a == b and np.array_equal(x.numpy(), y.numpy()) for (a, x), (b, y) in pairs)

    return same_weights


@pytest.fixture
def sparse_graph():
    """A graph whose features are sparse enough to be stored so."""
    rng = np.random.default_rng(1)
    x = (rng.random((60, 50)) < 0.08).astype(np.float32)
    x[:, 0] = 1
    graph = Graph.from_edges(*rng.integers(0, 60, (2, 150)), x, y=torch.arange(60) % 3, name="sparse")
    assert isinstance(graph.x, SparseFeatures)
    return graph
