"""The memory bank's update against torch's own arithmetic."""

import pytest
import torch

from dense import source_of
from signnap.ops.triton.elementwise_kernels import remember


@pytest.mark.parametrize("shape", [(1, 1), (7, 5), (4, 128), (9, 200)])
@pytest.mark.parametrize("momentum", [0.0, 0.5, 0.9])
def test_moved_and_normalised(shape, momentum, device):
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
