"""Skip-gram on whole walks against a loop over all pairs."""

import math
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import logsigmoid

from dense import source_of
from signnap.objectives.skipgram import SHARED, SkipGram, window_weights


def objective_of(visits, dim=3, length=6, window=2, negatives=5, seed=0):
    """A float64 objective with random context vectors."""
    found = SkipGram(torch.as_tensor(visits), dim, length, window, negatives).double()
    found.context.data = torch.randn(found.context.shape, generator=source_of(seed), dtype=torch.float64)
    return found


def table_of(nodes, dim=3, seed=1):
    return torch.randn(nodes, dim, generator=source_of(seed), dtype=torch.float64, requires_grad=True)


def walks_of(nodes, count, length, seed=2):
    """Walks over a complete graph, so that consecutive nodes differ."""
    steps = torch.randint(1, nodes, (count, length), generator=source_of(seed))
    return steps.cumsum(dim=1) % nodes


def pair_by_pair(z, context, walks, drawn, window, negatives):
    """Both parts of the loss, averaged over pairs; a pair weighs the probability that a drawn window contains it."""
    pairs, others, weight = [], [], 0.0
    for walk, own in zip(walks.tolist(), drawn.tolist(), strict=True):
        for i, j in product(range(len(walk)), repeat=2):
            chance = sum(abs(i - j) <= b for b in range(1, window + 1)) / window
            if i == j or not chance or walk[0] == walk[1]:
                continue
            weight += chance
            pairs.append(-chance * logsigmoid(z[walk[i]] @ context[walk[j]]))
            for n in own:
                share = chance * negatives / len(own)
                others.append(-share * logsigmoid(-(z[walk[i]] @ context[n])))
    return sum(pairs) / weight, sum(others) / weight


@settings(max_examples=8)
@given(st.integers(2, 6), st.integers(1, 8), st.integers(1, 7), st.integers(0, 1000))
def test_values_and_gradients_are_those_of_the_pairs(length, window, negatives, seed):
    objective = objective_of(torch.ones(5), length=length, window=window, negatives=negatives, seed=seed)
    z, walks = table_of(5), walks_of(5, 3, length, seed)
    walks[1] = 4  # an isolated node
    drawn = torch.randint(5, (3, 4), generator=source_of(seed)).repeat(1, SHARED // 4)
    found = objective.compare(z, walks, drawn)
    first, second = pair_by_pair(z, objective.context, walks, drawn, window, negatives)
    torch.testing.assert_close((*found.parts.values(), found.total), (first, second, first + second))
    inputs = [z, objective.context]
    ours, twins = (torch.autograd.grad(total, inputs) for total in (found.total, first + second))
    torch.testing.assert_close(ours, twins)


def test_window_weights_are_the_mean_over_window_sizes():
    place = torch.arange(9)
    apart = (place[:, None] - place).abs()
    drawn = [((apart > 0) & (apart <= b)).double() for b in range(1, 5)]
    torch.testing.assert_close(window_weights(9, 4).double(), sum(drawn) / 4)


def test_shared_negatives_have_the_expected_cost_of_separate_ones():
    visits = torch.tensor([1.0] * 8 + [16.0] * 7)  # to the power of ¾: 1 and 8, which add up to 64
    every = torch.repeat_interleave(torch.arange(15), visits.pow(0.75).round().long()).repeat(SHARED // 64)
    assert len(every) == SHARED
    objective, z, walks = objective_of(visits), table_of(15), walks_of(15, 2, 6)
    found = objective.compare(z, walks, every.expand(2, -1)).parts["loss_2"]
    scores = -logsigmoid(-(z @ objective.context.t())) @ (visits.pow(0.75) / visits.pow(0.75).sum()).double()
    pairs = window_weights(6, 2).sum(dim=1).double()
    torch.testing.assert_close(found, 5 * (pairs * scores[walks]).sum() / (2 * pairs.sum()))


def test_negatives_are_drawn_by_visits_to_the_power_of_three_quarters():
    visits = torch.tensor([0.0, 3.0, 1.0, 50.0, 0.5])
    objective = objective_of(visits)
    drawn = objective.draw_negatives(2000, source_of(0))
    assert drawn.shape == (2000, SHARED)
    found = np.bincount(drawn.flatten(), minlength=5) / drawn.numel()
    wanted = visits.double().pow(0.75)
    np.testing.assert_allclose(found, wanted / wanted.sum(), atol=5 * 0.5 / math.sqrt(drawn.numel()))
    assert found[0] == 0


def test_forward_draws_from_the_generator():
    objective, z, walks = objective_of(torch.ones(5)), table_of(5), walks_of(5, 3, 6)
    drawn = objective.draw_negatives(3, source_of(4))
    torch.testing.assert_close(objective(z, walks, source_of(4)).total, objective.compare(z, walks, drawn).total)
    assert objective(z, walks, source_of(5)).total != objective(z, walks, source_of(4)).total


def test_walks_of_isolated_nodes_give_no_gradient():
    objective, z = objective_of(torch.ones(5)), table_of(5)
    alone = torch.arange(5)[:, None].expand(-1, 6)
    found = objective(z, alone, source_of(0)).total
    assert found.item() == 0
    for gradient in torch.autograd.grad(found, [z, objective.context]):
        assert not gradient.any()


def test_the_initial_loss_is_at_chance():
    objective = SkipGram(torch.ones(5), 3, 6, 2, 5)
    assert objective(table_of(5).float(), walks_of(5, 3, 6), source_of(0)).total.item() == pytest.approx(
        objective.chance(), rel=1e-5
    )
    assert objective.chance() == pytest.approx(6 * math.log(2))


def test_huge_scores_stay_finite_and_keep_their_gradients():
    objective = SkipGram(torch.ones(2), 1, 2, 1, 1)
    objective.context.data.fill_(100.0)
    z = torch.tensor([[100.0], [-100.0]], requires_grad=True)
    found = objective(z, torch.tensor([[0, 1]]), source_of(0))
    assert found.total.isfinite()
    # Node 0 predicts its neighbour and fails on every negative; node 1 does the opposite.
    gradient = torch.autograd.grad(found.total, z)[0]
    torch.testing.assert_close(gradient, torch.tensor([[50.0], [-50.0]]))
