"""Accuracy with its spread over encoder seeds or probe seeds."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import fmean, stdev

import numpy as np
import torch
from torch import Tensor

from ..errors import SignnapError, unknown_name
from ..graph import SparseFeatures
from ..graph.arrays import Array, as_tensor, expect_float32
from .inputs import Embeddings, as_embeddings, balanced_accuracy
from .linear import ProbeResult, ProbeSettings, linear_probe
from .logistic import LogisticResult, logistic_probe

_log = logging.getLogger(__name__)

_DGI = ProbeSettings(lr=0.01, weight_decay=0.0, logit_dropout=0.0)

#: The settings of each probe; None for the logistic probe. "linear" is the paper's probe for SIGNNAP and "linear-dgi"
#: its probe for DGI. "linear-plain" has no dropout on the logits, which is fairer between methods. "linear-quick" only
#: shows that an evaluation runs. "linear-100", "linear-300" and "linear-2000" are the probes in the code of DGI, MVGRL
#: and CCA-SSG, and "linear-300-decayed" is that of MVGRL and GraphMAE on citeseer.
PROBES: dict[str, ProbeSettings | None] = {
    "linear": ProbeSettings(),
    "linear-plain": ProbeSettings(logit_dropout=0.0),
    "linear-dgi": _DGI,
    "linear-quick": ProbeSettings(epochs=20),
    "linear-100": replace(_DGI, epochs=100, patience=100, choose="last"),
    "linear-300": replace(_DGI, epochs=300, patience=300, choose="last"),
    "linear-300-decayed": replace(_DGI, weight_decay=0.01, epochs=300, patience=300, choose="last"),
    "linear-2000": replace(_DGI, weight_decay=1e-4, epochs=2000, patience=2000, choose="accuracy"),
    "logistic": None,
}


def probe_settings(probe: str, weight_decay: float | None = None) -> ProbeSettings | None:
    """The settings of a probe; None for the logistic probe.

    ``weight_decay`` applies to probes that have no weight decay of their own.
    """
    if probe not in PROBES:
        raise unknown_name("probe", probe, PROBES)
    settings = PROBES[probe]
    if settings is None or settings.weight_decay is not None:
        return settings
    return replace(settings, weight_decay=weight_decay)


@dataclass(frozen=True)
class Summary:
    """Mean and sample standard deviation (n − 1) of the values; the deviation of a single value is 0."""

    mean: float
    std: float
    values: list[float]

    def __str__(self) -> str:
        return plus_minus(self.mean, self.std)


def plus_minus(mean: float, std: float, digits: int = 2) -> str:
    """Format a mean and its spread.

    >>> plus_minus(85.953, 1.4), plus_minus(0.98125, 0.0049, 3)
    ('85.95 ± 1.40', '0.981 ± 0.005')
    """
    return f"{mean:.{digits}f} ± {std:.{digits}f}"


def summarize(values: Sequence[float]) -> Summary:
    """Mean and standard deviation of at least one number."""
    numbers = [float(value) for value in values]
    if not numbers:
        raise SignnapError("there is nothing to summarise: expected at least one value")
    return Summary(fmean(numbers), stdev(numbers) if len(numbers) > 1 else 0.0, numbers)


@dataclass(frozen=True)
class Score:
    """Accuracies in percent.

    ``runs[e][p]`` is the test accuracy of probe p on the embeddings of encoder e, and ``val_runs`` the same on
    validation nodes. With one encoder the spread is that over its probes, as in the paper. With several encoders it is
    that over the mean accuracies of the encoders: this is the spread that a user who trains once will see. ``protocol``
    names the spread. ``balanced_accuracy`` is the mean over classes of the accuracy on the test nodes of the class: if
    one class is frequent, it shows what ``accuracy`` hides.
    """

    accuracy: Summary
    balanced_accuracy: Summary
    val_accuracy: Summary
    probe: str
    protocol: str
    encoder_seeds: int
    probe_seeds: int
    runs: list[list[float]]
    val_runs: list[list[float]]


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
    """Score the embeddings of one or more encoder seeds on one split.

    ``weight_decay`` applies to a linear probe that has none of its own (None: the default), and ``resample`` holds one
    callable per encoder for ``linear_probe``. The logistic probe has no randomness and counts as one probe seed.
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
        raise SignnapError(
            f"the probe {probe} has no epochs and cannot train on dropped graphs: expected a linear probe"
        )

    def judge(z: Embeddings | Array, draw: Callable[[], Array] | None) -> Sequence[ProbeResult | LogisticResult]:
        if settings is None:
            return [logistic_probe(z, y, train, val, test)]
        return linear_probe(z, y, train, val, test, settings=settings, seeds=seeds, resample=draw)

    results = [judge(z, draw) for z, draw in zip(embeddings, draws, strict=True)]
    runs = [[100 * r.test_accuracy for r in probes] for probes in results]
    balanced = [[100 * r.balanced_accuracy for r in probes] for probes in results]
    val_runs = [[100 * r.val_accuracy for r in probes] for probes in results]
    return _scored(runs, balanced, val_runs, probe, _protocol(len(runs), len(runs[0])))


