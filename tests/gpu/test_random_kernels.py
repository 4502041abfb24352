"""Noise and its products against the stored noise, and random subsets against a plain permutation; laws of both."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.stats
import torch

from dense import agree, source_of
from signnap import FeatureNoise, MaskFeatures
from signnap.graph import Graph, NoisyFeatures, SparseFeatures, as_dense, multiply
from signnap.graph import feature_types as streamed
from signnap.ops.triton.random_kernels import KEY_WORDS, noise_rows, noise_times, noise_transposed_times, without_subset
from signnap.perturb import feature_noise
from signnap.perturb.feature_noise import NOISES

LAWS = {"gaussian": scipy.stats.norm, "laplace": scipy.stats.laplace, "uniform": scipy.stats.uniform}
#: rows and columns of the noise, and columns of the other factor: full tiles, cut tiles, and nearly empty tiles
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
    for other in (3, 2**61 + 18, 17):  # the upper half of the seed matters as well
        assert not torch.equal(noise_rows(seed_on(device, other), "gaussian", 0, 150, 140), whole)
    assert len({round(value, 9) for value in whole.ravel().tolist()}) > 0.3 * whole.numel()  # float16 has few values


@pytest.mark.parametrize("kind", NOISES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_products_equal_those_with_stored_noise(device, kind, shape):
    rows, width, dim = shape
    noise = noise_rows(seed_on(device), kind, 0, rows, width).double()
    weight = torch.randn(width, dim, generator=source_of(1)).to(device)
    dense = 1e-6 * torch.randn(rows, dim, generator=source_of(2)).to(device)  # gradients are small
    found, wanted = noise_times(seed_on(device), kind, rows, weight), noise @ weight.double()
    assert torch.allclose(found.double(), wanted, rtol=1e-5, atol=1e-5 * wanted.abs().max().item())
    found, wanted = noise_transposed_times(seed_on(device), kind, width, dense), noise.T @ dense.double()
    assert torch.allclose(found.double(), wanted, rtol=1e-5, atol=1e-5 * wanted.abs().max().item())


def test_long_sums_are_computed_in_parts(device):
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
    """A view before and after kernels (or the interpreter) added noise to its sparse features."""
    monkeypatch.setattr(feature_noise, "usable", lambda *tensors: True)
    monkeypatch.setattr(streamed, "usable", lambda *tensors: True)
    words = sp.random(50, 70, 0.1, format="csr", random_state=0)
    view = Graph.from_edges([0], [1], words).to(device).view(normalize=False)
    assert isinstance(view.x, SparseFeatures)
    return view, FeatureNoise("laplace", 0.5)(view, torch.Generator(device).manual_seed(0))


def test_noisy_features_equal_their_dense_form(noisy_view, device):
    plain, view = noisy_view
    assert isinstance(view.x, NoisyFeatures)
    dense = as_dense(view.x)
    assert 0.8 < ((dense - as_dense(plain.x)) / 0.5).var().item() / 2 < 1.2
    weight = torch.randn(70, 3, generator=source_of(5)).to(device).requires_grad_()
    agree(multiply(view.x, weight), dense @ weight, [weight], atol=1e-4, rtol=1e-4)


def test_changes_after_noise(noisy_view, device):
    _, view = noisy_view
    masked = MaskFeatures(0.5)(view, torch.Generator(device).manual_seed(1))
    again = FeatureNoise("uniform", 1.0)(masked, torch.Generator(device).manual_seed(2))
    dense, gone = as_dense(masked.x), (as_dense(masked.x) == 0).all(dim=0)
    assert 15 < gone.sum() < 55 and torch.equal(dense[:, ~gone], as_dense(view.x)[:, ~gone])
    added = as_dense(again.x) - dense
    assert added.min() >= 0 and added.max() <= 1.0001 and added.mean().item() == pytest.approx(0.5, abs=0.05)
    weight = torch.randn(70, 3, generator=source_of(6)).to(device).requires_grad_()
    agree(multiply(again.x, weight), as_dense(again.x) @ weight, [weight], atol=1e-4, rtol=1e-4)


def random_subset(size, count, key):
    """The chosen entries if every entry has a rank."""
    ranks = torch.arange(size, dtype=torch.int32, device=key.device)
    return without_subset(torch.ones(size, device=key.device), ranks, size, count, key) == 0


def keys(number, seed=0):
    return torch.randint(-(2**63), 2**63 - 1, (number, KEY_WORDS), generator=source_of(seed))


def scrambled(x):
    x = (x ^ (x >> 16)) * np.uint32(0x85EBCA6B)
    x = (x ^ (x >> 13)) * np.uint32(0xC2B2AE35)
    return x ^ (x >> 16)


def permutations(size, words):
    """π under each key, (keys, size): a Feistel network, applied until the result is below the size."""
    bits = max(8, (size - 1).bit_length())
    low, high = np.uint32(2 ** (bits // 2) - 1), np.uint32(2**bits - 2 ** (bits // 2))
    words = words.numpy().astype(np.uint32)
    places = np.tile(np.arange(size, dtype=np.uint32), (len(words), 1))
    walking = np.nonzero(places >= 0)
    while len(walking[0]):
        moved = places[walking]
        for turn in range(KEY_WORDS):
            changing, changed = (low, high) if turn % 2 == 0 else (high, low)
            moved ^= scrambled((moved & changing) ^ words[walking[0], turn]) & changed
        places[walking] = moved
        walking = tuple(axis[moved >= size] for axis in walking)
    return places.astype(np.int64)


SIZES = [2, 3, 7, 100, 1023, 1024, 1025, 3000]


@pytest.mark.parametrize("size", SIZES)
def test_the_subset_is_that_of_the_permutation_and_has_the_exact_size(device, size):
    words = keys(1, seed=size)
    places = permutations(size, words)[0]
    for count in {0, size // 3, size} if size in (100, 1024) else {-(-size // 3)}:
        chosen = random_subset(size, count, words[0].to(device))
        assert chosen.dtype == torch.bool and chosen.shape == (size,) and chosen.device.type == device
        assert int(chosen.sum()) == count
        assert torch.equal(chosen.cpu(), torch.from_numpy(places < count))


def test_keys_may_have_32_bits(device):
    words = keys(1)[0]
    short = torch.from_numpy(words.numpy().astype(np.int32))
    assert torch.equal(random_subset(100, 30, short.to(device)), random_subset(100, 30, words.to(device)))


def test_a_subset_of_nothing_is_empty(device):
    assert random_subset(0, 0, keys(1)[0].to(device)).shape == (0,)


@pytest.mark.parametrize("size", SIZES)
def test_each_key_makes_a_permutation(size):
    places = permutations(size, keys(20))
    assert np.array_equal(np.sort(places, axis=1), np.tile(np.arange(size), (20, 1)))


def test_different_keys_give_different_subsets():
    """Every two subsets of 500 out of 1000 elements differ in 500 elements, ± 5 σ."""
    chosen = permutations(1000, keys(50)) < 500
    for one in range(len(chosen)):
        for other in range(one):
            assert abs((chosen[one] != chosen[other]).sum() - 500) < 5 * math.sqrt(1000 / 4), (one, other)


@pytest.mark.parametrize(("size", "count"), [(2, 1), (3, 1), (4, 2), (5, 2), (7, 3), (100, 30), (130, 65)])
def test_elements_and_pairs_are_chosen_with_equal_probability(size, count):
    """Standard scores over 20,000 keys: none exceeds 5, and their deviation is about 1."""
    draws = 20_000
    chosen = (permutations(size, keys(draws, seed=size)) < count).astype(np.float64)
    single, pair = count / size, count * (count - 1) / (size * (size - 1))
    scores = (chosen.sum(0) - draws * single) / math.sqrt(draws * single * (1 - single))
    assert np.abs(scores).max() < 5
    if count > 1:
        together = (chosen.T @ chosen)[np.triu_indices(size, 1)]
        pairs = (together - draws * pair) / math.sqrt(draws * pair * (1 - pair))
        assert np.abs(pairs).max() < 5
        if size >= 100:
            assert abs(pairs.std() - 1) < 0.2 and abs(scores.std() - 1) < 0.4


def test_choices_of_near_and_far_elements_are_uncorrelated():
    """The correlation over all keys is 0 ± 5 σ, at every distance up to 64 and at powers of two."""
    chosen = permutations(5000, keys(200, seed=5)) < 2500
    centred = chosen - 0.5
    for distance in [*range(1, 65), 128, 256, 512, 1024, 2048, 4096]:
        products = centred[:, distance:] * centred[:, :-distance] * 4
        assert abs(products.mean() * math.sqrt(products.size)) < 5, distance


def test_all_orders_of_four_are_equally_likely():
    """Chi-square over the 24 permutations: 23 degrees of freedom exceed 58 once in ten thousand times."""
    draws = 20_000
    places = permutations(4, keys(draws, seed=4))
    _, counts = np.unique(places @ 4 ** np.arange(4), return_counts=True)
    assert len(counts) == 24
    assert ((counts - draws / 24) ** 2 / (draws / 24)).sum() < 58


@pytest.mark.parametrize(("size", "count"), [(0, 0), (1, 1), (7, 0), (300, 90), (300, 300)])
def test_without_subset_zeroes_exactly_count_ranked_entries(size, count, device):
    places = torch.randperm(size + 20, generator=source_of(size))[:size].sort().values
    stored, ranks = torch.zeros(size + 20), torch.full((size + 20,), -1, dtype=torch.int32)
    stored[places], ranks[places] = torch.arange(1.0, size + 1), torch.arange(size, dtype=torch.int32)
    key = torch.randint(-(2**31), 2**31, (KEY_WORDS,), generator=source_of(count)).to(device)
    found = without_subset(stored.to(device), ranks.to(device), size, count, key).cpu()
    gone = random_subset(size, count, key).cpu()
    assert torch.equal(found[places], torch.where(gone, 0, stored[places]))
    assert int((found == 0).sum()) == 20 + count


def test_strided_entries(device):
    """A user's perturbation may return a column of a matrix."""
    stored, ranks = torch.arange(1.0, 61).view(30, 2), torch.arange(30, dtype=torch.int32)
    key = keys(1)[0].to(device)
    apart, together = (
        without_subset(s.to(device), ranks.to(device), 30, 10, key) for s in (stored[:, 0], stored[:, 0].clone())
    )
    assert torch.equal(apart, together) and int((apart == 0).sum()) == 10
