"""Methods that learn nothing by gradient and keep everybody honest: features as they are, reduced or averaged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor

from ..graph import Graph, SparseFeatures, View, as_dense, multiply
from ..interfaces import Encoder
from ..rng import derive_seed
from ..train.progress import Report
from .baseline_settings import FixedSettings, PropagatedSettings, SvdSettings
from .method import Method, clean_view
from .signnap import SIGNNAP
from .sizes import Sizes


class Fixed(Method):
    """A method whose ``fit`` computes its encoder at once: there is nothing to iterate, to resume or to profile."""

    trains = False
    no_use: ClassVar[Sequence[str]] = (
        "iterations", "lr", "schedule", "weight_decay", "decoupled_decay", "clip", "patience",
    )  # fmt: skip

    def num_steps(self, settings: Any, nodes: int) -> int:
        return 1

    def compute_encoder(self, settings: Any, graph: Graph, report: Report) -> Encoder:
        encoder = self._drawn(settings, Sizes.of(graph)).to(graph.pattern.device)
        self.adjust(encoder, clean_view(graph, settings), settings, report)
        return encoder

    def adjust(self, encoder: Encoder, view: View, settings: Any, report: Report) -> None:
        """Fit the encoder to the features, if there is anything to fit."""


class _Averaged(Encoder):
    """Features, averaged over neighbours some times."""

    def __init__(self, hops: int) -> None:
        super().__init__()
        self.hops = hops

    def forward(self, view: View) -> Tensor:
        z = as_dense(view.x)
        for _ in range(self.hops):
            z = view.random_walk(z)
        return z if self.hops or not isinstance(view.x, Tensor) else z.clone()  # nobody else's to change


class RawFeatures(Fixed):
    """The features themselves, row-normalised as every method sees them."""

    name = "raw"
    no_use = ("dim", *Fixed.no_use)

    def build_encoder(self, settings: FixedSettings, sizes: Sizes) -> Encoder:
        return _Averaged(0)


class PropagatedFeatures(Fixed):
    """Features averaged over neighbourhoods: what a graph convolution does before it learns anything (SGC)."""

    name = "propagated"
    no_use = ("dim", *Fixed.no_use)

    def build_encoder(self, settings: PropagatedSettings, sizes: Sizes) -> Encoder:
        return _Averaged(settings.hops)


class _Projected(Encoder):
    basis: Tensor

    def __init__(self, num_features: int, dim: int) -> None:
        super().__init__()
        self.register_buffer("basis", torch.zeros(num_features, min(dim, num_features)))

    def forward(self, view: View) -> Tensor:
        return multiply(view.x, self.basis)


class FeatureSVD(Fixed):
    """Features in the coordinates of their leading right singular vectors."""

    name = "svd"

    def build_encoder(self, settings: SvdSettings, sizes: Sizes) -> Encoder:
        return _Projected(sizes.features, settings.dim)

    def adjust(self, encoder: Any, view: View, settings: SvdSettings, report: Report) -> None:
        from sklearn.utils.extmath import randomized_svd

        matrix = view.x.to_scipy() if isinstance(view.x, SparseFeatures) else as_dense(view.x).cpu().numpy()
        seed = derive_seed(settings.seed, "svd") % 2**32
        found = torch.from_numpy(randomized_svd(matrix, encoder.basis.shape[1], random_state=seed)[2].T.copy())
        encoder.basis[:, : found.shape[1]] = found  # fewer nodes than that have fewer directions


class Untrained(Fixed, SIGNNAP):
    """SIGNNAP's backbone with its first weights: what message passing alone is worth."""

    name = "untrained"
