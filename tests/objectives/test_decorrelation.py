"""Barlow Twins and CCA against their formulas, computed column by column, and their invariants."""

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from dense import agree, source_of
from gathered import embeddings
from signnap import CCA, SIGNNAP, BarlowTwins
from signnap.errors import SignnapError
from signnap.objectives.decorrelation import standardised
from signnap.train.health import Collapsed, Health
from signnap.train.loop import iterate
from signnap.train.run import Run
from signnap.train.run_folder import RunFolder

OBJECTIVES = {"barlow": BarlowTwins(), "cca": CCA(), "cca, strict": CCA(0.7), "cca, free": CCA(0.0)}
objectives = pytest.mark.parametrize("objective", OBJECTIVES.values(), ids=OBJECTIVES)


def total(objective, z1, z2):
    return objective(z1, z2, source_of(0)).total


def gradients(objective, z1, z2):
    z1, z2 = (z.detach().clone().requires_grad_() for z in (z1, z2))
    return torch.autograd.grad(total(objective, z1, z2), (z1, z2))


def random(n, d, seed, dtype=torch.float64):
    return torch.randn(n, d, generator=source_of(seed), dtype=torch.float64).to(dtype)


def white():
    """Eight nodes, seven columns of ±1 that sum to 0 and are orthogonal: exactly white, without rounding."""
    two = torch.tensor([[1.0, 1.0], [1.0, -1.0]], dtype=torch.float64)
    return torch.kron(two, torch.kron(two, two))[:, 1:].contiguous()


# -- the formulas ----------------------------------------------------------------------------------------------------


def slow_correlations(a, b):
    def standard(column):
        return (column - column.mean()) / column.std(unbiased=False)

    pairs = [[(standard(x) * standard(y)).mean() for y in b.unbind(1)] for x in a.unbind(1)]
    return torch.stack([torch.stack(row) for row in pairs])


def slow_barlow(z1, z2):
    c, d = slow_correlations(z1, z2), z1.shape[1]
    first = sum((1 - c[i, i]) ** 2 for i in range(d))
    second = sum((c[i, j] ** 2 for i, j in itertools.permutations(range(d), 2)), 0 * c.sum()) / d
    return first, second


def slow_cca(z1, z2, weight):
    c, eye = slow_correlations(z1, z2), torch.eye(z1.shape[1], dtype=z1.dtype)
    first = -c.trace()
    second = weight * sum(torch.linalg.matrix_norm(eye - slow_correlations(z, z)) ** 2 for z in (z1, z2))
    return first, second


def slow(objective, z1, z2):
    return slow_barlow(z1, z2) if isinstance(objective, BarlowTwins) else slow_cca(z1, z2, objective.weight)


@objectives
@pytest.mark.parametrize(("n", "d"), [(13, 4), (40, 8), (5, 9), (3, 1)])
def test_values_and_gradients_are_those_of_the_formula(objective, n, d):
    z1 = embeddings(n, d, 1)
    z2 = (0.8 * z1 + embeddings(n, d, 2) + 3).detach().requires_grad_()
    terms = objective(z1, z2, source_of(0))
    first, second = slow(objective, z1, z2)
    agree(terms.parts["loss_1"], first, [z1, z2])
    agree(terms.parts["loss_2"], second, [z1, z2])
    agree(terms.total, first + second, [z1, z2])


@objectives
def test_the_formula_in_float32_far_from_zero(objective):
    z1 = random(200, 6, 1) + 30
    z2 = (z1 + random(200, 6, 2)).float().requires_grad_()
    z1 = z1.float().requires_grad_()
    wanted = sum(slow(objective, z1.double(), z2.double()))
    agree(total(objective, z1, z2).double(), wanted, [z1, z2], atol=1e-4, rtol=1e-4)


@objectives
def test_objectives_draw_nothing_and_have_no_state(objective):
    z1, z2, source = random(10, 4, 1), random(10, 4, 2), source_of(5)
    inputs, state = (z1.clone(), z2.clone()), source.get_state()
    terms, again = (objective(z1, z2, source) for _ in range(2))
    assert torch.equal(terms.total, again.total) and torch.equal(terms.total, sum(terms.parts.values()))
    assert terms.mutual_information_bound is None and objective.chance() is None
    assert torch.equal(source.get_state(), state) and not objective.state_dict()
    assert torch.equal(z1, inputs[0]) and torch.equal(z2, inputs[1])


@objectives
def test_shift_and_scale_of_columns_do_not_matter(objective):
    z1, z2 = random(30, 5, 1), random(30, 5, 2)
    changed = [z * (0.1 + random(1, 5, 3).abs()) + 10 * random(1, 5, seed) for seed, z in enumerate((z1, z2))]
    torch.testing.assert_close(total(objective, *changed), total(objective, z1, z2))
    assert not torch.isclose(total(objective, z1 * random(30, 1, 4), z2), total(objective, z1, z2))


# -- Barlow Twins ----------------------------------------------------------------------------------------------------


