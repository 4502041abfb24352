"""Stability against a loop over nodes and copies, and cases in which cosines mislead."""

import json
from dataclasses import asdict
from itertools import cycle

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st

import signnap.evaluate.properties
from signnap import stability
from signnap.errors import SignnapError
from signnap.evaluate.properties import _per_node
from signnap.graph import SparseFeatures


def noisy_copies(n=25, d=6, *, copies=4, noise=0.5, seed=0, shift=1.0):
    source = torch.Generator().manual_seed(seed)
    z = torch.randn(n, d, generator=source) + shift
    return [z + noise * torch.randn(n, d, generator=source) for _ in range(copies)]


def judge(copies, **options):
    return stability(cycle(copies).__next__, copies=len(copies), **options)


def cosine(a, b):
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))


def slow_stability(copies, nodes):
    stacked = np.stack([z.double().numpy()[nodes] for z in copies])
    centred = stacked - stacked.mean(axis=(0, 1))
    size = len(copies)
    pairs = [(a, b) for a in range(size) for b in range(size) if a != b]

    def own_means(s):
        return np.array([np.mean([cosine(s[a, i], s[b, i]) for a, b in pairs]) for i in range(s.shape[1])])

    cosines = [[np.mean([cosine(x, y) for x, y in zip(a, b, strict=True)]) for b in stacked] for a in stacked]
    own = own_means(stacked)
    return {
        "mean": np.mean([cosines[a][b] for a, b in pairs]),
        "centred": own_means(centred).mean(),
        "matrix": np.array(cosines),
        "q05": np.quantile(own, 0.05),
        "median": np.median(own),
    }


@given(seed=st.integers(0, 50), copies=st.integers(2, 4), chosen=st.booleans(), buffer=st.sampled_from([1, 60, 10**6]))
def test_slow_twin_for_every_chunk_size(seed, copies, chosen, buffer):
    drawn = noisy_copies(n=9, copies=copies, seed=seed)
    nodes = torch.tensor([7, 2, 3]) if chosen else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(signnap.evaluate.properties, "_CHUNK_ELEMENTS", buffer)
        found = judge(drawn, nodes=nodes)
    slow = slow_stability(drawn, np.arange(9) if nodes is None else nodes.numpy())
    assert found.mean == pytest.approx(slow["mean"], abs=1e-5)
    assert found.centred == pytest.approx(slow["centred"], abs=1e-5)
    assert np.allclose(found.matrix, slow["matrix"], atol=1e-5)
    assert found.per_node == {key: pytest.approx(slow[key], abs=1e-5) for key in ("q05", "median")}
    assert (found.copies, found.nodes) == (copies, 3 if chosen else 9)


@pytest.mark.parametrize("nodes", [1, 2, 20, 21, 1000])
def test_quantiles_are_those_of_torch(nodes):
    own = torch.rand(nodes, generator=torch.Generator().manual_seed(nodes)).double()
    expected = {"q05": float(own.quantile(0.05)), "median": float(own.quantile(0.5))}
    assert _per_node(own) == pytest.approx(expected, rel=1e-14)


def test_quantiles_of_more_nodes_than_torch_s_take():
    many = torch.arange(2**24 + 1).double()
    assert _per_node(many) == pytest.approx({"q05": 0.05 * 2**24, "median": 2**23})


def test_min_max_as_the_paper_draws_it():
    found = judge(noisy_copies())
    matrix = np.array(found.matrix)
    assert np.allclose(found.normalized, (matrix - matrix.min()) / (matrix.max() - matrix.min()))
    assert np.min(found.normalized) == 0 and np.max(found.normalized) == 1


def test_more_noise_is_less_stable():
    quiet, loud = judge(noisy_copies(noise=0.1)), judge(noisy_copies(noise=2.0))
    assert quiet.mean > loud.mean and quiet.centred > loud.centred
    assert loud.per_node["q05"] < loud.per_node["median"]


