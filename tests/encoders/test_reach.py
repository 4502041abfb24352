"""The encoder of steady, against its formula on dense matrices."""

import pytest
import torch
from torch.nn.functional import normalize

from dense import asymmetric_view, matrix, permuted, source_of
from signnap.encoders.diffusion import DiffusedDirections
from signnap.encoders.reach import Reaches


def encoder_of(features=20, dim=16, rank=6, hops=3, alpha=0.2):
    torch.manual_seed(0)
    encoder = Reaches(features, dim, 12, rank, hops, alpha).eval()
    encoder.features.directions.normal_(generator=source_of(1))
    encoder.centre.normal_(std=0.1, generator=source_of(2))
    return encoder


@pytest.fixture
def view():
    return asymmetric_view(nodes=11, features=20, dtype=torch.float32)


def dense_propagation(view):
    kept = (matrix(view.pattern, view.stored) != 0).float()
    kept.fill_diagonal_(1)
    degree = kept.sum(1)
    return kept / (degree[:, None] * degree[None]).sqrt()


def test_spread_is_four_propagations_of_reduced_unit_rows(view):
    encoder, p = encoder_of(), dense_propagation(view)
    reduced = normalize(view.x, dim=1) @ encoder.features.directions
    far = reduced
    for _ in range(3):
        far = 0.8 * p @ far + 0.2 * reduced
    expected = torch.cat([reduced, p @ reduced, p @ p @ reduced, far], dim=1)
    torch.testing.assert_close(encoder.spread(view), expected, atol=1e-5, rtol=1e-5)


def test_every_reader_sees_its_own_reach(view):
    encoder = encoder_of()
    rows = encoder.spread(view)
    for reach, columns in {"near": slice(0, 18), "middle": slice(12, 18), "far": slice(18, 24)}.items():
        other = rows.clone()
        other[:, columns] += 1
        changed = (encoder.read(other) != encoder.read(rows)).any(dim=0).view(3, -1).any(dim=1)
        assert changed[["near", "middle", "far"].index(reach)]
    outside = rows.clone()
    outside[:, :12] += 1  # the node itself and one hop
    changed = (encoder.read(outside) != encoder.read(rows)).any(dim=0).view(3, -1).any(dim=1)
    assert changed.tolist() == [True, False, False]


def test_embedding_joins_centres_and_smooths_unit_blocks(view):
    encoder, p = encoder_of(), dense_propagation(view)
    rows = encoder.spread(view)
    blocks = [normalize(block, dim=1) / 3**0.5 for block in encoder.read(rows).split(4, dim=1)]
    joined = torch.cat([*blocks, normalize(rows[:, 18:22], dim=1)], dim=1)
    z = normalize(joined - encoder.centre, dim=1)
    smooth = z
    for _ in range(3):
        smooth = 0.7 * p @ smooth + 0.3 * z
    torch.testing.assert_close(encoder(view), normalize(z + normalize(smooth, dim=1), dim=1), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(encoder(view).norm(dim=1), torch.ones(11))


def test_fitting_brings_coordinates_half_way_to_equal_variance(view):
    encoder = encoder_of()
    encoder.fit_features(view, source_of(3))
    rows = encoder.spread(view)
    scaled = (rows - encoder.shift) * encoder.scale
    torch.testing.assert_close(scaled.mean(dim=0), torch.zeros(24), atol=1e-5, rtol=0)
    for reach in range(4):
        before, after = (part[:, 6 * reach : 6 * reach + 6].std(dim=0) for part in (rows, scaled))
        torch.testing.assert_close(after / after[0], (before / before[0]).sqrt())


def test_constant_features_stay_finite(view):
    encoder = encoder_of()
    constant = view.with_features(torch.ones_like(view.x))
    encoder.fit_features(constant, source_of(3))
    assert torch.isfinite(encoder(constant)).all()


def test_observing_moves_the_centre_to_the_mean_of_the_blocks(view):
    encoder = encoder_of()
    rows = encoder.spread(view)
    for _ in range(400):
        encoder.observe(rows, encoder.read(rows))
    torch.testing.assert_close(encoder.centre, encoder.joined(rows, encoder.read(rows)).mean(dim=0), atol=1e-3, rtol=0)


@pytest.mark.parametrize("make", [encoder_of, lambda: DiffusedDirections(20, 5)])
def test_renumbered_nodes_have_the_same_embeddings(view, make):
    encoder = make()
    if isinstance(encoder, DiffusedDirections):
        encoder.fit_directions(view, source_of(0))
    order = torch.randperm(11, generator=source_of(4))
    torch.testing.assert_close(encoder(permuted(view, order)), encoder(view)[order], atol=1e-5, rtol=1e-5)
