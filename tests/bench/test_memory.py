"""The memory benchmark runs in a process of its own and keeps its promise."""

import mmap

import pytest

from signnap.bench import memory
from signnap.errors import SignnapError


def test_resident_memory_is_measured():
    before = memory.resident_mb()
    with mmap.mmap(-1, 64 * 2**20) as block:  # an allocator might hand out memory that it holds already
        block.write(b"x" * len(block))
        assert memory.resident_mb() > before + 50
    assert memory.peak_resident_mb() > before + 50


@pytest.mark.data
def test_a_pubmed_step_stays_under_400_mb(raw_data, monkeypatch):
    monkeypatch.setenv("SIGNNAP_DATA", str(raw_data))
    result = memory._measured(512)
    assert result["peak"] - result["loaded"] < 400


def test_failure_is_one_sentence(monkeypatch, tmp_path):
    monkeypatch.setenv("SIGNNAP_DATA", str(tmp_path))
    monkeypatch.setenv("SIGNNAP_CACHE", str(tmp_path / "cache"))
    with pytest.raises(SignnapError, match=r"the memory measurement failed: .*pubmed"):
        memory._measured(512)
