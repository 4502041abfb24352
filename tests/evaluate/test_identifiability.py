"""Identifiability against a loop over nodes, with ties and collapse."""

import json
from dataclasses import asdict

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st

from signnap import identifiability
from signnap.errors import SignnapError
from signnap.graph import SparseFeatures
from signnap.ops.geometry import effective_rank, uniformity


def source(seed=0):
    return torch.Generator().manual_seed(seed)


def pair(n=20, d=4, noise=0.5, seed=0):
    draws = source(seed)
    z = torch.randn(n, d, generator=draws)
    return tuple(z + noise * torch.randn(n, d, generator=draws) for _ in range(2))


def slow_identifiability(z1, z2):
    a, b = z1.double().numpy(), z2.double().numpy()
    n = len(a)
    cosine = lambda x, y: x @ y / (np.linalg.norm(x) * np.linalg.norm(y))
    recognised, margins = [], []
    for here, there in ((a, b), (b, a)):
        for i in range(n):
            best = max(cosine(here[i], there[j]) for j in range(n) if j != i)
            margins.append(cosine(here[i], there[i]) - best)
            recognised.append(margins[-1] > 0)
    distinct = np.mean([cosine(a[i], b[j]) for i in range(n) for j in range(n) if i != j])
    return {"mean": np.mean(recognised), "margin": np.mean(margins), "separation": 1 - distinct}


@given(n=st.integers(2, 12), d=st.integers(1, 5), noise=st.sampled_from([0.1, 1.0, 5.0]), seed=st.integers(0, 50))
def test_slow_twin(n, d, noise, seed):
    z1, z2 = pair(n, max(2, d), noise, seed)
    found = asdict(identifiability(z1, z2, source()))
    slow = slow_identifiability(z1, z2)
    assert {key: found[key] for key in slow} == pytest.approx(slow)
    assert found["effective_rank"] == pytest.approx((effective_rank(z1) + effective_rank(z2)) / 2)
    assert found["uniformity"] == pytest.approx((uniformity(z1) + uniformity(z2)) / 2, abs=1e-5)
    assert found["nodes"] == n


def test_closed_form_of_orthogonal_nodes():
    found = identifiability(torch.eye(5), 3 * torch.eye(5), source())
    assert (found.mean, found.margin, found.separation) == (1, pytest.approx(1), pytest.approx(1))
    assert found.effective_rank == pytest.approx(4, abs=1e-4) and found.uniformity == pytest.approx(-4)


def test_ties_are_not_recognised():
    twins = torch.eye(3).repeat_interleave(2, dim=0)
    assert identifiability(twins, twins, source()).mean == 0
    one_twin = torch.cat([torch.eye(3), torch.eye(3)[:1]])
    assert identifiability(one_twin, one_twin, source()).mean == pytest.approx(0.5)


@pytest.mark.parametrize("value", [0.0, 0.1, 7.3])
def test_collapse_is_recognised_as_such(value):
    z = torch.full((300, 37), value)
    found = identifiability(z, z, source())
    assert found.mean == 0
    assert found.margin == pytest.approx(0, abs=1e-9) and found.separation == pytest.approx(0, abs=1e-9)
    assert found.effective_rank == 0 and found.uniformity == pytest.approx(0, abs=1e-6)


def test_rounding_does_not_identify():
    rows = torch.full((200, 16), 0.3) * (1 + 1e-7 * torch.randn(200, 16, generator=source(1)))
    assert identifiability(rows, rows, source()).mean == 0


def test_both_directions_count():
    z1 = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    z2 = torch.tensor([[1.0, 0.0], [1.0, 0.0]])  # node 1 now equals node 0
    assert identifiability(z1, z2, source()).mean == identifiability(z2, z1, source()).mean == 0.25


def test_rotation_scale_and_order_of_nodes_change_nothing():
    z1, z2 = (z.double() for z in pair())
    turn = torch.linalg.qr(torch.randn(4, 4, generator=source(1)).double())[0]
    order = torch.randperm(20, generator=source(2))
    before = asdict(identifiability(z1, z2, source()))
    for change in (lambda z: z @ turn, lambda z: 1e-3 * z, lambda z: z[order]):
        assert asdict(identifiability(change(z1), change(z2), source())) == pytest.approx(before)
    assert asdict(identifiability(z2, z1, source())) == pytest.approx(before)


def test_more_noise_is_less_identifiable():
    quiet, loud = identifiability(*pair(200, noise=0.05), source()), identifiability(*pair(200, noise=3.0), source())
    assert quiet.mean > 0.5 > loud.mean and quiet.margin > loud.margin


def test_the_sample_comes_from_the_generator():
    z1, z2 = pair(500, 16)
    draw = lambda seed: identifiability(z1, z2, source(seed), sample=50)
    assert draw(0) == draw(0) and draw(0) != draw(1) and draw(0).nodes == 50
    fewer, more = draw(0), identifiability(z1, z2, source())
    assert fewer.separation == pytest.approx(more.separation, abs=0.05)


def test_sparse_copies_equal_dense_ones():
    copies = [z * (z > 0) for z in pair()]
    sparse = [SparseFeatures.from_scipy(sp.csr_matrix(z.numpy())) for z in copies]
    assert identifiability(*sparse, source()) == identifiability(*copies, source())


def test_one_node_and_plain_json():
    single = identifiability(torch.ones(1, 3), torch.ones(1, 3), source())
    assert (single.mean, single.margin, single.separation, single.nodes) == (None, None, None, 1)
    for found in (single, identifiability(*pair(), source())):
        assert json.loads(json.dumps(asdict(found), allow_nan=False)) == asdict(found)


def test_bad_input():
    z1, z2 = pair()
    with pytest.raises(SignnapError, match=r"\(20, 4\) and \(19, 4\)"):
        identifiability(z1, z2[:-1], source())
    with pytest.raises(SignnapError, match="asked of no nodes"):
        identifiability(z1, z2, source(), sample=0)
    z2[3, 0] = torch.nan
    with pytest.raises(SignnapError, match="node 3 in the second copy holds NaN or infinity: expected finite numbers"):
        identifiability(z1, z2, source())


def test_arrays_of_numpy_are_judged_as_tensors_are():
    z1, z2 = pair()
    assert identifiability(z1.numpy(), z2.numpy(), source()) == identifiability(z1, z2, source())