def test_barlow_is_0_for_the_same_white_views():
    assert total(BarlowTwins(), white(), 3 * white() - 1).item() == pytest.approx(0, abs=1e-28)
    assert total(BarlowTwins(), white().float(), white().float()).item() == 0


@pytest.mark.parametrize(
    ("other", "wanted"),
    [
        (lambda z: z * torch.tensor([-1, 1, 1, 1, 1, 1, 1]), 4),  # C_00 = −1
        (lambda z: z[:, [1, 0, 2, 3, 4, 5, 6]], 2 + 2 / 7),  # two columns exchanged
        (lambda z: z[:, [1, 1, 2, 3, 4, 5, 6]], 1 + 1 / 7),  # one column twice in place of another
        (lambda z: z * torch.tensor([0, 1, 1, 1, 1, 1, 1]), 1),  # a constant column
        (lambda z: 0 * z, 7),
    ],
)
def test_barlow_by_hand(other, wanted):
    assert total(BarlowTwins(), white(), other(white())).item() == pytest.approx(wanted)
    assert total(BarlowTwins(), other(white()), white()).item() == pytest.approx(wanted)


def test_barlow_of_unrelated_views_is_the_number_of_columns():
    assert total(BarlowTwins(), random(20_000, 16, 1), random(20_000, 16, 2)).item() == pytest.approx(16, abs=0.25)


# -- CCA -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [0.0, 1e-3, 2.0])
def test_cca_of_the_same_white_views_is_minus_the_number_of_columns(weight):
    assert total(CCA(weight), white(), 3 * white() - 1).item() == pytest.approx(-7)
    assert total(CCA(weight), white().float(), white().float()).item() == -7


@pytest.mark.parametrize(
    ("both", "wanted"),
    [
        (lambda z: (z, z * torch.tensor([-1, 1, 1, 1, 1, 1, 1])), (-5, 0)),  # C_00 = −1, both views white
        (lambda z: (z, z[:, [1, 0, 2, 3, 4, 5, 6]]), (-5, 0)),  # C_00 = C_11 = 0
        (lambda z: 2 * (z[:, [1, 1, 2, 3, 4, 5, 6]],), (-7, 4)),  # the same column twice in each view
        (lambda z: (z, z * torch.tensor([0, 1, 1, 1, 1, 1, 1])), (-6, 1)),  # a constant column in one view
        (lambda z: (0 * z, 0 * z), (0, 14)),
    ],
)
def test_cca_by_hand(both, wanted):
    terms = CCA(0.5)(*both(white()), source_of(0))
    assert terms.parts["loss_1"].item() == pytest.approx(wanted[0])
    assert terms.parts["loss_2"].item() == pytest.approx(0.5 * wanted[1])


@given(
    n=st.integers(1, 12), d=st.integers(1, 6), seed=st.integers(0, 99), noise=st.sampled_from([0, 1e-3, 1]),
    weight=st.sampled_from([0.0, 1e-3, 1.0]), dead=st.booleans(),
)  # fmt: skip
def test_cca_is_at_least_minus_the_number_of_columns(n, d, seed, noise, weight, dead):
    z1 = random(n, d, seed)
    z1[:, 0] *= not dead
    assert total(CCA(weight), z1, z1 + noise * random(n, d, seed + 100)).item() >= -d - 1e-9


def test_without_weight_columns_are_independent():
    z1, z2 = random(20, 4, 1), random(20, 4, 2)
    others = [z.clone() for z in (z1, z2)]
    for z in others:
        z[:, 1:] = z[:, :1] + 0.1 * z[:, 1:]  # the other columns become almost copies of the first
    free, pulled = ([gradients(CCA(w), *pair)[0][:, 0] for pair in ((z1, z2), others)] for w in (0.0, 1.0))
    torch.testing.assert_close(free[0], free[1])
    assert not torch.allclose(pulled[0], pulled[1])
    assert CCA(0.0)(z1, z2, source_of(0)).parts["loss_2"] == 0


@pytest.mark.parametrize("weight", [-1e-3, math.nan, math.inf])
def test_a_bad_weight(weight):
    with pytest.raises(SignnapError, match=f"the weight of the decorrelation is {weight}: expected a finite number"):
        CCA(weight)


# -- constant columns, few nodes, extreme numbers --------------------------------------------------------------------


@objectives
@pytest.mark.parametrize("value", [0.0, 0.1, -7.7, 1e3, 1e-25])
@pytest.mark.parametrize("views", [(0,), (1,), (0, 1)])
def test_a_constant_column_is_finite_and_gets_no_gradient(objective, value, views):
    pair = [random(50, 5, 1, torch.float32), random(50, 5, 2, torch.float32)]
    for view in views:
        pair[view][:, 2] = value
    terms, found = objective(*pair, source_of(0)), gradients(objective, *pair)
    assert all(number.isfinite() for number in (terms.total, *terms.parts.values()))
    assert all(grad.isfinite().all() for grad in found) and not any(found[view][:, 2].any() for view in views)
    assert all(found[view][:, [0, 1, 3, 4]].any() for view in (0, 1))


