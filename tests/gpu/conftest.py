"""Kernels run on a GPU if one is visible, and otherwise in Triton's interpreter, slowly on a CPU."""

import os
import sys
from importlib.util import find_spec

import pytest
import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"

# Triton reads this variable when it is imported, so set it before anything (PyG does) imports Triton.
IMPORTED_COMPILED = "triton" in sys.modules and os.environ.get("TRITON_INTERPRET") != "1"
if DEVICE == "cpu":
    os.environ["TRITON_INTERPRET"] = "1"


class _Skipped(pytest.Module):
    """A test module that is skipped, because importing it would fail."""

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
    """Work around Triton's interpreter, which multiplies the bits of bfloat16 numbers instead of their values."""
    import triton.language as tl
    from triton.runtime import interpreter

    if device == "cpu":
        builder = interpreter.InterpreterBuilder
        plain, widen = builder.create_dot, builder.cast_impl
        values = lambda self, x: widen(self, x, tl.float32) if x.dtype.scalar == tl.bfloat16 else x
        product = lambda self, a, b, *rest: plain(self, values(self, a), values(self, b), *rest)
        monkeypatch.setattr(builder, "create_dot", product)
