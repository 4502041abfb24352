"""The all-pairs loss against GRACE's formula, for several tile sizes, and its invariants."""

import math

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck

from dense import agree, source_of
from gathered import embeddings
from signnap import SIGNNAP, AllPairs
from signnap.errors import SignnapError
from signnap.ops import pairwise
from watch import Watch

D = 4


TILES = [(1, 1), (2, 2), (2, 4), (4, 2), (10**6, 10**6)]


@pytest.fixture(params=TILES, ids=lambda tile: f"tiles of {tile[0]}x{tile[1]}")
def tile(request, monkeypatch):
    monkeypatch.setattr(pairwise, "_CPU_TILE", request.param)
    return request.param


def prepared(n, d=D, temperature=0.5, projector=None, seed=7):
    objective = AllPairs(temperature, projector)
    objective.prepare(n, d, source_of(seed))
    return objective.double()


def half(u, v, temperature):
    """The mean over i of −log[ e^θ(u_i,v_i) / (Σ_k e^θ(u_i,v_k) + Σ_{k≠i} e^θ(u_i,u_k)) ], θ = cos/τ."""
    cosine = torch.nn.functional.cosine_similarity
    between, within = (cosine(u[:, None], other[None], dim=2) / temperature for other in (v, u))
    within = within.masked_fill(torch.eye(len(u), dtype=torch.bool), -math.inf)
    return (torch.cat([between, within], dim=1).logsumexp(dim=1) - between.diag()).mean()


@pytest.mark.parametrize("n", [1, 2, 3, 8, 13])
@pytest.mark.parametrize("temperature", [0.01, 0.2, 1.0])  # 1/0.01 uses logarithms
def test_dense_twin(n, temperature, tile):
    objective = prepared(n, temperature=temperature)
    z1, z2 = embeddings(n, D, 0), embeddings(n, D, 1)
    terms = objective(z1, z2, source_of(0))
    first, second = half(z1, z2, temperature), half(z2, z1, temperature)
    agree(terms.total, (first + second) / 2, [z1, z2], atol=1e-9, rtol=1e-9)
    torch.testing.assert_close(terms.parts["loss_1"], first)
    torch.testing.assert_close(terms.parts["loss_2"], second)
    torch.testing.assert_close(terms.total, sum(terms.parts.values()) / 2)
    assert not any(part.requires_grad for part in terms.parts.values())