def test_equal_copies_are_perfectly_stable():
    (z,) = noisy_copies(copies=1)
    found = judge([z, z, z])
    assert found.mean == pytest.approx(1) and found.centred == pytest.approx(1)
    assert np.array_equal(found.normalized, np.ones((3, 3)))


def test_a_constant_map_is_found_out_by_centring():
    constant = torch.full((40, 8), 0.3)
    rounding = [
        constant * (1 + 1e-7 * torch.randn(40, 1, generator=torch.Generator().manual_seed(s))) for s in range(3)
    ]
    for copies in ([constant] * 3, rounding):
        found = judge(copies)
        assert found.mean == pytest.approx(1) and found.centred == 0


def test_an_offset_inflates_the_mean_and_not_the_centred_one():
    near, far = judge(noisy_copies(shift=0.0)), judge(noisy_copies(shift=50.0))
    assert far.mean > 0.999 > near.mean
    assert far.centred == pytest.approx(near.centred, abs=1e-3)


def test_rotation_scale_and_order_of_nodes_change_nothing():
    drawn = [z.double() for z in noisy_copies()]
    turn = torch.linalg.qr(torch.randn(6, 6, generator=torch.Generator().manual_seed(2)).double())[0]
    order = torch.randperm(25, generator=torch.Generator().manual_seed(3))
    before = judge(drawn)
    for change in (lambda z: z @ turn, lambda z: 1e-3 * z, lambda z: z[order]):
        after = judge([change(z) for z in drawn])
        assert after.mean == pytest.approx(before.mean) and after.centred == pytest.approx(before.centred)
        assert after.per_node == pytest.approx(before.per_node)


def test_zero_rows():
    zero, other = torch.zeros(3, 4), torch.ones(3, 4)
    assert judge([zero, zero]).mean == 1 and judge([zero, zero]).centred == 0
    assert judge([zero, other]).mean == 0


def test_one_node():
    found = judge([torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 2.0]])])
    assert found.mean == 0 and found.centred == pytest.approx(-1) and found.per_node["q05"] == 0


def test_sparse_copies_equal_dense_ones():
    drawn = [z * (z > 1) for z in noisy_copies()]
    sparse = [SparseFeatures.from_scipy(sp.csr_matrix(z.numpy())) for z in drawn]
    found, dense = judge(sparse), judge(drawn)
    assert (found.mean, found.centred) == (pytest.approx(dense.mean), pytest.approx(dense.centred))
    assert found.per_node == pytest.approx(dense.per_node)


def test_every_copy_is_a_new_draw():
    calls = iter(noisy_copies(copies=10))
    assert stability(lambda: next(calls)).copies == 10
    assert next(calls, None) is None


def test_plain_json():
    found = asdict(judge(noisy_copies()))
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_bad_input():
    a, b = noisy_copies(copies=2)
    with pytest.raises(SignnapError, match="expected at least 2, found 1"):
        judge([a])
    with pytest.raises(SignnapError, match=r"copy 1 has embeddings of shape \(24, 6\): expected \(25, 6\)"):
        judge([a, b[:-1]])
    with pytest.raises(SignnapError, match="asked of no nodes"):
        judge([a, b], nodes=torch.tensor([], dtype=torch.long))
    b[4, 1] = torch.nan
    with pytest.raises(SignnapError, match="node 4 in perturbed copy 1 holds NaN or infinity: expected finite numbers"):
        judge([a, b])


def test_arrays_of_numpy_are_judged_as_tensors_are():
    copies, nodes = noisy_copies(), torch.tensor([3, 1, 4])
    assert judge([z.numpy() for z in copies], nodes=nodes.numpy()) == judge(copies, nodes=nodes)
    assert judge([z.tolist() for z in copies], nodes=nodes.tolist()) == judge(copies, nodes=nodes)
    with pytest.raises(SignnapError, match="asked of no nodes"):
        judge(copies, nodes=[])
