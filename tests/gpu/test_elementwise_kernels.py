"""ReLU with dropout, and the memory bank's update, against the same in torch."""

import pytest
import torch

from dense import source_of
from signnap.ops.triton.elementwise_kernels import rectified, rectified_backward, remember


@pytest.mark.parametrize("shape", [(1,), (0, 3), (7, 5), (2, 60, 20)])
@pytest.mark.parametrize("kind", [torch.int8, torch.int16])
@pytest.mark.parametrize("dropped", [-100, 0, 64])
def test_rectified_dropout_and_its_gradient(shape, kind, dropped, device):
    x, grad = (torch.randn(shape, generator=source_of(seed)).to(device) for seed in (0, 1))
    noise = torch.randint(-128, 128, shape, generator=source_of(2), dtype=kind).to(device)
    wanted = torch.where(noise >= dropped, 3 * x.relu(), 0)
    found = rectified(x, noise, dropped, 3.0)
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(rectified_backward(grad, found, 3.0), torch.where(wanted > 0, 3 * grad, 0))


def test_transposed_inputs(device):
    x, noise = (
        torch.randn(5, 4, generator=source_of(0)).to(device).t(),
        torch.zeros(4, 5, dtype=torch.int8, device=device),
    )
    found = rectified(x, noise, 0, 1.0)
    assert torch.equal(found, x.relu())
    assert torch.equal(rectified_backward(x, found, 1.0), x.relu())


@pytest.mark.parametrize("shape", [(1, 1), (7, 5), (4, 128), (9, 200)])
@pytest.mark.parametrize("momentum", [0.0, 0.5, 0.9])
def test_remember(shape, momentum, device):
    bank, z = (torch.randn(shape, generator=source_of(seed)).to(device) for seed in (0, 1))
    bank[0], z[0] = 0, 0
    moved = momentum * bank + (1 - momentum) * z
    wanted = moved / moved.norm(dim=1, keepdim=True).clamp(min=1e-12)
    apart = torch.full((shape[0], shape[1] + 3), torch.nan, device=device)
    apart[:, 1:-2] = z
    for given in (z, apart[:, 1:-2], z.t().contiguous().t()):
        found = bank.clone()
        remember(found, given, momentum)
        torch.testing.assert_close(found, wanted)
        assert torch.equal(found[0], torch.zeros_like(found[0]))
