"""``signnap bench memory`` measures in a process of its own, and a step stays within its limit."""

import mmap

import pytest
import torch

from signnap.errors import SignnapError
from signnap.train.run_info import peak_memory_mb, process_memory_mb
from signnap_paper.benchmarks import bench as measured


def test_resident_memory_is_measured():
    before = process_memory_mb("VmRSS")
    with mmap.mmap(-1, 64 * 2**20) as block:  # an allocator might hand out memory that it holds already
        block.write(b"x" * len(block))
        assert process_memory_mb("VmRSS") > before + 50
    assert peak_memory_mb(torch.device("cpu")) > before + 50


def test_the_naive_gather_is_arithmetic(monkeypatch):
    monkeypatch.setattr(measured, "_measured", lambda share: {"loaded": 1.0, "peak": 2.0})
    assert measured.measure_memory()["naive_gather_mb"] == 2 * 19_717 * 1025 * 128 * 4 / 2**20


@pytest.mark.data
def test_a_pubmed_step_stays_under_400_mb(raw_data, monkeypatch):
    monkeypatch.setenv("SIGNNAP_DATA", str(raw_data))
    result = measured._measured(512)
    assert result["peak"] - result["loaded"] < 400


def test_failure_is_one_sentence(monkeypatch, tmp_path):
    monkeypatch.setenv("SIGNNAP_DATA", str(tmp_path))
    monkeypatch.setenv("SIGNNAP_CACHE", str(tmp_path / "cache"))
    with pytest.raises(SignnapError, match=r"the memory measurement failed: .*pubmed"):
        measured._measured(512)