@objectives
def test_the_cost_of_a_constant_column(objective):
    rest = [random(50, 4, 1), random(50, 4, 2)]
    pair = [torch.cat([z, torch.full((50, 1), 0.1, dtype=z.dtype)], dim=1) for z in rest]
    terms, without = (objective(*views, source_of(0)) for views in (pair, rest))
    if isinstance(objective, BarlowTwins):
        wanted = without.parts["loss_1"] + 1, without.parts["loss_2"] * 4 / 5
    else:
        wanted = without.parts["loss_1"], without.parts["loss_2"] + 2 * objective.weight
        for found, grad in zip(gradients(objective, *pair), gradients(objective, *rest), strict=True):
            torch.testing.assert_close(found[:, :4], grad)
    torch.testing.assert_close(tuple(terms.parts.values()), wanted)


@pytest.mark.parametrize("n", [3, 1000, 400_000])
def test_columns_that_vary_by_rounding_are_constant(n):
    values = 0.37 * torch.arange(-1, 31)
    assert not standardised(values.expand(n, 32).contiguous()).any()
    last_digit = torch.nextafter(values, torch.tensor(math.inf))
    assert not standardised(torch.where(torch.arange(n)[:, None] % 2 == 0, values, last_digit)).any()


@pytest.mark.parametrize("scale", [1e-17, 1e-9, 1.0, 1e9, 1e17])
def test_columns_of_any_size_are_standardised(scale):
    z = standardised(scale * random(100, 4, 1, torch.float32) + scale)
    assert torch.allclose(z.mean(dim=0), torch.zeros(4), atol=1e-6)
    assert torch.allclose(z.std(dim=0, unbiased=False), torch.ones(4))


@objectives
@pytest.mark.parametrize("nodes", [1, 2, 10])
@pytest.mark.parametrize("scale", [0.0, 1e-30, 1e-19, 1e-6, 1.0, 1e15])
def test_losses_are_finite_for_few_nodes_and_any_scale(objective, nodes, scale):
    z1, z2 = (scale * random(nodes, 16, seed, torch.float32) for seed in (1, 2))
    assert total(objective, z1, z2).isfinite()
    assert all(grad.isfinite().all() for grad in gradients(objective, z1, z2))


def test_one_node_has_only_constant_columns():
    z1, z2 = random(1, 5, 1), random(1, 5, 2)
    assert total(BarlowTwins(), z1, z2) == 5 and total(CCA(0.5), z1, z2) == 2 * 0.5 * 5


@objectives
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_nan_and_infinity_give_nan(objective, bad):
    z1, z2 = random(10, 4, 1), random(10, 4, 2)
    z1[3, 2] = bad
    assert total(objective, z1, z2).isnan()


# -- training --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("objective", [BarlowTwins(), CCA()], ids=["barlow", "cca"])
def test_training_learns_and_is_determined_by_the_seed(objective, small_graph, tmp_path):
    settings = {"objective": objective, "dim": 64}
    model = SIGNNAP(**settings, iterations=60).fit(small_graph, out=tmp_path / "run")
    first, *_, last = RunFolder(tmp_path / "run").read_metrics()
    assert last["loss"] == pytest.approx(last["loss_1"] + last["loss_2"], abs=1e-4)
    assert last["loss_1"] < first["loss_1"] - 30, "the views agree on half of the columns more"
    again, other = (SIGNNAP(**settings, iterations=60, seed=seed).fit(small_graph) for seed in (0, 1))
    assert np.array_equal(model.transform(small_graph), again.transform(small_graph))
    assert not np.array_equal(model.transform(small_graph), other.transform(small_graph))


@pytest.mark.parametrize("dim", [8, 64])
@pytest.mark.parametrize("backbone", ["gcn", "sage"])
@objectives
def test_no_false_alarm_of_collapse(objective, backbone, dim, small_graph):
    model = SIGNNAP(backbone, objective=objective, dim=dim)
    settings = model.settings_for(small_graph.name)
    run, health = Run(model.task(small_graph), settings.lr, settings.weight_decay), Health(objective.chance())
    for iteration, step in enumerate(iterate(run, 60), start=1):
        numbers = {name: float(value) for name, value in step.numbers.items()} | run.task.describe(step, run.encoder)
        assert health.check(iteration, numbers) is None


@objectives
def test_collapse_is_detected(objective, small_graph):
    class Same(nn.Module):
        def __init__(self):
            super().__init__()
            self.point = nn.Parameter(torch.tensor([[0.1, 0.7, -3.0]]))

        def forward(self, x, edge_index):
            return self.point.expand(len(x), 3)

    with pytest.raises(Collapsed, match="all embeddings are the same at iteration 2 "):
        SIGNNAP(Same(), objective=objective, iterations=2).fit(small_graph)
