"""Products with noise that is never written, against the same noise written down; and that against its law."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.stats
import torch

from dense import agree, source_of
from signnap.graph import Graph, NoisyFeatures, SparseFeatures, as_dense, multiply
from signnap.graph import feature_types as streamed
from signnap.ops.triton.random_kernels import noise_rows, noise_times, noise_transposed_times
from signnap.perturb import FeatureNoise, MaskFeatures, features
from signnap.perturb.features import NOISES

LAWS = {"gaussian": scipy.stats.norm, "laplace": scipy.stats.laplace, "uniform": scipy.stats.uniform}
#: rows, columns of the noise, columns of the other matrix: tiles that are full, cut, and hardly there
SHAPES = [(64, 128, 16), (70, 150, 5), (1, 1, 1), (300, 33, 130)]


def seed_on(device, number=2**61 + 17):
    return torch.tensor(number, device=device)


@pytest.mark.parametrize("kind", NOISES)
def test_noise_follows_its_law(device, kind):
    noise = noise_rows(seed_on(device), kind, 0, 300, 200).cpu().double().numpy()
    assert scipy.stats.kstest(noise.ravel()[::3], LAWS[kind]().cdf).pvalue > 1e-3
    for lines in (noise, noise.T):
        correlation = np.corrcoef(lines) - np.eye(len(lines))
        assert np.abs(correlation).max() < 6 / math.sqrt(lines.shape[1])


def test_noise_is_a_function_of_seed_row_and_column(device):
    whole = noise_rows(seed_on(device), "gaussian", 0, 150, 140)
    assert torch.equal(noise_rows(seed_on(device), "gaussian", 67, 149, 140), whole[67:149])
    assert torch.equal(noise_rows(seed_on(device), "gaussian", 0, 150, 131), whole[:, :131])
    for other in (3, 2**61 + 18, 17):  # the upper half of the seed counts too
        assert not torch.equal(noise_rows(seed_on(device, other), "gaussian", 0, 150, 140), whole)
    assert len({round(value, 9) for value in whole.ravel().tolist()}) > 0.3 * whole.numel()  # tf32 has few values


@pytest.mark.parametrize("kind", NOISES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_products_are_those_with_the_noise_written_down(device, kind, shape):
    rows, width, dim = shape
    noise = noise_rows(seed_on(device), kind, 0, rows, width).double()
    weight = torch.randn(width, dim, generator=source_of(1)).to(device)
    dense = 1e-6 * torch.randn(rows, dim, generator=source_of(2)).to(device)  # gradients are small
    found, wanted = noise_times(seed_on(device), kind, rows, weight), noise @ weight.double()
    assert torch.allclose(found.double(), wanted, rtol=1e-5, atol=1e-5 * wanted.abs().max().item())
    found, wanted = noise_transposed_times(seed_on(device), kind, width, dense), noise.T @ dense.double()
    assert torch.allclose(found.double(), wanted, rtol=1e-5, atol=1e-5 * wanted.abs().max().item())


def test_long_sums_are_cut_and_added_up(device):
    noise = noise_rows(seed_on(device), "gaussian", 0, 1100, 20).double()
    dense = torch.randn(1100, 3, generator=source_of(3)).to(device)
    found = noise_transposed_times(seed_on(device), "gaussian", 20, dense)
    assert torch.allclose(found.double(), noise.T @ dense.double(), rtol=1e-4, atol=1e-3)
    assert torch.equal(found, noise_transposed_times(seed_on(device), "gaussian", 20, dense))


def test_strided_matrices(device):
    weight = torch.randn(9, 40, generator=source_of(4)).to(device).t()
    found = noise_times(seed_on(device), "uniform", 33, weight)
    assert torch.equal(found, noise_times(seed_on(device), "uniform", 33, weight.contiguous()))


@pytest.fixture
def noisy_view(device, monkeypatch):
    """A view whose sparse features were given noise by the kernels; in the interpreter too."""
    monkeypatch.setattr(features, "usable", lambda *tensors: True)
    monkeypatch.setattr(streamed, "usable", lambda *tensors: True)
    words = sp.random(50, 70, 0.1, format="csr", random_state=0)
    view = Graph.from_edges([0], [1], words).to(device).view(normalize=False)
    assert isinstance(view.x, SparseFeatures)
    return view, FeatureNoise("laplace", 0.5)(view, torch.Generator(device).manual_seed(0))


def test_noisy_features_are_their_own_dense_form(noisy_view, device):
    plain, view = noisy_view
    assert isinstance(view.x, NoisyFeatures)
    dense = as_dense(view.x)
    assert 0.8 < ((dense - as_dense(plain.x)) / 0.5).var().item() / 2 < 1.2
    weight = torch.randn(70, 3, generator=source_of(5)).to(device).requires_grad_()
    agree(multiply(view.x, weight), dense @ weight, [weight], atol=1e-4, rtol=1e-4)


def test_what_comes_after_noise(noisy_view, device):
    _, view = noisy_view
    masked = MaskFeatures(0.5)(view, torch.Generator(device).manual_seed(1))
    again = FeatureNoise("uniform", 1.0)(masked, torch.Generator(device).manual_seed(2))
    dense, gone = as_dense(masked.x), (as_dense(masked.x) == 0).all(dim=0)
    assert 15 < gone.sum() < 55 and torch.equal(dense[:, ~gone], as_dense(view.x)[:, ~gone])
    added = as_dense(again.x) - dense
    assert added.min() >= 0 and added.max() <= 1.0001 and added.mean().item() == pytest.approx(0.5, abs=0.05)
    weight = torch.randn(70, 3, generator=source_of(6)).to(device).requires_grad_()
    agree(multiply(again.x, weight), as_dense(again.x) @ weight, [weight], atol=1e-4, rtol=1e-4)
