"""Fixtures for tests of the benchmarks."""

import importlib

import pytest


@pytest.fixture
def pyg():
    """PyG, which only some of the twins need."""
    return pytest.importorskip("torch_geometric")


@pytest.fixture
def script():
    """Import a module of the benchmarks by its name."""
    return lambda name: importlib.import_module(f"signnap_paper.benchmarks.{name}")
