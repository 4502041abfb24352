"""NCE and InfoNCE against gathered scores and autograd, iteration by iteration, and their invariants."""

import math

import pytest
import torch

from dense import agree, source_of
from gathered import candidates, embeddings, info_nce, prepared, scores
from signnap import NCE, InfoNCE

N, K, D = 13, 5, 4
GROUPS = [1, 4, 0]


class SlowNCE:
    """The loss of the authors' code, differentiated by autograd; the authors use ε = 1e-12."""

    def __init__(self, objective, eps=1e-12):
        self.eps = eps
        self.banks = [objective.bank.first.clone(), objective.bank.second.clone()]
        self.constants = [None, None]

    def loss(self, number, z, index, temperature=0.1):
        n, k = len(z), index.shape[1] - 1
        raised = scores(z, self.banks[1 - number], index, temperature).exp()
        if self.constants[number] is None:
            self.constants[number] = n * raised.detach().mean()
        p, c = raised / self.constants[number], k / n
        positive = torch.log(p[:, 0] / (p[:, 0] + c + self.eps) + self.eps)
        negative = torch.log(c / (p[:, 1:] + c + self.eps) + self.eps).sum(dim=1)
        return -(positive + negative).mean()

    def update(self, z1, z2):
        for bank, z in zip(self.banks, (z1, z2), strict=True):
            moved = 0.5 * bank + 0.5 * z.detach()
            bank.copy_(moved / moved.norm(dim=1, keepdim=True))


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("temperature", [0.1, 0.5])
@pytest.mark.parametrize(("eps", "tolerance"), [(0.0, 1e-9), (1e-12, 1e-5)])
def test_nce_is_that_of_the_gathered_twin_for_three_iterations(group, temperature, eps, tolerance):
    objective = prepared(NCE(K, temperature, negatives_group=group), N, D)
    twin, close = SlowNCE(objective, eps), {"atol": tolerance, "rtol": tolerance}
    for iteration in range(3):
        z1, z2 = embeddings(N, D, iteration), embeddings(N, D, iteration + 50)
        index = candidates(N, K, group, seed=iteration)
        terms = objective(z1, z2, source_of(iteration))
        first, second = (twin.loss(number, z, index, temperature) for number, z in enumerate((z1, z2)))
        agree(terms.parts["loss_1"], first, [z1], **close)
        agree(terms.parts["loss_2"], second, [z2], **close)
        agree(terms.total, first + second, [z1, z2], **close)
        objective.update(z1, z2, terms)
        twin.update(z1, z2)
        assert torch.allclose(objective.log_z.exp(), torch.stack(twin.constants))
        assert torch.allclose(objective.bank.first, twin.banks[0])
        assert torch.allclose(objective.bank.second, twin.banks[1])


@pytest.mark.parametrize("group", GROUPS)
def test_nce_in_float32(group):
    objective = NCE(64, negatives_group=group)
    objective.prepare(100, 16, source_of(0))
    twin, index = SlowNCE(objective), candidates(100, 64, group, seed=1)
    z1, z2 = (embeddings(100, 16, seed).detach().float().requires_grad_() for seed in (2, 3))
    found = objective(z1, z2, source_of(1)).total
    agree(found, twin.loss(0, z1, index) + twin.loss(1, z2, index), [z1, z2], atol=2e-5, rtol=2e-4)


@pytest.mark.parametrize("n", [10, 300, 3000])
def test_the_first_loss_of_a_small_embedding_is_at_chance(n):
    chance = math.log(1025) + 1024 * math.log1p(1 / 1024)
    assert chance == pytest.approx(7.932, abs=1e-3)
    objective = NCE()
    objective.prepare(n, 8, source_of(0))
    z1, z2 = (1e-4 * torch.randn(n, 8, generator=source_of(seed)) for seed in (1, 2))
    terms = objective(z1, z2, source_of(3))
    assert terms.parts["loss_1"].item() == pytest.approx(chance, abs=3e-3)
    assert terms.parts["loss_2"].item() == pytest.approx(chance, abs=3e-3)
    assert objective.chance() == pytest.approx(2 * chance)


