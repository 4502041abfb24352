"""What the tests of training share: small runs, and states compared bit by bit."""

import io

import pytest
import torch
from torch import Tensor

from signnap import SIGNNAP

SMALL = {"dim": 8, "negatives": 16, "temperature": 0.5}


@pytest.fixture(scope="session")
def start():
    """Begin a small run of SIGNNAP on a graph."""

    def start(graph, backbone="gcn", **settings):
        return SIGNNAP(backbone, **SMALL | settings).run(graph)

    return start


@pytest.fixture(scope="session")
def snapshot():
    """Everything that a run has become, as a file would hold it: a copy, loaded as data."""

    def snapshot(run):
        file = io.BytesIO()
        torch.save(run.state(), file)
        file.seek(0)
        return torch.load(file, weights_only=True)

    return snapshot


@pytest.fixture(scope="session")
def same():
    """Whether two nested states are equal to the last bit."""

    def same(a, b):
        if isinstance(a, Tensor):
            return isinstance(b, Tensor) and a.dtype == b.dtype and torch.equal(a, b)
        if isinstance(a, dict):
            return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
        if isinstance(a, (list, tuple)):
            return len(a) == len(b) and all(map(same, a, b))
        return a == b

    return same