def test_dense_twin_through_the_projector(tile):
    objective = prepared(9, projector=6)
    z1, z2 = embeddings(9, D, 0), embeddings(9, D, 1)
    inner, outer = (objective.projector[at] for at in (0, 2))
    projected = [torch.where((h := z @ inner.weight.t() + inner.bias) > 0, h, h.expm1()) for z in (z1, z2)]
    u, v = (h @ outer.weight.t() + outer.bias for h in projected)
    wanted = (half(u, v, 0.5) + half(v, u, 0.5)) / 2
    agree(objective(z1, z2, source_of(0)).total, wanted, [z1, z2, *objective.parameters()], atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize("temperature", [0.05, 0.3])
def test_dense_twin_in_float32(temperature):
    objective = AllPairs(temperature)
    objective.prepare(700, 16, source_of(0))
    z1, z2 = (embeddings(700, 16, seed).detach().float().requires_grad_() for seed in (2, 3))
    wanted = (half(z1, z2, temperature) + half(z2, z1, temperature)) / 2
    agree(objective(z1, z2, source_of(1)).total, wanted, [z1, z2], atol=2e-6, rtol=2e-4)


@pytest.mark.parametrize("temperature", [0.01, 0.5])
@pytest.mark.parametrize("projector", [None, 3])
def test_finite_differences(temperature, projector, tile):
    objective = prepared(5, temperature=temperature, projector=projector)
    inputs = embeddings(5, D, 0), embeddings(5, D, 1)
    assert gradcheck(lambda z1, z2: objective(z1, z2, source_of(0)).total, inputs)


@pytest.mark.parametrize("n", [1, 2, 40, 600])
@pytest.mark.parametrize("temperature", [1e-3, 0.5])
def test_constant_embeddings_are_at_chance(n, temperature):
    objective = prepared(n, temperature=temperature)
    z = torch.ones(n, D, dtype=torch.float64)
    terms = objective(z, 3 * z, source_of(0))
    assert objective.chance() == pytest.approx(math.log(2 * n - 1))
    for found in (terms.total, *terms.parts.values()):
        assert found.item() == pytest.approx(objective.chance(), abs=1e-9)


def test_the_loss_is_symmetric_in_the_views(tile):
    objective = prepared(11)
    z1, z2 = embeddings(11, D, 0), embeddings(11, D, 1)
    one, other = objective(z1, z2, source_of(0)), objective(z2, z1, source_of(0))
    torch.testing.assert_close(one.parts["loss_1"], other.parts["loss_2"])
    torch.testing.assert_close(one.parts["loss_2"], other.parts["loss_1"])
    agree(one.total, other.total, [z1, z2])
    assert not torch.isclose(one.parts["loss_1"], one.parts["loss_2"])


def test_the_length_of_embeddings_does_not_matter():
    objective = prepared(11)
    z1, z2 = embeddings(11, D, 0), embeddings(11, D, 1)
    lengths = torch.linspace(0.1, 30, 11, dtype=torch.float64)[:, None]
    torch.testing.assert_close(
        objective(z1, z2, source_of(0)).total, objective(lengths * z1, 0.01 * z2, source_of(0)).total
    )


@pytest.mark.parametrize("temperature", [1e-6, 1e-3, 1 / 59, 1 / 61, 1e6])
def test_extreme_temperatures_stay_finite(temperature):
    """Equal and opposite embeddings give the largest range of scores."""
    objective = AllPairs(temperature)
    objective.prepare(50, 8, source_of(0))
    z = torch.randn(50, 8, generator=source_of(1))
    z[:25] = torch.ones(8)
    z1, z2 = z.clone().requires_grad_(), (-z).requires_grad_()
    terms = objective(z1, z2, source_of(2))
    terms.total.backward()
    assert terms.total.isfinite() and z1.grad.isfinite().all() and z2.grad.isfinite().all()


@pytest.mark.parametrize("temperature", [1 / 59.9, 1 / 60.1])
def test_both_ways_to_exponentiate_agree_near_their_limit(temperature):
    objective = AllPairs(temperature)
    objective.prepare(30, D, source_of(0))
    z1, z2 = (embeddings(30, D, seed).detach().float().requires_grad_() for seed in (0, 1))
    exact = [z.detach().double().requires_grad_() for z in (z1, z2)]
    found, wanted = objective(z1, z2, source_of(0)).total, objective(*exact, source_of(0)).total
    assert found.item() == pytest.approx(wanted.item(), rel=1e-4)
    for mine, twin in zip(torch.autograd.grad(found, (z1, z2)), torch.autograd.grad(wanted, exact), strict=True):
        torch.testing.assert_close(mine.double(), twin, atol=1e-3 * twin.abs().max().item(), rtol=1e-3)


def test_a_zero_embedding_is_finite():
    z = embeddings(5, D, 0).detach()
    z[2] = 0
    z.requires_grad_()
    total = prepared(5)(z, z.detach(), source_of(0)).total
    total.backward()
    assert total.isfinite() and z.grad.isfinite().all()


def test_the_bound_is_below_that_of_info_nce():
    objective = prepared(12, temperature=0.1)
    z1, z2 = embeddings(12, D, 0), embeddings(12, D, 1)
    u, v = (z / z.norm(dim=1, keepdim=True) for z in (z1, z2))
    logits = u @ v.t() / 0.1
    info_nce = -sum(s.log_softmax(dim=1).diag().mean() for s in (logits, logits.t())) / 2
    terms = objective(z1, z2, source_of(0))
    bound = terms.mutual_information_bound
    torch.testing.assert_close(bound, math.log(12) - terms.total.detach())
    assert bound < math.log(12) - info_nce and not bound.requires_grad


@pytest.mark.parametrize(
    ("temperature", "unit"), [(0.5, math.log2(math.e)), (0.01, 1.0)]
)  # base 2 where exponentials are safe
def test_tiles_cover_every_pair_once(tile, temperature, unit):
    w = embeddings(13, D, 0).detach()
    seen, products = torch.zeros(13, 13), torch.zeros(13, 13, dtype=torch.float64)
    for rows, columns, scores, spare in pairwise.Tiles(w, temperature):
        assert scores.shape == spare.shape and len(scores) <= tile[0]
        assert scores.shape[1] <= (tile[0] if rows == columns else tile[1])
        seen[rows, columns] += 1
        products[rows, columns] = scores
        if rows != columns:
            seen[columns, rows] += 1
            products[columns, rows] = scores.t()
    assert torch.all(seen == 1)
    torch.testing.assert_close(products, (w @ w.t() * unit / temperature).fill_diagonal_(-math.inf))


@pytest.mark.parametrize("temperature", [0.01, 0.5])
def test_memory_is_linear_and_nothing_waits_for_the_device(temperature, monkeypatch):
    n, d = 3000, 16
    for name in ("_CPU_TILE", "_ONEDNN_TILE"):
        monkeypatch.setattr(pairwise, name, (200, 500))
    objective = AllPairs(temperature, projector=8)
    objective.prepare(n, d, source_of(0))
    z1, z2 = (torch.randn(n, d, generator=source_of(seed)).requires_grad_() for seed in (0, 1))
    with Watch() as watch:
        objective(z1, z2, source_of(0)).total.backward()
    assert 2 * n * d <= watch.numbers <= max(2 * n * d, 2 * 200 * 500) < n * n / 10
    assert "addmm_" in watch.names and not watch.names & {"_local_scalar_dense", "nonzero", "masked_select"}


def test_inputs_are_not_modified_and_need_no_gradients():
    objective = prepared(6)
    z1, z2 = (embeddings(6, D, seed).detach() for seed in (0, 1))
    before = z1.clone(), z2.clone()
    total = objective(z1, z2, source_of(0)).total
    assert not total.requires_grad
    assert torch.equal(z1, before[0]) and torch.equal(z2, before[1])
    strided = [z.t().contiguous().t().requires_grad_() for z in (z1, z2)]
    torch.testing.assert_close(objective(*strided, source_of(0)).total.detach(), total)


def test_forward_draws_nothing_and_changes_nothing():
    objective, source = prepared(6, projector=5), source_of(3)
    before = {name: value.clone() for name, value in objective.state_dict().items()}
    z1, z2 = embeddings(6, D, 0), embeddings(6, D, 1)
    values = [objective(z1, z2, source).total.item() for _ in range(2)]
    assert values[0] == values[1] and torch.equal(source.get_state(), source_of(3).get_state())
    assert all(torch.equal(value, before[name]) for name, value in objective.state_dict().items())


def test_the_projector_is_drawn_from_the_given_generator_only():
    outside = torch.get_rng_state()
    one, same, other = (prepared(6, projector=5, seed=seed).state_dict() for seed in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), outside)
    assert [tuple(value.shape) for value in one.values()] == [(5, D), (5,), (D, 5), (D,)]
    assert all(torch.equal(one[name], same[name]) and not torch.equal(one[name], other[name]) for name in one)
    assert not prepared(6).state_dict()


