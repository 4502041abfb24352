"""Perturbations in sequence, and the sequence that the settings of a method describe."""

from __future__ import annotations

import torch

from ..errors import SignnapError
from ..graph import View
from ..interfaces import Perturbation
from .edges import DropEdge
from .feature_noise import FeatureNoise, MaskFeatures


class Compose:
    """Apply perturbations in order. Without any, the view stays as it is."""

    def __init__(self, *parts: Perturbation) -> None:
        self.parts = parts

    def __call__(self, view: View, generator: torch.Generator) -> View:
        for part in self.parts:
            view = part(view, generator)
        return view

    def __repr__(self) -> str:
        return f"Compose({', '.join(map(repr, self.parts))})"


def build_perturbation(
    drop_edge: float = 0.3, drop_law: str = "exact", mask_features: float = 0.0, noise: str = "none"
) -> Compose:
    """Build the perturbation of these settings.

    ``noise`` is "none", a kind ("gaussian"), or a kind with a scale ("laplace:0.02").

    >>> build_perturbation(0.3, noise="gaussian:0.01")
    Compose(DropEdge(ratio=0.3, law='exact'), FeatureNoise(kind='gaussian', scale=0.01))
    """
    parts: list[Perturbation] = []
    if drop_edge:
        parts.append(DropEdge(drop_edge, drop_law))
    if mask_features:
        parts.append(MaskFeatures(mask_features))
    if noise != "none":
        kind, _, scale = noise.partition(":")
        try:
            parts.append(FeatureNoise(kind, float(scale) if scale else 0.01))
        except ValueError:
            raise SignnapError(f"noise is {noise!r}: expected a kind and a scale such as gaussian:0.01") from None
    return Compose(*parts)
