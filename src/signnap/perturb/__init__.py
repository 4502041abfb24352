"""Perturbations: how a view of the graph is changed before it is encoded."""

from .compose import Compose, build_perturbation
from .features import FeatureNoise, MaskFeatures
from .importance import DropUnimportant
from .structure import DropEdge

__all__ = ["Compose", "DropEdge", "DropUnimportant", "FeatureNoise", "MaskFeatures", "build_perturbation"]
