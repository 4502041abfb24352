"""The benchmark scripts lie beside the package, not in it."""

import importlib
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def benchmarks() -> Path:
    return BENCHMARKS


@pytest.fixture
def script(monkeypatch):
    """Import a script by its name, as its neighbours do, and forget all of them afterwards."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield importlib.import_module
    for path in BENCHMARKS.glob("*.py"):
        sys.modules.pop(path.stem, None)
