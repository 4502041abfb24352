"""Loss and gradient in one pass against gathered candidates and autograd, for every way to share and to chunk."""

from importlib import import_module

import pytest
import torch
from gathered import candidates, embeddings, info_nce, scores
from torch.autograd import gradcheck
from watch import Watch

from dense import agree, source_of
from signnap.objectives import OBJECTIVES, draw_negatives
from signnap.ops.contrast import BinaryRule, SoftmaxRule, contrast, score_chunks

N, K, D, TAU = 11, 6, 3, 0.5
SHARES = [1, 2, 4, 5, 0]  # 11 is a multiple of none of them


@pytest.fixture(params=[1, 30, 10**9], ids=lambda size: f"chunk of {size}")
def chunk(request, monkeypatch):
    set_chunk(monkeypatch, request.param)
    return request.param


def set_chunk(monkeypatch, scores, fewest=1):
    # The package's attribute of this name is the function, not the module.
    module = import_module("signnap.ops.contrast")
    monkeypatch.setattr(module, "_CPU_CHUNK", scores)
    monkeypatch.setattr(module, "_MIN_ANCHORS", fewest)


def rules():
    shift = torch.tensor(0.7, dtype=torch.float64)
    return {"softmax": SoftmaxRule(), "binary": BinaryRule(shift, bound=20.0), "careful": BinaryRule(shift)}


def slow(rule, logits):
    """Mean loss of rows of scores whose column 0 is the positive's."""
    if rule == "softmax":
        return info_nce(logits)
    odds = logits - 0.7
    return -(torch.sigmoid(odds[:, 0]).log() + torch.sigmoid(-odds[:, 1:]).log().sum(dim=1)).mean()


def inputs(seed=0):
    """Anchors, the rows that hold their positives, and the bank of negatives."""
    return embeddings(N, D, seed, 1.0), embeddings(N, D, seed + 1, 1.0), embeddings(N, D, seed + 2, 1.0).detach()


def gathered(z, other, bank, index):
    """The scores of every anchor: its positive in column 0, then its negatives."""
    return torch.cat([(z * other).sum(dim=1, keepdim=True) / TAU, scores(z, bank, index[:, 1:], TAU)], dim=1)


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("rule", ["softmax", "binary", "careful"])
def test_gathered_twin(rule, share, chunk):
    z, other, bank = inputs()
    logits = gathered(z, other, bank, candidates(N, K, share, seed=3))
    found, information = contrast(z, other, bank, draw_negatives(N, K, share, source_of(3)), TAU, rules()[rule])
    agree(found, slow(rule, logits), [z, other])
    assert torch.allclose(information, info_nce(logits)) and not information.requires_grad


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("rule", ["softmax", "binary", "careful"])
def test_finite_differences(rule, share):
    z, other, bank = inputs()
    negatives = draw_negatives(N, K, share, source_of(3))
    assert gradcheck(lambda z, other: contrast(z, other, bank, negatives, TAU, rules()[rule])[0], (z, other))


@pytest.mark.parametrize("share", [1, 4, 0])
def test_more_negatives_than_nodes(share):
    z, other, bank = inputs()
    logits = gathered(z, other, bank, candidates(N, 40, share, seed=3))
    found, _ = contrast(z, other, bank, draw_negatives(N, 40, share, source_of(3)), TAU, SoftmaxRule())
    agree(found, info_nce(logits), [z, other])


@pytest.mark.parametrize("share", SHARES)
def test_chunks_visit_every_anchor_once_in_order(share, chunk):
    z, _, bank = inputs()
    index = candidates(N, K, share, seed=3)
    seen, combined = [], torch.ones_like(z)
    negatives = draw_negatives(N, K, share, source_of(3))
    for anchors, values, _, combine in score_chunks(z.detach(), bank, negatives):
        assert torch.allclose(values, scores(z, bank, index[:, 1:], 1.0)[anchors])
        assert len(values) <= max(1, chunk // K)
        seen += range(N)[anchors]
        values.mul_(2)
        combine(combined[anchors])
    assert seen == list(range(N))
    logits = scores(z, bank, index[:, 1:], 1.0)
    assert torch.allclose(combined, 1 + 2 * torch.einsum("nk,nkd->nd", logits, bank[index[:, 1:]]))


def test_parts_of_a_group_are_no_smaller_than_the_fewest(monkeypatch):
    z, _, bank = inputs()
    set_chunk(monkeypatch, 1, fewest=4)
    parts = score_chunks(z.detach(), bank, draw_negatives(N, K, 0, source_of(3)))
    assert [len(part.scores) for part in parts] == [4, 4, 3]


@pytest.mark.parametrize("share", [0, 50, 1000])
@pytest.mark.parametrize("name", OBJECTIVES)
def test_nothing_is_as_large_as_all_scores(name, share, monkeypatch):
    d, k, scores = 4, 64, 1 << 12
    set_chunk(monkeypatch, scores)
    largest = []
    for n in (2000, 4000):
        objective = OBJECTIVES[name](k, negatives_group=share)
        objective.prepare(n, d, source_of(0))
        z1, z2 = (embeddings(n, d, seed).detach().float().requires_grad_() for seed in (1, 2))
        with Watch() as watch:
            terms = objective(z1, z2, source_of(3))  # the first iteration of NCE finds its constants, too
            terms.total.backward()
            objective.update(z1, z2, terms)
            objective(z1, z2, source_of(4)).total.backward()
        largest.append(watch.numbers)
    assert 2 * scores >= largest[0] and max(2 * scores, 4000 * d) >= largest[1]


def test_gradients_scale_with_what_comes_from_above():
    z, other, bank = inputs()
    negatives = draw_negatives(N, K, 4, source_of(3))
    grads = [
        torch.autograd.grad(factor * contrast(z, other, bank, negatives, TAU, SoftmaxRule())[0], (z, other))
        for factor in (1.0, -2.5)
    ]
    assert all(torch.allclose(-2.5 * a, b) for a, b in zip(*grads, strict=True))


@pytest.mark.parametrize("share", SHARES)
def test_inputs_stay_as_they_are_and_need_no_gradients(share):
    given = z, other, bank = tuple(t.detach() for t in inputs())
    before = [t.clone() for t in given]
    loss, _ = contrast(z, other, bank, draw_negatives(N, K, share, source_of(3)), TAU, SoftmaxRule())
    assert not loss.requires_grad
    assert all(torch.equal(a, b) for a, b in zip(before, given, strict=True))
    strided = [t.t().contiguous().t() for t in given]
    assert torch.allclose(contrast(*strided, draw_negatives(N, K, share, source_of(3)), TAU, SoftmaxRule())[0], loss)
