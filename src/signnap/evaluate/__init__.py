"""Judges of accuracy: how well labels can be read off embeddings. They see arrays, never a method."""

from .logistic import LogisticResult, logistic_probe
from .probe import ProbeResult, ProbeSettings, linear_probe
from .score import PROBES, Score, Summary, probe_settings, score, score_classes, summarize

__all__ = [
    "PROBES", "LogisticResult", "ProbeResult", "ProbeSettings", "Score", "Summary", "linear_probe", "logistic_probe",
    "probe_settings", "score", "score_classes", "summarize",
]  # fmt: skip
