"""What the paper claims, and whether it is true of our rows: one file for what a section says, and one rule for all."""

from __future__ import annotations

from . import (
    backbones,
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
    peers.GAINS,
    supervised.EXCEEDS,
    supervised.BEHIND,
    backbones.CLAIM,
    depth.FACEBOOK,
    depth.PUBMED,
    depth.RANK,
    depth.RELIEVES,
    overfitting.CLAIM,
    stability.PLAIN,
    stability.SCALED,
    stability.CENTRED,
    stability.DROPPED,
    stability.SAMPLED,
    clusters.CLAIM,
    perturbations.ATTRIBUTES,
    perturbations.BEST,
    hyperparameters.NEGATIVES,
    hyperparameters.MANY_NEGATIVES,
    hyperparameters.DROP_EDGE,
    hyperparameters.SMALL_DROP,
    hyperparameters.LARGE_DROP,
    hyperparameters.TEMPERATURE,
    hyperparameters.LOW_TEMPERATURE,
    dimensions.LABELLED,
    dimensions.WIDEST,
    dimensions.STEADY,
    dimensions.BETTER,
)

__all__ = ["CLAIMS", "RULE", "Verdict", "judge"]