@pytest.mark.parametrize("group", GROUPS)
def test_the_bound_of_mutual_information_uses_the_same_scores(group):
    objective = prepared(NCE(K, negatives_group=group), N, D)
    z1, z2 = embeddings(N, D, 0), embeddings(N, D, 1)
    index = candidates(N, K, group, seed=3)
    pairs = ((z1, objective.bank.second), (z2, objective.bank.first))
    losses = [info_nce(scores(z, bank, index, 0.1)) for z, bank in pairs]
    bound = objective(z1, z2, source_of(3)).mutual_information_bound
    assert torch.allclose(bound, math.log(K) - 0.5 * sum(losses))
    assert not bound.requires_grad


def test_constants_freeze_after_the_first_update_and_are_saved():
    objective = prepared(NCE(K, negatives_group=4), N, D)
    assert objective.log_z.isnan().all()
    states = []
    for iteration in range(3):
        z1, z2 = embeddings(N, D, iteration, scale=1 + iteration), embeddings(N, D, iteration + 9)
        objective.update(z1, z2, objective(z1, z2, source_of(iteration)))
        states.append({name: value.clone() for name, value in objective.state_dict().items()})
    assert set(states[0]) == {"log_z", "bank.first", "bank.second"}
    assert states[0]["log_z"].isfinite().all() and torch.equal(states[0]["log_z"], states[2]["log_z"])
    other = prepared(NCE(K, negatives_group=4), N, D, seed=99)
    other.load_state_dict(states[2])
    z1, z2 = embeddings(N, D, 5), embeddings(N, D, 6)
    assert torch.equal(other(z1, z2, source_of(0)).total, objective(z1, z2, source_of(0)).total)


def test_preparing_again_forgets_the_constants():
    objective = prepared(NCE(K), N, D)
    z = embeddings(N, D, 0)
    objective.update(z, z, objective(z, z, source_of(0)))
    objective.prepare(7, 3, source_of(0))
    assert objective.log_z.isnan().all() and objective.bank.first.shape == (7, 3)


def test_no_gradient_flows_between_the_views_or_into_the_bank():
    objective = prepared(NCE(K, negatives_group=4), N, D)
    z1, z2 = embeddings(N, D, 0), embeddings(N, D, 1)
    terms = objective(z1, z2, source_of(0))
    assert torch.autograd.grad(terms.parts["loss_1"], z2, allow_unused=True, retain_graph=True) == (None,)
    assert torch.autograd.grad(terms.parts["loss_2"], z1, allow_unused=True, retain_graph=True) == (None,)
    terms.total.backward()
    assert all(not state.requires_grad and state.grad is None for state in objective.buffers())


@pytest.mark.parametrize(
    "length",
    [1.0, 4.0, 20.0, 1e3],
)
def test_long_embeddings_stay_finite(length):
    """A length of 1,000 gives scores of 10,000."""
    objective = NCE(64)
    objective.prepare(50, 8, source_of(0))
    z = torch.nn.functional.normalize(torch.randn(50, 8, generator=source_of(1))).mul_(length).requires_grad_()
    terms = objective(z, z, source_of(2))
    terms.total.backward()
    assert terms.total.isfinite() and terms.mutual_information_bound.isfinite() and z.grad.isfinite().all()


def test_short_embeddings_after_long_ones_stay_finite():
    """The long embeddings fix Z, which may exceed float32."""
    objective = NCE(64)
    objective.prepare(50, 8, source_of(0))
    long = torch.nn.functional.normalize(torch.randn(50, 8, generator=source_of(1))).mul_(100)
    objective.update(long, long, objective(long, long, source_of(2)))
    assert objective.log_z.min() > 100
    short = (0.01 * long).requires_grad_()
    terms = objective(short, short, source_of(3))
    terms.total.backward()
    assert terms.total.isfinite() and short.grad.isfinite().all()


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("log_z", [-30.0, -3.0, 3.0, 30.0])
def test_no_score_lies_beyond_the_bound(log_z, sign):
    """The extreme case: bank rows of maximal length, parallel or opposite to the longest embedding."""
    objective, z = NCE(K), torch.randn(N, D, generator=source_of(0))
    objective.prepare(N, D, source_of(1))
    bank = sign * 3**0.5 * torch.nn.functional.normalize(z)
    rule = objective._rule(z, torch.tensor(log_z))
    furthest = (z @ bank.t() / objective.temperature - rule.shift).abs().max()
    assert furthest <= rule.bound * (1 + 1e-6)
    short = objective._rule(0.01 * z, torch.tensor(log_z))
    assert short.bound < abs(log_z) + 2  # the bound is tight


