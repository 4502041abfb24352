"""The task of two views: what is drawn, by whom, and how apart."""

import pytest
import torch

from signnap import SIGNNAP
from signnap.graph import as_dense


@pytest.mark.parametrize("features", [{}, {"noise": "gaussian:1"}, {"mask_features": 0.5}])
def test_the_two_views_are_drawn_apart(features, small_graph, monkeypatch):
    task, seen = SIGNNAP(dim=8, negatives=16, **features).task(small_graph), []
    encode = task.encoder.encode
    monkeypatch.setattr(task.encoder, "encode", lambda views: seen.extend(views) or encode(views))
    task.step()
    one, other = ((view.stored, as_dense(view.x)) for view in seen)
    assert not torch.equal(one[0], other[0])
    assert torch.equal(one[1], other[1]) == (not features)


def test_every_purpose_has_random_numbers_of_its_own(small_graph):
    sources = SIGNNAP(dim=8, negatives=16).task(small_graph).generators
    drawn = {tuple(torch.rand(4, generator=source).tolist()) for source in sources.values()}
    assert len(drawn) == len(sources) == 4


def test_another_seed_begins_with_another_bank(small_graph):
    banks = [SIGNNAP(dim=8, negatives=16, seed=seed).task(small_graph).objective.bank for seed in (0, 1, 1)]
    assert not torch.equal(banks[0].first, banks[1].first) and not torch.equal(banks[0].second, banks[1].second)
    assert torch.equal(banks[1].first, banks[2].first) and torch.equal(banks[1].second, banks[2].second)