def test_preparing_again_resets_the_objective():
    objective = prepared(6, projector=5)
    objective.prepare(9, 3, source_of(0))
    assert objective.chance() == pytest.approx(math.log(17))
    assert objective.projector[0].in_features == objective.projector[2].out_features == 3


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"temperature": 0.0}, "the temperature is 0.0: expected a positive number"),
        ({"projector": 0}, "the width of the projector is 0: expected at least 1, or None for none"),
        ({"precision": "half"}, "unknown precision 'half'"),
    ],
)
def test_bad_input(arguments, sentence):
    with pytest.raises(SignnapError, match=sentence):
        AllPairs(**arguments)


def test_before_the_graph_is_known():
    z = embeddings(6, D, 0)
    assert AllPairs().chance() is None
    with pytest.raises(SignnapError, match="this AllPairs knows no graph yet: call prepare first"):
        AllPairs(projector=5)(z, z, source_of(0))


# -- as a part of SIGNNAP --------------------------------------------------------------------------------------------


def fit(graph, out=None, *, projector=6, iterations=4, seed=0, **options):
    model = SIGNNAP(objective=AllPairs(0.5, projector), dim=8, iterations=iterations, seed=seed, lr=0.01)
    return model.fit(graph, out=out, **options)


def test_a_fit_is_determined_by_its_seed(small_graph):
    z = fit(small_graph).transform(small_graph)
    assert z.shape == (40, 8) and np.isfinite(z).all()
    torch.manual_seed(5)  # the global random state does not matter
    assert np.array_equal(fit(small_graph).transform(small_graph), z)
    assert not np.array_equal(fit(small_graph, seed=1).transform(small_graph), z)


def test_training_beats_chance(small_graph):
    numbers = fit(small_graph, projector=None, iterations=60).outcome_.numbers
    assert numbers["loss"] < 0.9 * math.log(79)
    assert numbers["loss"] == pytest.approx((numbers["loss_1"] + numbers["loss_2"]) / 2, rel=1e-5)
    assert numbers["mutual_information_bound"] == pytest.approx(math.log(40) - numbers["loss"], rel=1e-5)


def test_the_projector_is_trained_saved_and_resumed(small_graph, tmp_path):
    def projector(folder):
        modules = torch.load(folder / "state.pt", weights_only=True)["modules"]
        return {name: value for name, value in modules.items() if name.startswith("objective.")}

    fit(small_graph, tmp_path / "run")
    short = projector(tmp_path / "run")
    assert set(short) == {f"objective.projector.{layer}.{part}" for layer in (0, 2) for part in ("weight", "bias")}
    longer = fit(small_graph, tmp_path / "run", iterations=9, resume=True)
    whole = fit(small_graph, tmp_path / "whole", iterations=9)
    resumed, straight = projector(tmp_path / "run"), projector(tmp_path / "whole")
    assert all(torch.equal(resumed[name], straight[name]) for name in short)
    assert all(not torch.equal(resumed[name], short[name]) for name in short)
    assert np.array_equal(longer.transform(small_graph), whole.transform(small_graph))


@pytest.mark.parametrize("temperature", [1 / 59, 1 / 61, 1 / 100, 1 / 500])
def test_low_temperatures_in_float32(temperature):
    """exp(100) overflows float32."""
    objective = AllPairs(temperature)
    objective.prepare(50, 8, source_of(0))
    z1, z2 = (embeddings(50, 8, seed).detach().float() for seed in (2, 3))
    z2[:25] = z1[:25]  # equal rows
    found = objective(z1.requires_grad_(), z2.requires_grad_(), source_of(1)).total
    wanted = (half(z1.double(), z2.double(), temperature) + half(z2.double(), z1.double(), temperature)) / 2
    assert found.item() == pytest.approx(wanted.item(), rel=1e-4)
    found.backward()
    assert z1.grad.isfinite().all() and z2.grad.isfinite().all()
