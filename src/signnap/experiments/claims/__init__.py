"""What the paper claims, and whether it is true of our rows: one claim, one file, and one rule for all."""

from __future__ import annotations

from . import (
    clusters,
    depth,
    dimensions,
    hyperparameters,
    overfitting,
    peers,
    perturbations,
    stability,
    supervised,
)
from .verdict import RULE, Verdict, judge

#: In the order of the paper.
CLAIMS = (
    peers.SAME_ENCODER,
    peers.BEST_BACKBONE,
    peers.READ_ALIKE,
    supervised.CLAIM,
    depth.FACEBOOK,
    depth.PUBMED,
    depth.RANK,
    overfitting.CLAIM,
    stability.PLAIN,
    stability.CENTRED,
    clusters.CLAIM,
    perturbations.CLAIM,
    hyperparameters.NEGATIVES,
    hyperparameters.MANY_NEGATIVES,
    hyperparameters.DROP_EDGE,
    hyperparameters.TEMPERATURE,
    hyperparameters.LOW_TEMPERATURE,
    dimensions.CLAIM,
)

__all__ = ["CLAIMS", "RULE", "Verdict", "judge"]
