"""Methods that learn nothing by gradient and keep everybody honest: features as they are, reduced or averaged."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor

from ..contracts import Encoder
from ..data import load_graph
from ..graph import Features, SparseFeatures, View, as_dense, multiply
from ..rng import as_default, generator
from ..train.checkpoint import RunFolder
from ..train.session import Outcome
from .baselines import FixedSettings, PropagatedSettings, SvdSettings
from .facts import check_resumable, choose_device, run_facts
from .fitting import visible
from .method import Method, clean_view
from .signnap import SIGNNAP

F = TypeVar("F", bound="Fixed")


class Fixed(Method):
    """A method whose ``fit`` computes its encoder at once: there is nothing to iterate, to resume or to profile."""

    trains = False

    def fit(self: F, graph: Any, *, out: str | Path | None = None, device: str = "auto", **options: Any) -> F:
        """Compute the encoder from what training may see; with ``out`` it is kept in that folder."""
        graph, begun = load_graph(graph), time.perf_counter()
        self.settings_ = self.settings_for(graph.name)
        seen = visible(graph, self.settings_.split).without_labels().to(choose_device(device))
        self.facts_ = run_facts(seen)
        if out is not None:
            check_resumable(RunFolder(out), self.settings_, self.facts_, bool(options.get("resume")))
        self.encoder_ = self._drawn(self.settings_, seen.num_features).to(seen.pattern.device)
        self.adjust(self.encoder_, clean_view(seen, self.settings_))
        self.outcome_ = Outcome(0, time.perf_counter() - begun, {})
        self.facts_ |= run_facts(seen, self.outcome_)
        if out is not None:
            self.save(out)
        return self

    def fit_seeds(
        self: F, graph: Any, seeds: Sequence[int], *, out: str | Path | None = None, **options: Any
    ) -> list[F]:
        """One copy per seed, as for every method."""
        copies = [type(self)(**self._params | {"seed": seed}) for seed in seeds]
        for copy, seed in zip(copies, seeds, strict=True):
            copy.fit(graph, out=None if out is None else Path(out) / f"seed-{seed}", **options)
        return copies

    def adjust(self, encoder: Encoder, view: View) -> None:
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
        return z


class RawFeatures(Fixed):
    """The features themselves, row-normalised as every method sees them."""

    name = "raw"

    def build_encoder(self, settings: FixedSettings, num_features: int) -> Encoder:
        return _Averaged(0)


class PropagatedFeatures(Fixed):
    """Features averaged over neighbourhoods: what a graph convolution does before it learns anything (SGC)."""

    name = "propagated"

    def build_encoder(self, settings: PropagatedSettings, num_features: int) -> Encoder:
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

    def build_encoder(self, settings: SvdSettings, num_features: int) -> Encoder:
        return _Projected(num_features, settings.dim)

    def adjust(self, encoder: Any, view: View) -> None:
        with as_default(generator(self.settings_.seed, "svd", encoder.basis.device)):
            encoder.basis = _leading_directions(view.x, encoder.basis.shape[1])


def _leading_directions(x: Features, rank: int, rounds: int = 4) -> Tensor:
    """Right singular vectors of the largest singular values, by subspace iteration: only products with x and xᵀ."""
    back = x.transposed_times if isinstance(x, SparseFeatures) else as_dense(x).t().matmul
    width = min(x.shape[1], rank + 10)
    basis = torch.randn(x.shape[1], width, device=(x.values if isinstance(x, SparseFeatures) else as_dense(x)).device)
    for _ in range(rounds):
        basis = torch.linalg.qr(basis).Q
        basis = back(multiply(x, basis))
    left = multiply(x, torch.linalg.qr(basis).Q)
    rotation = torch.linalg.svd(left, full_matrices=False).Vh
    return (torch.linalg.qr(basis).Q @ rotation.t())[:, :rank].contiguous()


class Untrained(Fixed, SIGNNAP):
    """SIGNNAP's backbone with its first weights: what message passing alone is worth."""

    name = "untrained"