def _note_equal(embeddings: Sequence[Embeddings | Array]) -> None:
    """Note two equal embeddings: they are one encoder seed, and the spread is too small."""
    dense = [(number, z) for number, z in enumerate(map(as_embeddings, embeddings), 1) if isinstance(z, Tensor)]
    for (one, first), (other, second) in combinations(dense, 2):
        if first.device == second.device and torch.equal(first, second):
            _log.info("embeddings %d and %d are the same, but count as those of two encoder seeds", one, other)
            return


def _expect_apart(name: str, part: Tensor, test: Tensor) -> None:
    """Refuse test nodes that are also training or validation nodes. ``labelled_parts`` refuses masks."""
    if torch.bool in (part.dtype, test.dtype):
        return
    seen = test[torch.isin(test.long(), part.long())]
    if len(seen):
        raise SignnapError(f"node {int(seen[0])} is in the {name} and in the test part: expected it in one")


def score_classes(scores: Sequence[Array], y: Array, val: Array, test: Array) -> Score:
    """Score networks that were trained on labels, one per encoder seed, by their own class predictions."""
    if not len(scores):
        raise SignnapError("expected a list with the class scores of one or more encoder seeds")
    protocol = f"over encoder seeds ({_counted(len(scores), 'encoder')}, no probe)"
    labels = as_tensor(y)
    return _without_probe([as_tensor(s).argmax(dim=1) == labels for s in scores], labels, val, test, protocol)


def score_most_frequent(y: Array, train: Array, val: Array, test: Array) -> Score:
    """Score the prediction of the most frequent class of the training nodes for every node.

    If several classes are equally frequent, as in a split with equally many nodes of each class, the result is the
    average over these classes.
    """
    labels = as_tensor(y, "labels")
    classes, counts = labels[as_tensor(train)].unique(return_counts=True)
    frequent = classes[counts == counts.max()]
    right = torch.isin(labels, frequent) / len(frequent)
    return _without_probe([right], labels, val, test, "one answer for all nodes")


def _without_probe(right: Sequence[Tensor], y: Tensor, val: Array, test: Array, protocol: str) -> Score:
    """Score the predictions of each encoder seed. ``right`` holds 1 for each node with the right class, else 0."""
    judged = as_tensor(test)
    runs, val_runs = ([[_accuracy(r, as_tensor(part))] for r in right] for part in (test, val))
    balanced = [[100 * float(balanced_accuracy(r[judged], y[judged]))] for r in right]
    return _scored(runs, balanced, val_runs, "none", protocol)


def _accuracy(right: Tensor, nodes: Tensor) -> float:
    return 100 * float(right[nodes].double().mean())


def _scored(
    runs: list[list[float]], balanced: list[list[float]], val_runs: list[list[float]], probe: str, protocol: str
) -> Score:
    return Score(
        accuracy=_over_seeds(runs),
        balanced_accuracy=_over_seeds(balanced),
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
    kind = "probe" if encoders == 1 else "encoder"
    return f"over {kind} seeds ({_counted(encoders, 'encoder')} × {_counted(probes, 'probe')})"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'s' if number > 1 else ''}"
