"""When kernels may be used: only on the current CUDA device, not in float64, and with Triton installed."""

import subprocess
import sys
from types import SimpleNamespace

import pytest
import torch

from signnap.methods import settings
from signnap.ops import triton as gpu


@pytest.fixture(autouse=True)
def _two_devices(monkeypatch):
    """Device 1 is current, whatever this machine has."""
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 1)
    monkeypatch.setattr(gpu, "_has_triton", lambda: True)


def on_device(number, dtype=torch.float32):
    """As much of a CUDA tensor as is looked at."""
    return SimpleNamespace(is_cuda=True, dtype=dtype, get_device=lambda: number)


def test_tensors_on_the_current_device_are():
    assert gpu.usable(on_device(1), on_device(1, torch.int32), on_device(1, torch.bool))


def test_those_in_main_memory_are_not_and_no_device_is_asked_for(monkeypatch):
    monkeypatch.delattr(torch.cuda, "current_device")
    assert not gpu.usable(torch.zeros(2))


@pytest.mark.parametrize("other", [torch.zeros(2), on_device(0), on_device(1, torch.float64)])
def test_others_are_not(other):
    assert not gpu.usable(on_device(1), other)


def test_nothing_is_without_triton(monkeypatch):
    monkeypatch.setattr(gpu, "_has_triton", lambda: False)
    assert not gpu.usable(on_device(1))


def test_the_room_imports_neither_triton_nor_other_rooms():
    wanted = "name for name in sys.modules if name.split('.')[0] in ('triton', 'signnap')"
    code = f"import sys, signnap.ops.triton; print(*({wanted}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.split() == ["signnap", "signnap.ops", "signnap.ops.triton"]


def test_a_missing_triton_is_noticed():
    code = "import sys; sys.modules['triton'] = None; from signnap.ops import triton; print(triton._has_triton())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.split() == ["False"]


def test_settings_know_the_same_precisions():
    """They cannot ask: they must not import torch."""
    assert settings.PRECISIONS == gpu.PRECISIONS
