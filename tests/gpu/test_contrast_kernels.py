"""Losses and gradients of blocks of anchors against gathered scores in float64 and autograd."""

import math
from importlib import import_module

import pytest
import torch

from dense import source_of
from signnap.ops.contrast import BinaryRule, SoftmaxRule
from signnap.ops.contrast import contrast as torch_contrast
from signnap.ops.triton import MAX_DIM, PRECISIONS
from signnap.ops.triton.contrast_kernels import contrast
from signnap.ops.triton.tiles import PRODUCTS, Launch

MODULE = import_module("signnap.ops.triton.contrast_kernels")
SHIFTS = [None, 0.7]
# (anchors, width, negatives, groups). The interpreter is slow on tiles of 64 × 64, so these are few.
LARGE = [(70, 16, 130, 1), (130, 128, 33, 2), (3, 64, 70, 3), (2, 128, 17, 2), (2, 256, 9, 2)]
# With small tiles it is faster. These sizes end on tile edges, before them and behind them.
SMALL = [
    (1, 5, 1, 1),
    (1, 64, 40, 1),
    (2, 5, 1, 1),
    (7, 5, 33, 7),
    (6, 128, 16, 6),
    (3, 16, 5, 8),  # more groups than anchors
    (5, 16, 20, 4),  # groups of two, the last but one short and the last empty
    (19, 16, 40, 3),  # a short last group
    (40, 64, 17, 2),  # two blocks in each group, the second short
    (32, 16, 32, 1),  # nothing short
    (33, 128, 16, 1),
    (17, 200, 31, 1),
]


@pytest.fixture
def small_tiles(monkeypatch):
    monkeypatch.setattr(MODULE, "SHARED", dict.fromkeys(MODULE.SHARED, Launch(16, 16, 4, 2)))
    monkeypatch.setattr(MODULE, "OWN", dict.fromkeys(MODULE.OWN, Launch(1, 8, 1, 2)))


def inputs(n, d, k, groups, device, bank_size=23):
    """Random embeddings with scores of a few units at a temperature of 0.5."""
    source = source_of(100 * n + d + k)
    rows = [torch.randn(count, d, generator=source) * d**-0.25 for count in (n, n, bank_size)]
    negatives = torch.randint(bank_size, (groups, k), generator=source, dtype=torch.int32)
    return [t.to(device) for t in (*rows, negatives)]


