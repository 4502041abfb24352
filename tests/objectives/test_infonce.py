"""InfoNCE against Eq. 1–4 of the paper: unit vectors, a live positive, remembered negatives."""

import math

import pytest
import torch
from gathered import candidates, embeddings, info_nce, prepared, scores

from dense import agree, source_of
from signnap.objectives import InfoNCE

N, K, D = 13, 5, 4
SHARES = [1, 4, 0]


def slow(objective, z1, z2, index, *, normalize=True):
    """L_v = −E log( h(z, z') / (h(z, z') + Σ_k h(z, m_k)) ) with h = exp(·/τ), and likewise with the views swapped."""
    if normalize:
        z1, z2 = (z / z.norm(dim=1, keepdim=True) for z in (z1, z2))
    tau = objective.temperature
    positive = torch.stack([a @ b for a, b in zip(z1, z2, strict=True)]) / tau
    losses = []
    for z, bank in ((z1, objective.bank.second), (z2, objective.bank.first)):
        negatives = scores(z, bank, index[:, 1:], tau)
        losses.append(info_nce(torch.cat([positive[:, None], negatives], dim=1)))
    return losses


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("temperature", [0.1, 0.5])
@pytest.mark.parametrize("normalize", [True, False])
def test_three_iterations_of_the_gathered_twin(share, temperature, normalize):
    objective = prepared(InfoNCE(K, temperature, negatives_group=share, normalize=normalize), N, D)
    for iteration in range(3):
        z1, z2 = embeddings(N, D, iteration), embeddings(N, D, iteration + 50)
        index = candidates(N, K, share, seed=iteration)
        terms = objective(z1, z2, source_of(iteration))
        first, second = slow(objective, z1, z2, index, normalize=normalize)
        agree(terms.parts["loss_1"], first, [z1, z2])
        agree(terms.parts["loss_2"], second, [z1, z2])
        agree(terms.total, first + second, [z1, z2])
        assert torch.allclose(terms.mutual_information_bound, math.log(K) - 0.5 * (first + second))
        assert not terms.mutual_information_bound.requires_grad
        objective.update(z1, z2, terms)
        assert torch.allclose(objective.bank.first.norm(dim=1), torch.ones(N, dtype=torch.float64))


@pytest.mark.parametrize("share", SHARES)
def test_the_gathered_twin_in_float32(share):
    objective = InfoNCE(64, negatives_group=share)
    objective.prepare(100, 16, source_of(0))
    z1, z2 = (embeddings(100, 16, seed).detach().float().requires_grad_() for seed in (2, 3))
    wanted = sum(slow(objective, z1, z2, candidates(100, 64, share, seed=1)))
    agree(objective(z1, z2, source_of(1)).total, wanted, [z1, z2], atol=2e-5, rtol=2e-4)


@pytest.mark.parametrize("k", [1, 64, 1024])
def test_an_embedding_that_tells_nothing_apart_is_at_chance(k):
    objective = InfoNCE(k)
    objective.prepare(30, 8, source_of(0))
    z = torch.ones(30, 8)
    for _ in range(20):  # until the bank has forgotten its first random rows
        objective.update(z, z, None)
    terms = objective(z, z, source_of(1))
    assert terms.total.item() == pytest.approx(objective.chance(), rel=1e-4)
    assert objective.chance() == pytest.approx(2 * math.log(k + 1))
    assert terms.mutual_information_bound.item() == pytest.approx(math.log(k / (k + 1)), abs=1e-3)


def test_the_length_of_embeddings_does_not_matter():
    objective = prepared(InfoNCE(K), N, D)
    z1, z2 = embeddings(N, D, 0), embeddings(N, D, 1)
    assert torch.allclose(objective(z1, z2, source_of(0)).total, objective(7 * z1, 0.1 * z2, source_of(0)).total)


def test_huge_scores_are_no_problem():
    objective = InfoNCE(K, temperature=1e-3)
    objective.prepare(N, D, source_of(0))
    z = embeddings(N, D, 0).detach().float().requires_grad_()
    terms = objective(z, z.detach(), source_of(0))
    terms.total.backward()
    assert terms.total.isfinite() and z.grad.isfinite().all()


def test_the_bank_is_all_its_state():
    assert set(prepared(InfoNCE(K), N, D).state_dict()) == {"bank.first", "bank.second"}
