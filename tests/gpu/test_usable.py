"""Kernels are usable on the current CUDA device only, not in float64, and only with Triton installed."""

import subprocess
import sys
from types import SimpleNamespace

import pytest
import torch

from signnap.methods import settings
from signnap.ops import triton


@pytest.fixture(autouse=True)
def _two_devices(monkeypatch):
    """Make device 1 the current one on every machine."""
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 1)
    monkeypatch.setattr(triton, "_has_triton", lambda: True)


def on_device(number, dtype=torch.float32):
    """The attributes of a CUDA tensor that ``usable`` reads."""
    return SimpleNamespace(is_cuda=True, dtype=dtype, get_device=lambda: number)


def test_tensors_on_the_current_device_are_usable():
    assert triton.usable(on_device(1), on_device(1, torch.int32), on_device(1, torch.bool))


def test_cpu_tensors_are_not_usable_and_query_no_device(monkeypatch):
    monkeypatch.delattr(torch.cuda, "current_device")
    assert not triton.usable(torch.zeros(2))


@pytest.mark.parametrize("other", [torch.zeros(2), on_device(0), on_device(1, torch.float64)])
def test_other_devices_and_float64_are_not_usable(other):
    assert not triton.usable(on_device(1), other)


def test_nothing_is_usable_without_triton(monkeypatch):
    monkeypatch.setattr(triton, "_has_triton", lambda: False)
    assert not triton.usable(on_device(1))


def test_importing_the_package_loads_neither_triton_nor_other_modules():
    wanted = "name for name in sys.modules if name.split('.')[0] in ('triton', 'signnap')"
    code = f"import sys, signnap.ops.triton; print(*({wanted}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.split() == ["signnap", "signnap.ops", "signnap.ops.triton"]


def test_a_missing_triton_is_noticed():
    code = "import sys; sys.modules['triton'] = None; from signnap.ops import triton; print(triton._has_triton())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.split() == ["False"]


def test_settings_know_the_same_precisions():
    """Settings have their own copy, because they must not import torch."""
    assert settings.PRECISIONS == triton.PRECISIONS
