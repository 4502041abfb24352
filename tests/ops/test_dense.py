"""Values and gradients of products by oneDNN against torch's own, on any processor that has both."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck, gradgradcheck

from dense import agree, source_of
from signnap import NCE, AllPairs
from signnap.ops import dense as products
from signnap.ops.dense import Linear, add_gradients, by_onednn, linear, matmul, pairs

pytestmark = pytest.mark.skipif(
    not torch.backends.mkldnn.is_available() or not hasattr(torch.ops.mkldnn, "_linear_pointwise"),
    reason="this build of torch has no oneDNN",
)


@pytest.fixture(params=["one thread", "two threads"])
def onednn(request, monkeypatch):
    """Simulate a processor on which MKL is slow; products of at least 16 rows, columns and terms count as large."""
    monkeypatch.setattr(products, "_mkl_is_slow", lambda: True)
    monkeypatch.setattr(products, "_MIN_NUMBERS", 0)
    monkeypatch.setattr(products, "_MIN_PIXELS", 1)
    threads = torch.get_num_threads()
    torch.set_num_threads(1 if request.param == "one thread" else 2)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def calls(monkeypatch):
    """The shapes of the products that oneDNN computes."""
    seen, inner = [], products._product
    monkeypatch.setattr(products, "_product", lambda a, b: seen.append((*a.shape, *b.shape)) or inner(a, b))
    return seen


def drawn(*shape, seed=0):
    return torch.randn(*shape, generator=source_of(seed)).requires_grad_()


def laid_out(matrix, how):
    """The same matrix in another memory layout."""
    wide = torch.zeros(len(matrix), matrix.shape[1] + 3)
    wide[:, 1:-2] = matrix
    return {"rows": matrix, "columns": matrix.t().contiguous().t(), "apart": wide[:, 1:-2]}[how]


LAYOUTS = ["rows", "columns", "apart"]


@pytest.mark.parametrize("first", LAYOUTS)
@pytest.mark.parametrize("second", LAYOUTS)
def test_matmul(first, second, onednn, calls):
    a, b = drawn(41, 17), drawn(17, 33, seed=1)
    found = matmul(laid_out(a, first), laid_out(b, second))
    assert calls == [(41, 17, 17, 33)]
    agree(found, a @ b, [a, b], atol=1e-4, rtol=1e-4)
    assert len(calls) > 1  # the gradients are products as well


@given(rows=st.integers(16, 70), inner=st.integers(16, 70), columns=st.integers(16, 70), seed=st.integers(0, 9))
def test_matmul_of_any_size(rows, inner, columns, seed):
    a, b = drawn(rows, inner, seed=seed), drawn(inner, columns, seed=seed + 1)
    torch.testing.assert_close(products._Product.apply(a, b), a @ b, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(products._transposed_product(a.t().contiguous(), b), a @ b, atol=1e-4, rtol=1e-4)


def test_large_transposed_products_are_convolutions_of_onednn(monkeypatch):
    """Only such sizes reach oneDNN: for smaller images torch uses its own convolution."""
    monkeypatch.setattr(products, "_mkl_is_slow", lambda: True)
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        a, b = drawn(2003, 64), drawn(2003, 48, seed=1)
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
            found = matmul(a.t(), b).div_(2)  # the result may be modified in place
            agree(found, a.t() @ b / 2, [a, b], atol=1e-3, rtol=1e-4)
    finally:
        torch.set_num_threads(threads)
    names = {event.key for event in profile.key_averages()}
    assert "aten::convolution_backward" in names and "aten::_slow_conv2d_backward" not in names


def test_matmul_of_stacked_matrices(onednn, calls):
    a, b = drawn(3, 20, 16), drawn(16, 24, seed=1)
    agree(matmul(a, b), a @ b, [a, b], atol=1e-4, rtol=1e-4)
    assert calls[0] == (60, 16, 16, 24)


def test_gradients_of_gradients(onednn):
    a, b = drawn(20, 16), drawn(16, 24, seed=1)
    second = []
    for product in (matmul, torch.matmul):
        grads = torch.autograd.grad(product(a, b).square().sum(), (a, b), create_graph=True)
        second.append(torch.autograd.grad(sum(grad.square().sum() for grad in grads), (a, b)))
    for found, wanted in zip(*second, strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-3, atol=1e-2)


def test_only_wanted_gradients_are_computed(onednn, calls):
    features, weight = drawn(40, 16).detach(), drawn(16, 24)
    matmul(features, weight).sum().backward()
    assert calls == [(40, 16, 16, 24), (16, 40, 40, 24)]


@pytest.mark.parametrize("bias", [True, False])
def test_linear(bias, onednn, calls):
    torch.manual_seed(0)
    layer, x = Linear(16, 20, bias=bias), drawn(30, 16)
    wanted = x @ layer.weight.t() + (layer.bias if bias else 0)
    agree(layer(x), wanted, [x, *layer.parameters()], atol=1e-4, rtol=1e-4)
    assert calls
    assert layer.state_dict().keys() == torch.nn.Linear(16, 20, bias=bias).state_dict().keys()


def test_pairs_and_their_gradients(onednn, calls):
    a, b = drawn(30, 16), drawn(50, 16, seed=1)
    found = pairs(a.detach(), b.detach())
    torch.testing.assert_close(found, a @ b.t(), atol=1e-4, rtol=1e-4)
    grad = drawn(30, 50, seed=2).detach()
    wanted = torch.autograd.grad((grad * (a @ b.t())).sum(), (a, b))
    into = [torch.ones(30, 16), torch.ones(50, 16)]
    add_gradients(grad, a.detach(), b.detach(), *into)
    for with_ones, gradient in zip(into, wanted, strict=True):
        torch.testing.assert_close(with_ones - 1, gradient, atol=1e-4, rtol=1e-4)
    assert len(calls) == 3


@pytest.mark.parametrize(
    ("objective", "d"), [(NCE(64, negatives_group=0), 16), (AllPairs(0.3), 16), (AllPairs(0.3, 20), 32)]
)
def test_objectives_agree_with_torch(objective, d, onednn, calls, monkeypatch):
    objective.prepare(150, d, source_of(0))
    z1, z2 = (torch.randn(150, d, generator=source_of(seed)).mul_(0.2).requires_grad_() for seed in (1, 2))
    found = objective(z1, z2, source_of(3)).total
    gradients = torch.autograd.grad(found, (z1, z2))
    assert calls
    monkeypatch.setattr(products, "_mkl_is_slow", lambda: False)
    plain = objective(z1, z2, source_of(3)).total
    torch.testing.assert_close(found, plain)
    for fast, slow in zip(gradients, torch.autograd.grad(plain, (z1, z2)), strict=True):
        torch.testing.assert_close(fast, slow, atol=1e-6, rtol=1e-3)


def test_products_are_deterministic(onednn):
    a, b = drawn(700, 65), drawn(65, 90, seed=1)
    once, again = ([matmul(a, b), *torch.autograd.grad(matmul(a, b).square().sum(), (a, b))] for _ in range(2))
    assert all(torch.equal(x, y) for x, y in zip(once, again, strict=True))


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_nan_and_infinity_stay_in_their_row(bad, onednn):
    a, b = drawn(30, 16).detach(), drawn(16, 20, seed=1).detach()
    a[3, 5] = bad
    assert not matmul(a, b)[3].isfinite().any() and matmul(a, b)[4:].isfinite().all()


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (torch.zeros(30, 16, dtype=torch.float64), torch.zeros(20, 16, dtype=torch.float64)),
        (torch.zeros(30, 15), torch.zeros(20, 15)),
        (torch.zeros(30, 16), torch.zeros(1, 16)),
        (torch.zeros(0, 16), torch.zeros(20, 16)),
        (torch.zeros(16), torch.zeros(20, 16)),
    ],
    ids=["float64", "few terms", "one column", "no rows", "a vector"],
)
def test_torch_multiplies_other_shapes_and_types(a, b, onednn, calls):
    assert not by_onednn(a, b)
    assert matmul(a, b.t()).shape == linear(a, b).shape == (*a.shape[:-1], len(b)) and not calls


def test_shapes_that_do_not_fit_raise_the_error_of_torch(onednn):
    for multiply in (lambda a, b: matmul(a, b.t()), linear, pairs):
        with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
            multiply(torch.zeros(30, 16), torch.zeros(20, 17))


def test_torch_multiplies_small_matrices(monkeypatch):
    monkeypatch.setattr(products, "_mkl_is_slow", lambda: True)
    assert by_onednn(torch.zeros(2000, 16), torch.zeros(16, 16))
    assert not by_onednn(torch.zeros(200, 16), torch.zeros(16, 16))


@pytest.mark.parametrize(
    ("processor", "capability", "slow"),
    [
        ("AMD EPYC (AuthenticAMD)", "AVX512", True),
        ("AMD EPYC (AuthenticAMD)", "AVX2", False),
        ("Xeon (GenuineIntel)", "AVX512", False),
    ],
)
def test_where_mkl_is_slow(processor, capability, slow, monkeypatch):
    monkeypatch.setattr(products, "processor_name", lambda: processor)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    monkeypatch.setattr(torch.backends.mkl, "is_available", lambda: True)
    assert products._mkl_is_slow.__wrapped__() == slow


def test_finite_differences():
    a, b = (t.detach().double().requires_grad_() for t in (drawn(4, 3), drawn(3, 5, seed=1)))
    assert gradcheck(matmul, (a, b)) and gradgradcheck(matmul, (a, b))
