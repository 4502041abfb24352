"""Fixtures shared by all tests."""

import os
from pathlib import Path

# Before torch is imported: two threads on a busy machine are many times slower than one, and bits are compared.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
if not os.environ["CUDA_VISIBLE_DEVICES"]:
    os.environ["TRITON_INTERPRET"] = "1"  # likewise before Triton is: without a GPU its kernels run in Python

import numpy as np
import pytest
import torch
from hypothesis import settings

# First-use imports and a busy machine outlast the default deadline of an example.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

_BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data" / "raw"


@pytest.fixture(scope="session")
def raw_data() -> Path:
    """The folder of public raw files: SIGNNAP_DATA, or ``shared/data/raw`` beside the project."""
    folder = Path(os.environ.get("SIGNNAP_DATA") or _BESIDE)
    if not folder.is_dir():
        pytest.skip("the public benchmark files are not here: set SIGNNAP_DATA to their folder")
    return folder


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory, monkeypatch):
    """Keep every test out of the user's cache, sharing converted graphs within one test session."""
    cache = tmp_path_factory.getbasetemp() / "cache"
    monkeypatch.setenv("SIGNNAP_CACHE", str(cache))


@pytest.fixture(autouse=True)
def _same_numbers():
    """What a test draws without a source of its own does not depend on the tests before it."""
    torch.manual_seed(0)


@pytest.fixture
def small_graph():
    """A random graph of 40 nodes with an isolated one, sparse features and three classes."""
    from signnap.graph import Graph

    rng = np.random.default_rng(0)
    source, target = rng.integers(0, 39, (2, 120))
    x = rng.random((40, 12)) * (rng.random((40, 12)) < 0.3)
    x[:, 0] += 0.1
    return Graph.from_edges(source, target, x, y=torch.from_numpy(rng.integers(0, 3, 40)), name="small")
