"""The rates of a machine: operations or bytes over seconds."""

import pytest
import torch

from signnap_paper.benchmarks import limits, timing

CPU = torch.device("cpu")


def test_a_rate_is_work_over_time(monkeypatch):
    monkeypatch.setattr(limits, "best_seconds", lambda action, device: (action(), 0.5)[1])
    assert limits.matmul_rate(CPU, size=64) == 2 * 64**3 / 0.5


@pytest.mark.parametrize("precision", ["float32", "tf32", "bf16"])
def test_products_are_made_in_the_precision_asked_for(precision, monkeypatch):
    seen = []

    def watched(left, right):
        seen.append((left.dtype, torch.get_float32_matmul_precision()))

    before = torch.get_float32_matmul_precision()
    monkeypatch.setattr(limits, "matmul", watched)
    limits.matmul_rate(CPU, precision, size=8)
    kind = torch.bfloat16 if precision == "bf16" else torch.float32
    assert set(seen) == {(kind, "high" if precision == "tf32" else "highest")}
    assert torch.get_float32_matmul_precision() == before


def test_the_best_counts_and_the_first_does_not(monkeypatch):
    clock = iter([0, 1, 10, 15, 20, 23, 30, 34])
    monkeypatch.setattr(timing.time, "perf_counter", lambda: next(clock))
    assert timing.best_seconds(lambda: None, CPU, times=3) == 3
