"""The memory bank and the draw of negatives."""

import math

import pytest
import scipy.stats
import torch
from hypothesis import given
from hypothesis import strategies as st

from dense import source_of
from signnap.objectives.bank import MemoryBank, draw_negatives


def bank_of(n=50, d=16, momentum=0.5, seed=0):
    bank = MemoryBank(momentum)
    bank.prepare(n, d, source_of(seed))
    return bank


def normal(n, d, seed):
    return torch.randn(n, d, generator=source_of(seed))


def test_first_entries_are_uniform_with_rows_of_length_about_one():
    bank = bank_of(2000, 64)
    for values in (bank.first, bank.second):
        scaled = (values / math.sqrt(3 / 64)).ravel()
        assert scaled.abs().max() <= 1 + 1e-6
        assert scipy.stats.kstest(scaled.numpy(), scipy.stats.uniform(-1, 2).cdf).pvalue > 1e-4
        assert values.square().sum(dim=1).mean().item() == pytest.approx(1, abs=0.01)
    assert not torch.equal(bank.first, bank.second)


@given(momentum=st.floats(0, 1), seed=st.integers(0, 99))
def test_update_is_the_normalised_average(momentum, seed):
    bank = bank_of(9, 4, momentum)
    before = [bank.first.clone(), bank.second.clone()]
    z1, z2 = normal(9, 4, seed), normal(9, 4, seed + 100)
    bank.update(z1, z2)
    for found, old, new in zip((bank.first, bank.second), before, (z1, z2), strict=True):
        wanted = torch.stack([momentum * a + (1 - momentum) * b for a, b in zip(old, new, strict=True)])
        assert torch.allclose(found, wanted / wanted.norm(dim=1, keepdim=True), atol=1e-5)
        assert torch.allclose(found.norm(dim=1), torch.ones(9))


def test_a_zero_row_stays_zero():
    bank = bank_of(3, 4)
    bank.first.zero_()
    bank.update(torch.zeros(3, 4), -bank.second)
    assert torch.all(bank.first == 0) and torch.all(bank.second == 0)


def test_updates_track_no_gradients_and_modify_no_inputs():
    bank, z = bank_of(5, 4), normal(5, 4, 1).requires_grad_()
    before = z.detach().clone()
    bank.update(z, z)
    assert not bank.first.requires_grad and not bank.second.requires_grad
    assert torch.equal(z, before)
    assert list(bank.parameters()) == []


def test_the_bank_is_saved_and_restored():
    bank, other = bank_of(seed=1), bank_of(seed=2)
    bank.update(normal(50, 16, 3), normal(50, 16, 4))
    assert set(bank.state_dict()) == {"first", "second"}
    other.load_state_dict(bank.state_dict())
    assert torch.equal(other.first, bank.first) and torch.equal(other.second, bank.second)


def test_preparing_again_resets_the_bank():
    bank = bank_of(5, 4)
    bank.prepare(7, 3, source_of(0))
    assert bank.first.shape == bank.second.shape == (7, 3)
    assert torch.equal(bank.first, bank_of(7, 3).first)


@given(n=st.integers(1, 30), k=st.integers(1, 10), share=st.integers(0, 12))
def test_groups_cover_all_anchors_and_keep_the_size_limit(n, k, share):
    drawn = draw_negatives(n, k, share, source_of(0))
    assert drawn.dtype == torch.int32 and drawn.shape[1] == k
    assert drawn.min() >= 0 and drawn.max() < n
    groups = len(drawn)
    assert groups == (1 if share == 0 else math.ceil(n / share))
    size = math.ceil(n / groups)
    assert size <= (share or n) and (groups - 1) * size < n <= groups * size


def test_draws_are_uniform_over_all_nodes_with_the_anchor():
    drawn = draw_negatives(20, 5000, 1, source_of(0)).long()
    counts = torch.stack([row.bincount(minlength=20) for row in drawn])
    assert scipy.stats.chisquare(counts.sum(dim=0).numpy()).pvalue > 1e-4
    assert scipy.stats.chisquare(counts.diagonal().numpy()).pvalue > 1e-4
    assert counts.diagonal().double().mean().item() == pytest.approx(250, rel=0.1)


def test_draws_follow_the_generator():
    source = source_of(3)
    first, second = draw_negatives(100, 50, 4, source), draw_negatives(100, 50, 4, source)
    assert torch.equal(first, draw_negatives(100, 50, 4, source_of(3)))
    assert not torch.equal(first, second)
