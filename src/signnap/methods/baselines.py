"""Baselines that learn nothing by gradient: features as they are, reduced or averaged, and an untrained encoder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..graph import SparseFeatures, View, as_dense, multiply
from ..interfaces import Encoder
from ..rng import derive_seed
from ..train.progress import Report
from .base import ClosedForm, Sizes
from .settings import BaseSettings
from .signnap import SIGNNAP


@dataclass(frozen=True)
class RawSettings(BaseSettings):
    """Features as they are."""

    method: str = "raw"


@dataclass(frozen=True)
class SvdSettings(BaseSettings):
    """Features in the coordinates of their ``dim`` leading right singular vectors."""

    method: str = "svd"


@dataclass(frozen=True)
class PropagatedSettings(BaseSettings):
    """Features averaged over neighbourhoods ``hops`` times."""

    method: str = "propagated"
    hops: int = 2


class RawFeatures(ClosedForm):
    """The features themselves, row-normalised as for every method."""

    name = "raw"
    ignored_settings = ("dim", *ClosedForm.ignored_settings)

    def build_encoder(self, settings: RawSettings, sizes: Sizes) -> Encoder:
        return _Averaged(0)


class FeatureSVD(ClosedForm):
    """Features in the coordinates of their leading right singular vectors."""

    name = "svd"

    def build_encoder(self, settings: SvdSettings, sizes: Sizes) -> Encoder:
        return _Projected(sizes.num_features, settings.dim)

    def prepare(self, settings: SvdSettings, view: View, encoder: Any, report: Report) -> None:
        from sklearn.utils.extmath import randomized_svd

        matrix = view.x.to_scipy() if isinstance(view.x, SparseFeatures) else as_dense(view.x).cpu().numpy()
        seed = derive_seed(settings.seed, "svd") % 2**32
        found = torch.from_numpy(randomized_svd(matrix, encoder.basis.shape[1], random_state=seed)[2].T.copy())
        encoder.basis[:, : found.shape[1]] = found  # a graph with fewer nodes than columns has fewer directions


class PropagatedFeatures(ClosedForm):
    """Features averaged over neighbourhoods, as by a graph convolution without weights (SGC)."""

    name = "propagated"
    ignored_settings = ("dim", *ClosedForm.ignored_settings)

    def build_encoder(self, settings: PropagatedSettings, sizes: Sizes) -> Encoder:
        return _Averaged(settings.hops)


class Untrained(ClosedForm, SIGNNAP):
    """SIGNNAP's encoder with its first weights: the contribution of message passing alone."""

    name = "untrained"


class _Averaged(Encoder):
    """Features averaged over neighbourhoods ``hops`` times."""

    def __init__(self, hops: int) -> None:
        super().__init__()
        self.hops = hops

    def forward(self, view: View) -> Tensor:
        z = as_dense(view.x)
        for _ in range(self.hops):
            z = view.random_walk(z)
        return z if self.hops or not isinstance(view.x, Tensor) else z.clone()  # callers may change what they get


class _Projected(Encoder):
    """Features times a fixed basis."""

    basis: Tensor

    def __init__(self, num_features: int, dim: int) -> None:
        super().__init__()
        self.register_buffer("basis", torch.zeros(num_features, min(dim, num_features)))

    def forward(self, view: View) -> Tensor:
        return multiply(view.x, self.basis)
