"""Kernels run on a GPU where one is visible, and otherwise in Triton's interpreter, on a CPU and slowly."""

import os
import sys
from importlib.util import find_spec

import pytest
import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"

# Triton decides when it is imported, so whatever imports it first (PyG does) must find this.
IMPORTED_COMPILED = "triton" in sys.modules and os.environ.get("TRITON_INTERPRET") != "1"
if DEVICE == "cpu":
    os.environ["TRITON_INTERPRET"] = "1"


class _Skipped(pytest.Module):
    """A module that is not imported, because it could not be."""

    def collect(self):
        missing = find_spec("triton") is None
        pytest.skip(
            "triton is not installed" if missing else "triton was imported before its interpreter was asked for"
        )


def pytest_pycollect_makemodule(module_path, parent):
    if find_spec("triton") is None or (DEVICE == "cpu" and IMPORTED_COMPILED):
        return _Skipped.from_parent(parent, path=module_path)
    return None


@pytest.fixture
def device():
    return DEVICE


@pytest.fixture
def bfloat16_products(device, monkeypatch):
    """Triton's interpreter multiplies the bits of bfloat16 numbers; hand it their values."""
    import triton.language as tl
    from triton.runtime import interpreter

    if device == "cpu":
        builder = interpreter.InterpreterBuilder
        plain, widen = builder.create_dot, builder.cast_impl
        values = lambda self, x: widen(self, x, tl.float32) if x.dtype.scalar == tl.bfloat16 else x
        product = lambda self, a, b, *rest: plain(self, values(self, a), values(self, b), *rest)
        monkeypatch.setattr(builder, "create_dot", product)