def slow_info_nce(objective, z1, z2, index, *, normalize=True):
    """L_v = −E log( h(z, z') / (h(z, z') + Σ_k h(z, m_k)) ) with h = exp(·/τ), and the same with swapped views."""
    if normalize:
        z1, z2 = (z / z.norm(dim=1, keepdim=True) for z in (z1, z2))
    tau = objective.temperature
    positive = torch.stack([a @ b for a, b in zip(z1, z2, strict=True)]) / tau
    losses = []
    for z, bank in ((z1, objective.bank.second), (z2, objective.bank.first)):
        negatives = scores(z, bank, index[:, 1:], tau)
        losses.append(info_nce(torch.cat([positive[:, None], negatives], dim=1)))
    return losses


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("temperature", [0.1, 0.5])
@pytest.mark.parametrize("normalize", [True, False])
def test_info_nce_is_that_of_the_gathered_twin_for_three_iterations(group, temperature, normalize):
    objective = prepared(InfoNCE(K, temperature, negatives_group=group, normalize=normalize), N, D)
    for iteration in range(3):
        z1, z2 = embeddings(N, D, iteration), embeddings(N, D, iteration + 50)
        index = candidates(N, K, group, seed=iteration)
        terms = objective(z1, z2, source_of(iteration))
        first, second = slow_info_nce(objective, z1, z2, index, normalize=normalize)
        agree(terms.parts["loss_1"], first, [z1, z2])
        agree(terms.parts["loss_2"], second, [z1, z2])
        agree(terms.total, first + second, [z1, z2])
        assert torch.allclose(terms.mutual_information_bound, math.log(K) - 0.5 * (first + second))
        assert not terms.mutual_information_bound.requires_grad
        objective.update(z1, z2, terms)
        assert torch.allclose(objective.bank.first.norm(dim=1), torch.ones(N, dtype=torch.float64))


@pytest.mark.parametrize("group", GROUPS)
def test_info_nce_in_float32(group):
    objective = InfoNCE(64, negatives_group=group)
    objective.prepare(100, 16, source_of(0))
    z1, z2 = (embeddings(100, 16, seed).detach().float().requires_grad_() for seed in (2, 3))
    wanted = sum(slow_info_nce(objective, z1, z2, candidates(100, 64, group, seed=1)))
    agree(objective(z1, z2, source_of(1)).total, wanted, [z1, z2], atol=2e-5, rtol=2e-4)


@pytest.mark.parametrize("k", [1, 64, 1024])
def test_constant_embeddings_are_at_chance(k):
    objective = InfoNCE(k)
    objective.prepare(30, 8, source_of(0))
    z = torch.ones(30, 8)
    for _ in range(20):  # until the momentum has removed the initial random rows
        objective.update(z, z, None)
    terms = objective(z, z, source_of(1))
    assert terms.total.item() == pytest.approx(objective.chance(), rel=1e-4)
    assert objective.chance() == pytest.approx(2 * math.log(k + 1))
    assert terms.mutual_information_bound.item() == pytest.approx(math.log(k / (k + 1)), abs=1e-3)


def test_info_nce_ignores_the_length_of_embeddings():
    objective = prepared(InfoNCE(K), N, D)
    z1, z2 = embeddings(N, D, 0), embeddings(N, D, 1)
    assert torch.allclose(objective(z1, z2, source_of(0)).total, objective(7 * z1, 0.1 * z2, source_of(0)).total)


def test_info_nce_of_huge_scores_is_finite():
    objective = InfoNCE(K, temperature=1e-3)
    objective.prepare(N, D, source_of(0))
    z = embeddings(N, D, 0).detach().float().requires_grad_()
    terms = objective(z, z.detach(), source_of(0))
    terms.total.backward()
    assert terms.total.isfinite() and z.grad.isfinite().all()


def test_the_state_of_info_nce_is_the_bank():
    assert set(prepared(InfoNCE(K), N, D).state_dict()) == {"bank.first", "bank.second"}
