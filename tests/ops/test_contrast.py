"""Loss and gradient of the contrast against gathered candidates and autograd, for all group and chunk sizes."""

import math

import pytest
import torch
from torch.autograd import gradcheck
from torch.nn.functional import softplus

from dense import agree, source_of
from gathered import candidates, embeddings, info_nce, scores
from signnap.objectives.bank import draw_negatives
from signnap.ops.contrast import BinaryRule, SoftmaxRule, contrast, score_chunks, sum_of_logs
from signnap.registry import OBJECTIVES
from watch import Watch

N, K, D, TAU = 11, 6, 3, 0.5
GROUPS = [1, 2, 4, 5, 0]  # anchors per group; all but 1 and 0 leave a short last group of the 11 anchors


@pytest.fixture(params=[1, 30, 10**9], ids=lambda size: f"chunk of {size}")
def chunk(request, monkeypatch):
    set_chunk(monkeypatch, request.param)
    return request.param


def set_chunk(monkeypatch, scores, fewest=1):
    monkeypatch.setattr("signnap.ops.contrast._CPU_CHUNK", scores)
    monkeypatch.setattr("signnap.ops.contrast._MIN_ANCHORS", fewest)


def rules():
    shift = torch.tensor(0.7, dtype=torch.float64)
    return {"softmax": SoftmaxRule(), "binary": BinaryRule(shift, bound=20.0), "by logarithms": BinaryRule(shift)}


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


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("rule", ["softmax", "binary", "by logarithms"])
def test_gathered_twin(rule, group, chunk):
    z, other, bank = inputs()
    logits = gathered(z, other, bank, candidates(N, K, group, seed=3))
    found, information = contrast(z, other, bank, draw_negatives(N, K, group, source_of(3)), TAU, rules()[rule])
    agree(found, slow(rule, logits), [z, other])
    assert torch.allclose(information, info_nce(logits)) and not information.requires_grad


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("rule", ["softmax", "binary", "by logarithms"])
def test_finite_differences(rule, group):
    z, other, bank = inputs()
    negatives = draw_negatives(N, K, group, source_of(3))
    assert gradcheck(lambda z, other: contrast(z, other, bank, negatives, TAU, rules()[rule])[0], (z, other))


@pytest.mark.parametrize("group", [1, 4, 0])
def test_more_negatives_than_nodes(group):
    z, other, bank = inputs()
    logits = gathered(z, other, bank, candidates(N, 40, group, seed=3))
    found, _ = contrast(z, other, bank, draw_negatives(N, 40, group, source_of(3)), TAU, SoftmaxRule())
    agree(found, info_nce(logits), [z, other])


@pytest.mark.parametrize("group", GROUPS)
def test_chunks_visit_every_anchor_once_in_order(group, chunk):
    z, _, bank = inputs()
    index = candidates(N, K, group, seed=3)
    seen, combined = [], torch.ones_like(z)
    negatives = draw_negatives(N, K, group, source_of(3))
    for anchors, values, _, combine in score_chunks(z.detach(), bank, negatives):
        assert torch.allclose(values, scores(z, bank, index[:, 1:], 1.0)[anchors])
        assert len(values) <= max(1, chunk // K)
        seen += range(N)[anchors]
        values.mul_(2)
        combine(combined[anchors])
    assert seen == list(range(N))
    logits = scores(z, bank, index[:, 1:], 1.0)
    assert torch.allclose(combined, 1 + 2 * torch.einsum("nk,nkd->nd", logits, bank[index[:, 1:]]))


def test_parts_of_a_group_have_a_minimal_size(monkeypatch):
    z, _, bank = inputs()
    set_chunk(monkeypatch, 1, fewest=4)
    parts = score_chunks(z.detach(), bank, draw_negatives(N, K, 0, source_of(3)))
    assert [len(part.scores) for part in parts] == [4, 4, 3]


@pytest.mark.parametrize("group", [0, 50, 1000])
@pytest.mark.parametrize("name", OBJECTIVES)
def test_memory_does_not_grow_with_the_number_of_scores(name, group, monkeypatch):
    d, k, scores = 4, 64, 1 << 12
    set_chunk(monkeypatch, scores)
    largest = []
    for n in (2000, 4000):
        objective = OBJECTIVES[name].build(negatives=k, negatives_group=group)
        objective.prepare(n, d, source_of(0))
        z1, z2 = (embeddings(n, d, seed).detach().float().requires_grad_() for seed in (1, 2))
        with Watch() as watch:
            terms = objective(z1, z2, source_of(3))  # the first iteration of NCE also computes its constants
            terms.total.backward()
            objective.update(z1, z2, terms)
            objective(z1, z2, source_of(4)).total.backward()
        largest.append(watch.numbers)
    assert 2 * scores >= largest[0] and max(2 * scores, 4000 * d) >= largest[1]


def test_gradients_scale_with_the_incoming_gradient():
    z, other, bank = inputs()
    negatives = draw_negatives(N, K, 4, source_of(3))
    grads = [
        torch.autograd.grad(factor * contrast(z, other, bank, negatives, TAU, SoftmaxRule())[0], (z, other))
        for factor in (1.0, -2.5)
    ]
    assert all(torch.allclose(-2.5 * a, b) for a, b in zip(*grads, strict=True))


@pytest.mark.parametrize("group", GROUPS)
def test_inputs_are_not_modified_and_need_no_gradients(group):
    given = z, other, bank = tuple(t.detach() for t in inputs())
    before = [t.clone() for t in given]
    loss, _ = contrast(z, other, bank, draw_negatives(N, K, group, source_of(3)), TAU, SoftmaxRule())
    assert not loss.requires_grad
    assert all(torch.equal(a, b) for a, b in zip(before, given, strict=True))
    strided = [t.t().contiguous().t() for t in given]
    assert torch.allclose(contrast(*strided, draw_negatives(N, K, group, source_of(3)), TAU, SoftmaxRule())[0], loss)


@pytest.mark.parametrize("k", [1, 7, 24, 64])
@pytest.mark.parametrize("bound", [0.0, 4.0, 11.0, 50.0])
def test_sum_of_logs(k, bound):
    """It does not overflow, even if all numbers are as large as the bound allows."""
    drawn = 1 + torch.rand(5, k, generator=source_of(0)) * math.exp(bound)
    for above in (drawn, torch.full((5, k), 1 + math.exp(bound))):
        wanted = above.double().log().sum(dim=1)
        torch.testing.assert_close(sum_of_logs(above, bound).double(), wanted, rtol=2e-6, atol=1e-5)


@pytest.mark.parametrize("bound", [12.0, 59.0, math.inf])
def test_every_bound_gives_the_same_numbers(bound):
    rule, scores = BinaryRule(torch.tensor(3.0), bound), 4 * torch.randn(6, 32, generator=source_of(0))
    wanted = softplus(scores.double() - 3).sum(dim=1), scores.double().logsumexp(dim=1), (scores.double() - 3).sigmoid()
    found = scores.clone()
    negative, log_sum = rule(found, torch.zeros(6), torch.empty_like(found))
    for got, expected in zip((negative, log_sum, found), wanted, strict=True):
        torch.testing.assert_close(got.double(), expected, rtol=1e-5, atol=1e-6)