def slow(z, other, bank, negatives, temperature, shift):
    """Loss and InfoNCE value of every anchor, and the gradients of the mean loss in ``z`` and ``other``."""
    z, other, bank = (t.detach().double().cpu().requires_grad_() for t in (z, other, bank))
    group_size = math.ceil(len(z) / len(negatives))
    rows = bank[negatives.cpu().long()[torch.arange(len(z)) // group_size]]
    positive = (z * other).sum(dim=1, keepdim=True) / temperature
    scores = torch.einsum("nd,nkd->nk", z, rows) / temperature
    info = torch.cat([positive, scores], dim=1).logsumexp(dim=1) - positive[:, 0]
    if shift is None:
        loss = info
    else:
        odds = torch.cat([shift - positive, scores - shift], dim=1)
        loss = torch.logaddexp(odds, torch.zeros_like(odds)).sum(dim=1)
    return loss.detach(), info.detach(), *torch.autograd.grad(loss.mean(), (z, other))


def fast(z, other, bank, negatives, temperature, shift, **options):
    shift = None if shift is None else torch.tensor(shift, device=z.device)
    loss, info, *grads = contrast(z, other, bank, negatives, temperature, shift, want_other=True, **options)
    return loss, info, *(grad / (temperature * len(z)) for grad in grads)


def close(found, wanted, tolerance=2e-6):
    """Assert equality up to a fraction of the largest value."""
    for name, ours, twin in zip(("loss", "info", "z_grad", "other_grad"), found, wanted, strict=True):
        atol = tolerance * twin.abs().max().item()
        torch.testing.assert_close(ours.double().cpu(), twin, rtol=0, atol=atol, msg=lambda m, n=name: f"{n}: {m}")


@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("case", LARGE, ids=str)
def test_gathered_twin(case, shift, device):
    given = inputs(*case, device)
    close(fast(*given, 0.5, shift), slow(*given, 0.5, shift))


@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("case", SMALL, ids=str)
def test_gathered_twin_in_small_tiles(case, shift, device, small_tiles):
    given = inputs(*case, device)
    close(fast(*given, 0.5, shift), slow(*given, 0.5, shift))


@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize(("precision", "tolerance"), [("tf32", 5e-3), ("bf16", 2e-2)])
def test_low_precision(precision, tolerance, shift, device, small_tiles, bfloat16_products):
    given = inputs(9, 64, 33, 2, device)
    found = fast(*given, 0.5, shift, precision=precision)
    close(found, slow(*given, 0.5, shift), tolerance)
    assert not torch.equal(found[2], fast(*given, 0.5, shift)[2])


@pytest.mark.parametrize("precision", ["tf32", "bf16"])
def test_separate_negatives_are_always_float32(precision, device, small_tiles):
    given = inputs(3, 16, 9, 3, device)
    found, exact = (fast(*given, 0.5, 0.7, precision=p) for p in (precision, "float32"))
    assert all(torch.equal(a, b) for a, b in zip(found, exact, strict=True))


@pytest.mark.parametrize("groups", [3, 7])
@pytest.mark.parametrize("shift", SHIFTS)
def test_rows_may_lie_apart(shift, groups, device, small_tiles):
    z, other, bank, negatives = inputs(7, 5, 19, groups, device)
    spread = []
    for gap, matrix in enumerate((z, other, bank), start=2):
        wide = matrix.new_full((len(matrix), 5 + gap), torch.nan)
        wide[:, 1:6] = matrix
        spread.append(wide[:, 1:6])
    lists = negatives.new_full((groups, 22), 10**6)
    lists[:, 2:21] = negatives
    found = fast(*spread, lists[:, 2:21], 0.5, shift)
    close(found, slow(z, other, bank, negatives, 0.5, shift))
    assert found[2].is_contiguous() and found[3].is_contiguous()


@pytest.mark.parametrize("groups", [2, 5])
def test_the_gradient_of_the_positives_is_optional(groups, device, small_tiles):
    given = inputs(5, 16, 9, groups, device)
    *rest, absent = contrast(*given, 0.5, None)
    assert absent is None
    assert all(torch.equal(a, b) for a, b in zip(rest, contrast(*given, 0.5, None, want_other=True), strict=False))


@pytest.mark.parametrize("groups", [3, 12])
@pytest.mark.parametrize("shift", [None, 40.0, -1500.0])
def test_huge_scores(shift, groups, device, small_tiles):
    """Embeddings are small integers with exact products, so that scores of up to 10,000 have no rounding error."""
    source = source_of(0)
    z, other, bank = (torch.randint(-8, 9, (n, 16), generator=source).float() for n in (12, 12, 20))
    scales = torch.tensor([1.0, 2, 4, 8])
    z *= scales.repeat(3)[:, None]
    other[8] = z[8]  # far more likely than any negative
    other[9] = -z[9]  # far less likely
    negatives = torch.randint(20, (groups, 37), generator=source, dtype=torch.int32)
    given = [t.to(device) for t in (z, other, bank, negatives)]
    wanted = slow(*given, 0.5, shift)
    assert 1e3 < (z @ bank.T / 0.5).abs().max() < 1e4 < (z @ z.T / 0.5).abs().max()
    found = fast(*given, 0.5, shift)
    assert all(part.isfinite().all() for part in found)
    close(found, wanted)


@pytest.mark.parametrize("groups", [1, 2])
def test_tiles_of_equal_scores(groups, device):
    """All factors 1 + exp(−|score|) are 2, so their product over a tile is maximal."""
    z, other, bank, negatives = inputs(2, 16, 128, groups, device)
    loss, info, _, other_grad = fast(torch.zeros_like(z), other, bank, negatives, 0.5, 0.0)
    torch.testing.assert_close(loss.cpu(), torch.full((2,), 129 * math.log(2)))
    torch.testing.assert_close(info.cpu(), torch.full((2,), math.log(129)))
    assert not other_grad.any()


@pytest.mark.parametrize("groups", [3, 19])
def test_a_program_writes_its_own_anchors_only(groups, device, small_tiles, monkeypatch):
    """In a full launch, later programs would overwrite a wrong write."""
    kernel = MODULE._contrast

    class First:
        def __getitem__(self, grid):
            def launch(*arguments, **options):
                for out in arguments[10:14]:
                    out.fill_(torch.nan)
                kernel[(1,)](*arguments, **options)

            return launch

    monkeypatch.setattr(MODULE, "_contrast", First())
    group_size = math.ceil(19 / groups)
    for out in fast(*inputs(19, 5, 9, groups, device), 0.5, None):
        written = out.isfinite().view(19, -1)
        assert written[:group_size].all() and not written[group_size:].any()


@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("groups", [3, 7])
def test_the_torch_path_gives_the_same_numbers(groups, shift, device, small_tiles):
    given = inputs(7, 16, 19, groups, device)
    z, other, bank, negatives = (t.cpu() for t in given)
    z.requires_grad_(), other.requires_grad_()
    rule = SoftmaxRule() if shift is None else BinaryRule(torch.tensor(shift))
    loss, info = torch_contrast(z, other, bank, negatives, 0.5, rule)
    found = fast(*given, 0.5, shift)
    means = (found[0].mean(), found[1].mean(), *found[2:])
    close(means, [t.detach().double() for t in (loss, info, *torch.autograd.grad(loss, (z, other)))])


def test_every_width_has_a_launch():
    for table in (MODULE.SHARED, MODULE.OWN):
        assert max(table) == MAX_DIM and all(2 * width in table for width in table if width < MAX_DIM)
        assert all(launch.columns <= 64 for launch in table.values())


def test_every_precision_has_its_products():
    assert tuple(PRODUCTS) == PRECISIONS
