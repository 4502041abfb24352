"""Judges of accuracy: how well labels can be read off embeddings. They see arrays, never a method."""

from .logistic import LogisticResult, logistic_probe
from .probe import ProbeResult, ProbeSettings, linear_probe
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
    "PROBES", "LogisticResult", "ProbeResult", "ProbeSettings", "Score", "Summary", "linear_probe", "logistic_probe",
    "plus_minus", "probe_settings", "score", "score_classes", "score_most_frequent", "summarize",
]  # fmt: skip
