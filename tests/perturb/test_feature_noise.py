"""Noise on features and masked columns, for every kind of features."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.stats
import torch

import signnap.graph.feature_types
from dense import agree, source_of
from signnap import FeatureNoise, MaskFeatures
from signnap.errors import SignnapError
from signnap.graph import Graph, SparseFeatures, StreamedFeatures, as_dense, multiply
from signnap.perturb.feature_noise import NOISES

LAWS = {
    "gaussian": (scipy.stats.norm(), 0.0, 1.0),
    "laplace": (scipy.stats.laplace(), 0.0, 2.0),
    "uniform": (scipy.stats.uniform(), 0.5, 1 / 12),
}


def view_of_words(nodes=200, words=60, density=0.1, seed=0):
    """A view with sparse features (density below a quarter) or dense ones."""
    rng = np.random.default_rng(seed)
    x = rng.random((nodes, words)) * (rng.random((nodes, words)) < density)
    view = Graph.from_edges([0], [1], sp.csr_matrix(x)).view(normalize=False)
    assert isinstance(view.x, SparseFeatures) == (density <= 0.25)
    return view


def test_the_laws_tested_here_are_all_there_are():
    assert set(LAWS) == set(NOISES)


@pytest.mark.parametrize("density", [0.1, 0.9])
@pytest.mark.parametrize("kind", LAWS)
def test_noise_follows_its_law_on_every_entry(kind, density):
    view, (law, mean, variance) = view_of_words(500, 100, density), LAWS[kind]
    after = as_dense(FeatureNoise(kind, 0.1)(view, source_of(1)).x)
    noise = ((after - as_dense(view.x)) / 0.1).double().numpy().ravel()
    assert noise.mean() == pytest.approx(mean, abs=5 * math.sqrt(variance / noise.size))
    assert noise.var() == pytest.approx(variance, rel=0.05)
    assert scipy.stats.kstest(noise, law.cdf).pvalue > 1e-3
    assert np.isfinite(noise).all()


def test_noise_has_no_pattern_between_rows_or_chunks(monkeypatch):
    monkeypatch.setattr(signnap.graph.feature_types, "_CHUNK_ELEMENTS", 60 * 10)
    noise = as_dense(FeatureNoise("gaussian", 1.0)(view_of_words(density=0.0), source_of(2)).x)
    correlation = torch.corrcoef(noise) - torch.eye(200)
    assert correlation.abs().max() < 6 / math.sqrt(60)


@pytest.mark.parametrize("kind", LAWS)
def test_noise_on_sparse_features_is_its_own_dense_form(kind, monkeypatch):
    monkeypatch.setattr(signnap.graph.feature_types, "_CHUNK_ELEMENTS", 60 * 17)
    x = FeatureNoise(kind, 0.5)(view_of_words(), source_of(1)).x
    assert isinstance(x, StreamedFeatures)
    dense = as_dense(x)
    assert torch.equal(as_dense(x), dense)
    weight = torch.randn(60, 3, generator=source_of(2)).requires_grad_()
    agree(multiply(x, weight), dense @ weight, [weight], atol=1e-4, rtol=1e-4)


def test_noise_on_sparse_features_never_makes_the_whole_matrix(monkeypatch):
    monkeypatch.setattr(signnap.graph.feature_types, "_CHUNK_ELEMENTS", 60 * 17)
    shapes = []
    draw = NOISES["gaussian"]
    monkeypatch.setitem(NOISES, "gaussian", lambda shape, *rest: shapes.append(tuple(shape)) or draw(shape, *rest))
    x = FeatureNoise("gaussian")(view_of_words(), source_of(0)).x
    assert shapes == []
    multiply(x, torch.ones(60, 2, requires_grad=True)).sum().backward()
    assert shapes == 2 * ([(17, 60)] * 11 + [(13, 60)])


@pytest.mark.parametrize("density", [0.1, 0.9])
def test_masked_columns_are_zero_for_all_nodes_and_the_others_untouched(density):
    view = view_of_words(50, 400, density)
    before, after = as_dense(view.x), as_dense(MaskFeatures(0.3)(view, source_of(4)).x)
    gone = (after == 0).all(dim=0) & (before != 0).any(dim=0)
    assert gone.sum().item() == pytest.approx(0.3 * 400, abs=5 * math.sqrt(0.21 * 400))
    assert torch.equal(after[:, ~gone], before[:, ~gone])


def test_dense_and_sparse_features_lose_the_same_columns():
    view = view_of_words()
    dense = view.with_features(as_dense(view.x))
    sparse_after, dense_after = (MaskFeatures(0.5)(v, source_of(5)).x for v in (view, dense))
    assert torch.equal(as_dense(sparse_after), as_dense(dense_after))


def test_masking_after_noise_leaves_clean_columns():
    noisy = FeatureNoise("uniform", 1.0)(view_of_words(), source_of(6))
    after = as_dense(MaskFeatures(0.5)(noisy, source_of(7)).x)
    gone = (after == 0).all(dim=0)
    assert 15 < gone.sum() < 45
    assert torch.equal(after[:, ~gone], as_dense(noisy.x)[:, ~gone])


def test_noise_on_noise_is_new_noise():
    view = view_of_words(density=0.0)
    once = FeatureNoise("gaussian", 1.0)(view, source_of(8))
    second = as_dense(FeatureNoise("gaussian", 1.0)(once, source_of(9)).x) - as_dense(once.x)
    assert second.var().item() == pytest.approx(1, rel=0.1)
    assert abs(torch.corrcoef(torch.stack([second.ravel(), as_dense(once.x).ravel()]))[0, 1]) < 0.05


def test_nothing_to_do():
    view = view_of_words()
    assert FeatureNoise("gaussian", 0.0)(view, source_of(0)) is view
    assert MaskFeatures(0.0)(view, source_of(0)) is view
    assert torch.all(as_dense(MaskFeatures(1.0)(view, source_of(0)).x) == 0)


def test_bad_input():
    with pytest.raises(SignnapError, match="unknown noise 'gausian', did you mean 'gaussian'"):
        FeatureNoise("gausian")
    for scale in (-1, math.inf, math.nan):
        with pytest.raises(SignnapError, match=f"the noise scale is {scale}: expected a finite number of at least 0"):
            FeatureNoise("gaussian", scale)
    with pytest.raises(SignnapError, match="the share of masked features is 2: expected a number from 0 to 1"):
        MaskFeatures(2)


@pytest.mark.parametrize("density", [0.1, 0.9])
def test_every_draw_has_noise_of_its_own(density):
    view, source = view_of_words(density=density), source_of(3)
    drawn = [as_dense(FeatureNoise("gaussian", 1.0)(view, source).x) - as_dense(view.x) for _ in range(2)]
    assert abs(torch.corrcoef(torch.stack([noise.ravel() for noise in drawn]))[0, 1]) < 0.05
