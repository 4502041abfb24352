"""Perturbation of the features: add noise to every entry, or mask whole columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from ..errors import SignnapError, unknown_name
from ..graph import NoisyFeatures, SparseFeatures, StreamedFeatures, View, applied, mask_columns
from ..ops.triton import usable


def _gaussian(shape: torch.Size, generator: torch.Generator, device: torch.device) -> Tensor:
    return torch.randn(shape, generator=generator, device=device)


def _laplace(shape: torch.Size, generator: torch.Generator, device: torch.device) -> Tensor:
    centred = torch.rand(shape, generator=generator, device=device) - 0.5
    return -centred.sign() * torch.log1p(-2 * centred.abs().clamp(max=0.4999999))


def _uniform(shape: torch.Size, generator: torch.Generator, device: torch.device) -> Tensor:
    return torch.rand(shape, generator=generator, device=device)


#: The paper's three distributions: N(0,1), Laplace(0,1), U(0,1).
NOISES: dict[str, Callable[[torch.Size, torch.Generator, torch.device], Tensor]] = {
    "gaussian": _gaussian,
    "laplace": _laplace,
    "uniform": _uniform,
}


@dataclass(frozen=True)
class FeatureNoise:
    """Add scale·δ to the features, with δ drawn for every entry, zeros included. The paper's ablation has scale 0.01.

    The sum is dense even if the features are sparse. It is then generated inside the matrix product that reads it, in
    chunks or by kernels, and never stored.
    """

    kind: str = "gaussian"
    scale: float = 0.01

    def __post_init__(self) -> None:
        if self.kind not in NOISES:
            raise unknown_name("noise", self.kind, NOISES)
        if not 0 <= self.scale < float("inf"):
            raise SignnapError(f"the noise scale is {self.scale}: expected a finite number of at least 0")

    def __call__(self, view: View, generator: torch.Generator) -> View:
        if self.scale == 0:
            return view
        x = applied(view.x)
        if isinstance(x, Tensor):
            return view.with_features(self._add(x, generator))
        if isinstance(x, SparseFeatures):
            seed = torch.randint(2**62, (), generator=generator, device=generator.device)
            if usable(x.values, seed):
                return view.with_features(NoisyFeatures(x, (), seed, self.kind, self.scale))
            x = StreamedFeatures(x, (), int(seed))
        return view.with_features(x.then(self._add))

    def _add(self, x: Tensor, generator: torch.Generator) -> Tensor:
        return x + self.scale * NOISES[self.kind](x.shape, generator, x.device)


@dataclass(frozen=True)
class MaskFeatures:
    """Set each feature column to zero, for all nodes at once, with probability ``ratio``."""

    ratio: float = 0.3

    def __post_init__(self) -> None:
        if not 0 <= self.ratio <= 1:
            raise SignnapError(f"the share of masked features is {self.ratio}: expected a number from 0 to 1")

    def __call__(self, view: View, generator: torch.Generator) -> View:
        if self.ratio == 0:
            return view
        kept = torch.rand(view.x.shape[1], generator=generator, device=view.stored.device) >= self.ratio
        return view.with_features(mask_columns(view.x, kept))
