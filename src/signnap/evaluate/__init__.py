"""Measures of embeddings: accuracy of a probe, and stability, smoothness and identifiability.

All modules but ``models`` read arrays and know no method.
"""

from .linear import ProbeResult, ProbeSettings, linear_probe
from .logistic import LogisticResult, logistic_probe
from .properties import Identifiability, Smoothness, Stability, identifiability, smoothness, stability
from .score import (
    PROBES,
    Score,
    Summary,
    plus_minus,
    probe_settings,
    score,
    score_classes,
    score_most_frequent,
    summarize,
)

__all__ = [
    "PROBES", "Identifiability", "LogisticResult", "ProbeResult", "ProbeSettings", "Score", "Smoothness", "Stability",
    "Summary", "identifiability", "linear_probe", "logistic_probe", "plus_minus", "probe_settings", "score",
    "score_classes", "score_most_frequent", "smoothness", "stability", "summarize",
]  # fmt: skip
