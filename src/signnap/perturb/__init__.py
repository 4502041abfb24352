"""Perturbations: random changes of a view before an encoder reads it."""

from .compose import Compose, build_perturbation
from .edges import DropEdge
from .feature_noise import FeatureNoise, MaskFeatures
from .importance import DropUnimportant

__all__ = ["Compose", "DropEdge", "DropUnimportant", "FeatureNoise", "MaskFeatures", "build_perturbation"]
