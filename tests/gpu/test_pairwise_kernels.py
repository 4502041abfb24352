"""Log sums and pulls of all pairs against a dense float64 matrix, and the whole loss against the torch path."""

import math
from importlib import import_module

import pytest
import torch

from dense import source_of
from signnap import AllPairs
from signnap.ops import pairwise
from signnap.ops.triton import MAX_DIM
from signnap.ops.triton.pairwise_kernels import log_sums, pull
from signnap.ops.triton.tiles import Launch

MODULE = import_module("signnap.ops.triton.pairwise_kernels")


@pytest.fixture
def small_tiles(monkeypatch):
    """Small tiles, so that the sizes below end on tile edges or beside them; sections of two tiles."""
    monkeypatch.setattr(MODULE, "SHARED", dict.fromkeys(MODULE.SHARED, Launch(32, 16, 4, 2)))
    monkeypatch.setattr(MODULE, "SECTIONS", dict.fromkeys(MODULE.SECTIONS, 32))


def unit_rows(count, dim, device):
    """Directions around a common one, so that scores and pulls do not cancel."""
    w = torch.randn(count, dim, generator=source_of(100 * count + dim)) + 0.5
    return torch.nn.functional.normalize(w, dim=1).to(device)


def slow(w, temperature):
    """log D and the pull, from the whole matrix."""
    w = w.double().cpu()
    scores = (w @ w.t() / temperature).fill_diagonal_(-math.inf)
    sums = scores.logsumexp(dim=1)
    return sums, ((scores - sums[:, None]).exp() + (scores - sums).exp()) @ w


def fast(w, temperature, precision="float32"):
    sums = log_sums(w, temperature, precision)
    return sums, pull(w, temperature, sums, precision)


def close(found, wanted, tolerance=2e-6):
    """Assert equality up to a fraction of the largest value."""
    for name, ours, twin in zip(("log sums", "pull"), found, wanted, strict=True):
        atol = tolerance * max(1.0, twin.abs().max().item())
        torch.testing.assert_close(ours.double().cpu(), twin, rtol=0, atol=atol, msg=lambda m, n=name: f"{n}: {m}")


@pytest.mark.parametrize(("nodes", "dim"), [(70, 16), (33, 130), (17, 256)])
def test_dense_twin(nodes, dim, device):
    w = unit_rows(2 * nodes, dim, device)
    close(fast(w, 0.5), slow(w, 0.5))


@pytest.mark.parametrize(
    ("nodes", "dim", "temperature"),
    [
        (1, 5, 0.5),
        (8, 16, 0.5),  # one tile, nothing short
        (17, 8, 0.1),
        (17, 20, 2.0),
        (32, 64, 0.5),  # two whole sections
        (33, 64, 0.1),
        (33, 200, 2.0),
        (70, 20, 0.1),
    ],
)
def test_dense_twin_in_small_tiles(nodes, dim, temperature, device, small_tiles):
    w = unit_rows(2 * nodes, dim, device)
    close(fast(w, temperature), slow(w, temperature))


@pytest.mark.parametrize(("precision", "tolerance"), [("tf32", 1e-3), ("bf16", 1e-2)])
def test_low_precision(precision, tolerance, device, small_tiles, bfloat16_products):
    w = unit_rows(66, 64, device)
    plain = fast(w, 0.2)
    found = log_sums(w, 0.2, precision), pull(w, 0.2, plain[0], precision)
    close(found, slow(w, 0.2), tolerance)
    assert all((ours - twin).abs().max() > tolerance / 100 for ours, twin in zip(found, plain, strict=True))


@pytest.mark.parametrize("temperature", [0.1, 1 / 59, 1 / 61, 1e-3])
def test_equal_and_opposite_rows(temperature, device, small_tiles):
    """Scores have the largest possible range, and all products are exact."""
    w = torch.zeros(40, 16)
    w[:, :4] = 0.5
    w[25:] *= -1
    w[39] = torch.eye(16)[15]
    w = w.to(device)
    found = fast(w, temperature)
    close(found, slow(w, temperature), 2e-6 + 2e-7 / temperature)  # float32 holds few digits of a log D of 1,000
    torch.testing.assert_close(
        found[0][:25].cpu(), torch.full((25,), 1 / temperature + math.log(24)), rtol=1e-5, atol=0
    )


