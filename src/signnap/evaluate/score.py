"""Accuracy with its spread, and in words what the spread is over."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from statistics import fmean, stdev
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..errors import SignnapError, expect_float32, unknown_name
from ..graph import SparseFeatures
from ..rows import Array, Embeddings, as_embeddings, as_tensor
from .logistic import LogisticResult, logistic_probe
from .probe import ProbeResult, ProbeSettings, linear_probe

_log = logging.getLogger(__name__)

#: Name -> (kind, settings). "linear" is the paper's for SIGNNAP, "linear-dgi" its one for DGI (spec §4.4, item 7), and
#: "linear-plain" is fairer between methods (spec §2.7, item 10). "linear-quick" shows that something can be judged.
#: Those with a number of steps are by the authors of DGI, MVGRL and CCA-SSG (spec §4.4, §4.5 and §5.1, items 5).
PROBES: dict[str, tuple[str, ProbeSettings | None]] = {
    "linear": ("linear", ProbeSettings()),
    "linear-plain": ("linear", ProbeSettings(logit_dropout=0.0)),
    "linear-dgi": ("linear", ProbeSettings(lr=0.01, weight_decay=0.0, logit_dropout=0.0)),
    "linear-quick": ("linear", ProbeSettings(epochs=20)),
    "linear-100": ("linear", ProbeSettings(0.01, 0.0, 100, 100, 0.0, choose="last")),
    "linear-300": ("linear", ProbeSettings(0.01, 0.0, 300, 300, 0.0, choose="last")),
    "linear-2000": ("linear", ProbeSettings(0.01, 1e-4, 2000, 2000, 0.0, choose="accuracy")),
    "logistic": ("logistic", None),
}


def probe_settings(probe: str, weight_decay: float | None = None) -> ProbeSettings | None:
    """How the probe of that name learns; None for one that is not linear.

    ``weight_decay`` is for those that have none of their own.
    """
    if probe not in PROBES:
        raise unknown_name("probe", probe, PROBES)
    settings = PROBES[probe][1]
    if settings is None or settings.weight_decay != ProbeSettings.weight_decay or weight_decay is None:
        return settings
    return replace(settings, weight_decay=weight_decay)


@dataclass(frozen=True)
class Summary:
    """A mean and the sample standard deviation (n − 1) of the values, which is 0 for a single one."""

    mean: float
    std: float
    values: list[float]

    def __str__(self) -> str:
        return f"{self.mean:.2f} ± {self.std:.2f}"


def summarize(values: Sequence[float]) -> Summary:
    """Summarise at least one number."""
    numbers = [float(value) for value in values]
    if not numbers:
        raise SignnapError("there is nothing to summarise: expected at least one value")
    return Summary(fmean(numbers), stdev(numbers) if len(numbers) > 1 else 0.0, numbers)


@dataclass(frozen=True)
class Score:
    """Accuracies in percent.

    ``runs[e][p]`` is the test accuracy of encoder e read by probe p, ``val_runs`` that on validation. With one encoder
    the spread is over its probes, as in the paper; with several it is over the encoders' means, which is what a user
    who trains once will meet.
    """

    accuracy: Summary
    val_accuracy: Summary
    probe: str
    protocol: str
    encoder_seeds: int
    probe_seeds: int
    runs: list[list[float]]
    val_runs: list[list[float]]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def score(
    embeddings: Sequence[Embeddings | Array],
    y: Array | None,
    train: Array,
    val: Array,
    test: Array,
    *,
    probe: str = "linear",
    seeds: Sequence[int] = range(5),
    weight_decay: float | None = None,
    resample: Sequence[Callable[[], Array]] | None = None,
) -> Score:
    """Judge the embeddings of one or more encoder seeds on one split.

    ``weight_decay`` (of a probe that has none of its own; None for the default) and ``resample`` (one callable per
    encoder, see ``linear_probe``) concern the linear probes. The logistic probe has no randomness and counts as one
    seed.
    """
    expect_float32()
    if isinstance(embeddings, (Tensor, SparseFeatures, np.ndarray)) or not len(embeddings):
        raise SignnapError("expected a list with the embeddings of one or more encoder seeds")
    draws: Sequence[Callable[[], Array] | None] = [None] * len(embeddings) if resample is None else resample
    if len(draws) != len(embeddings):
        raise SignnapError(f"{len(draws)} resamplers were given for {len(embeddings)} encoder seeds: expected one each")
    for name, part in (("training part", train), ("validation part", val)):
        _expect_apart(name, as_tensor(part, name), as_tensor(test, "test part"))
    _note_equal(embeddings)
    settings = probe_settings(probe, weight_decay)
    if settings is None and resample is not None:
        raise SignnapError(f"the probe {probe} takes no steps to drop edges between: expected a linear one")

    def judge(z: Embeddings | Array, draw: Callable[[], Array] | None) -> Sequence[ProbeResult | LogisticResult]:
        if settings is None:
            return [logistic_probe(z, y, train, val, test)]
        return linear_probe(z, y, train, val, test, settings=settings, seeds=seeds, resample=draw)

    results = [judge(z, draw) for z, draw in zip(embeddings, draws, strict=True)]
    runs = [[100 * r.test_accuracy for r in probes] for probes in results]
    val_runs = [[100 * r.val_accuracy for r in probes] for probes in results]
    return _scored(runs, val_runs, probe, _protocol(len(runs), len(runs[0])))


def _note_equal(embeddings: Sequence[Embeddings | Array]) -> None:
    """Say that what counts as several encoder seeds is, in part, one: its spread is no spread over seeds."""
    dense = [(number, z) for number, z in enumerate(map(as_embeddings, embeddings), 1) if isinstance(z, Tensor)]
    for (one, first), (other, second) in combinations(dense, 2):
        if first.device == second.device and torch.equal(first, second):
            _log.info("embeddings %d and %d are the same, but count as those of two encoder seeds", one, other)
            return


def _expect_apart(name: str, part: Tensor, test: Tensor) -> None:
    """Refuse to test on what was learned by heart or chosen by; masks are refused elsewhere."""
    if torch.bool in (part.dtype, test.dtype):
        return
    seen = test[torch.isin(test.long(), part.long())]
    if len(seen):
        raise SignnapError(f"node {int(seen[0])} is in the {name} and in the test part: expected it in one")


def score_classes(scores: Sequence[Array], y: Array, val: Array, test: Array) -> Score:
    """Judge networks that were trained on labels, one per encoder seed, by the class they score highest."""
    if not len(scores):
        raise SignnapError("expected a list with the class scores of one or more encoder seeds")
    share = lambda s, y, part: 100 * float((s[part].argmax(dim=1) == y[part]).double().mean())
    runs, val_runs = ([[share(*map(as_tensor, (s, y, part)))] for s in scores] for part in (test, val))
    protocol = f"{_counted(len(runs), 'encoder')}, no probe: the network is the classifier"
    return _scored(runs, val_runs, "none", protocol)


def _scored(runs: list[list[float]], val_runs: list[list[float]], probe: str, protocol: str) -> Score:
    return Score(
        accuracy=_over_seeds(runs),
        val_accuracy=_over_seeds(val_runs),
        probe=probe,
        protocol=protocol,
        encoder_seeds=len(runs),
        probe_seeds=len(runs[0]),
        runs=runs,
        val_runs=val_runs,
    )


def _over_seeds(runs: list[list[float]]) -> Summary:
    return summarize(runs[0] if len(runs) == 1 else [fmean(run) for run in runs])


def _protocol(encoders: int, probes: int) -> str:
    kind = "paper" if encoders == 1 else "honest"
    return f"{kind}: {_counted(encoders, 'encoder')} × {_counted(probes, 'probe')}"


def _counted(number: int, what: str) -> str:
    return f"{number} {what} seed{'s' if number > 1 else ''}"