@pytest.mark.filterwarnings("ignore:overflow|invalid value:RuntimeWarning")  # in absent rows
@pytest.mark.parametrize("temperature", [1e-3, 1 / 59])
def test_one_pair_of_opposite_rows(temperature, device, small_tiles):
    """D is minimal, and 1/D exceeds float16; padding must not be multiplied by it."""
    w = torch.tensor([[1.0, 0], [-1, 0]], device=device)
    sums, found = fast(w, temperature)
    torch.testing.assert_close(sums.cpu(), torch.full((2,), -1 / temperature))
    torch.testing.assert_close(found.cpu(), -2 * w.cpu(), rtol=1e-4, atol=0)


def test_small_weights_keep_their_digits(device, small_tiles):
    """A pair among millions weighs a millionth; a large D simulates that without the millions of rows."""
    w = unit_rows(34, 16, device)
    sums, wanted = slow(w, 0.5)
    found = pull(w, 0.5, (sums.float() + math.log(1e5)).to(device)).double().cpu() * 1e5
    torch.testing.assert_close(found, wanted, rtol=0, atol=5e-6 * wanted.abs().max().item())


def test_a_program_writes_its_own_rows_only(device, small_tiles, monkeypatch):
    """In a full launch, later programs would overwrite a wrong write."""
    for name in ("_log_sums", "_pull"):
        kernel = getattr(MODULE, name)

        class First:
            def __getitem__(self, grid, kernel=kernel):
                def launch(found, *arguments, **options):
                    found[32:] = torch.nan
                    kernel[(1,)](found, *arguments, **options)

                return launch

        monkeypatch.setattr(MODULE, name, First())
    w = unit_rows(70, 5, device)
    sums = log_sums(w, 0.5)
    for found in (sums, pull(w, 0.5, sums.nan_to_num(3.0))):
        written = found.isfinite().view(70, -1)
        assert written[:32].all() and not written[32:].any()


@pytest.fixture
def by_kernels(monkeypatch):
    """Make the objective use the kernels on any machine, and record their calls."""
    asked = []
    for name in ("log_sums", "pull"):
        kernel = getattr(MODULE, name)
        note = lambda *given, name=name, kernel=kernel: asked.append((name, given[-1])) or kernel(*given)
        monkeypatch.setattr(MODULE, name, note)
    monkeypatch.setattr(pairwise, "usable", lambda *tensors: True)
    return asked


def loss_and_gradients(dim, device, **options):
    objective = AllPairs(0.5, **options)
    objective.prepare(21, dim, source_of(0))
    z1, z2 = (torch.randn(21, dim, generator=source_of(seed)).to(device).requires_grad_() for seed in (1, 2))
    terms = objective(z1, z2, source_of(3))
    return [terms.total, *terms.parts.values(), *torch.autograd.grad(terms.total, (z1, z2))]


@pytest.mark.parametrize("precision", ["float32", "tf32"])
def test_the_torch_path_gives_the_same_numbers(precision, device, small_tiles, by_kernels):
    found = loss_and_gradients(20, device, precision=precision)
    assert by_kernels == [("log_sums", precision), ("pull", precision)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairwise, "usable", lambda *tensors: False)
        wanted = loss_and_gradients(20, device, precision=precision)
    assert len(by_kernels) == 2
    tolerance = 2e-6 if precision == "float32" else 1e-3
    for ours, twin in zip(found, wanted, strict=True):
        torch.testing.assert_close(ours, twin, rtol=0, atol=tolerance * twin.abs().max().item())


def test_torch_computes_wide_embeddings(device, by_kernels):
    loss_and_gradients(MAX_DIM + 1, device)
    assert not by_kernels


def test_the_tile_width_divides_every_section():
    tiles = MODULE.SHARED.values()
    assert all(section % tile.columns == 0 for tile in tiles for section in MODULE.SECTIONS.values())
