"""The paper's claims that its figures support: about depth, stability, clusters, hyper-parameters and width."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import isnan
from statistics import fmean
from typing import Any

from signnap.evaluate import plus_minus

from . import depth, representations, sweeps
from .cells import Cell
from .depth import DEPTHS, FITTED_GRAPH, SMOOTHED_GRAPH, fitted_cell, smoothed_cell
from .paper import COMPARED, OURS, reported, reported_as
from .representations import STABLE_METHODS, stability_cell
from .summaries import Measure
from .sweeps import LETTERS, PAPER, WIDTH_GRAPHS, WIDTHS, swept_cell, width_cell
from .verdict import Claim, Finding, Reading, leads, ranked

# -- depth: how much accuracy and how many dimensions do embeddings lose with more layers? -----------------------------

_FEW, _MANY = min(DEPTHS), max(DEPTHS)
_DEEPER = DEPTHS[1:]
_SMOOTHING = "On Preventing Over-smoothing, observation {}"
_FITTING = "On Preventing Over-fitting, observation {}"
_LABELLED = ("GCN", _DROPPED := "DropEdge(GCN)")


def _loses_less(read: Reading, cell_of: Callable[[str, int], Cell], paper: str) -> Finding:
    few = {name: read(cell_of(name, _FEW)) for name in COMPARED}
    many = {name: read(cell_of(name, _MANY)) for name in COMPARED}
    kept = {name: many[name] - few[name] for name in COMPARED}
    steps = ", ".join(f"{name} {few[name]:.2f} to {many[name]:.2f}" for name in reversed(COMPARED))
    other = max((name for name in many if name != OURS), key=lambda name: many[name])
    ends = [f"{name} {few[name]:.2f} to {many[name]:.2f}" for name in (OURS, other)]
    return Finding(leads(kept, OURS) and leads(many, OURS), ", ".join(ends), f"{steps}.{paper}")


def _accuracy(target: str, graph: str, where: str, cell_of: Callable[[str, int], Cell], paper: str = "") -> Claim:
    sentence = (
        f"From {_FEW} to {_MANY} layers, SIGNNAP(GCN) loses less accuracy on {graph} than GCN, DropEdge(GCN) and "
    )
    return Claim(
        f"loses less accuracy with depth on {graph}",
        f"{sentence}DGI, and with {_MANY} layers it is the most accurate of the four.", where, target,
        lambda: [cell_of(name, depth) for name in COMPARED for depth in (_FEW, _MANY)],
        lambda read: _loses_less(read, cell_of, paper),
    )  # fmt: skip


def _reported_depth() -> str:
    """Quote the paper's text on facebook, because its figure has no numbers."""
    few, many = ([reported()["depth"][name][end] for name in (OURS, "others")] for end in (0, 1))
    return f" The paper: SIGNNAP(GCN) from {few[0]} to nearly {many[0]}, the others from {few[1]} to nearly {many[1]}."


def _stays_apart(read: Reading) -> Finding:
    rank = depth.spread_of("effective_rank")
    found = {name: read(smoothed_cell(name, _MANY), rank) for name in COMPARED}
    limit = "The networks with labels output three class scores, so their effective rank cannot exceed 3."
    return Finding(leads(found, OURS), ranked(found), f"Effective rank: {ranked(found)}. {limit}")


def _relieves(read: Reading) -> Finding:
    found = {name: [read(smoothed_cell(name, depth)) for depth in _DEEPER] for name in _LABELLED}
    steps = "; ".join(f"{name} {', '.join(f'{value:.2f}' for value in values)}" for name, values in found.items())
    means = {name: fmean(values) for name, values in found.items()}
    layers = ", ".join(map(str, _DEEPER))
    text = f"With {layers} layers: {steps}. On average {ranked(means)}."
    return Finding(leads(means, _DROPPED), f"mean accuracy: {ranked(means)}", text)


def _curve_end(part: str) -> Measure:
    """Return the measure that reads the end of a curve; networks with labels and probes have curves of other names."""

    def measure(row: dict[str, Any]) -> list[float]:
        (found,) = row["looks"].values()
        return [curve[part][-1] for curve in found]

    return measure


def _fits_least(read: Reading) -> Finding:
    """Whether SIGNNAP has the lowest training accuracy and the highest validation accuracy."""
    end = lambda part: {name: read(fitted_cell(name, _FEW), _curve_end(part)) for name in COMPARED}
    train, val = end("train"), end("val")
    lowest = leads({name: -value for name, value in train.items()}, OURS)
    text = f"At the end of training: on training nodes {ranked(train)}; on validation nodes "
    number = f"SIGNNAP(GCN): training {train[OURS]:.2f}, validation {val[OURS]:.2f}"
    return Finding(lowest and leads(val, OURS), number, f"{text}{ranked(val)}.")


_DEPTH = (
    _accuracy("figure-overfitting", FITTED_GRAPH, _FITTING.format(1), fitted_cell, _reported_depth()),
    _accuracy("figure-oversmoothing", SMOOTHED_GRAPH, _SMOOTHING.format(1), smoothed_cell),
    Claim(
        "keeps more dimensions with depth",
        f"With {_MANY} layers on {SMOOTHED_GRAPH}, embeddings of SIGNNAP(GCN) have a larger effective rank than those "
        "of GCN, DropEdge(GCN) and DGI.",
        _SMOOTHING.format(1), "figure-oversmoothing",
        lambda: [smoothed_cell(name, _MANY) for name in COMPARED], _stays_apart,
    ),
    Claim(
        "DropEdge relieves over-smoothing",
        f"From {min(_DEEPER)} to {_MANY} layers on {SMOOTHED_GRAPH}, DropEdge(GCN) beats GCN in mean accuracy.",
        _SMOOTHING.format(2), "figure-oversmoothing",
        lambda: [smoothed_cell(name, depth) for name in _LABELLED for depth in _DEEPER], _relieves,
    ),
    Claim(
        "does not over-fit",
        f"Of four methods on {FITTED_GRAPH}, SIGNNAP(GCN) has the lowest training accuracy but the best validation "
        "accuracy.",
        _FITTING.format(2), "figure-overfitting", lambda: [fitted_cell(name, _FEW) for name in COMPARED], _fits_least,
    ),
)  # fmt: skip

# -- stability and clusters --------------------------------------------------------------------------------------------

_STABLE = "Stability of Node Representations"


def _most_stable(read: Reading, measure: Measure, first: str = OURS, others: Sequence[str] = STABLE_METHODS) -> Finding:
    """Whether the first method is more stable than all others."""
    found = {name: read(stability_cell(name), measure) for name in (first, *others)}
    return Finding(leads(found, first), ranked(found, 3), f"{ranked(found, 3)}.")


def _scaled(read: Reading) -> Finding:
    found = _most_stable(read, representations.scaled_cosines)
    theirs = ranked(reported()["stability"], 3)
    return Finding(found.holds, found.number, f"{found.evidence} The paper: {theirs}.")


def _more_stable(first: str, others: Sequence[str], sentence: str, observation: int) -> Claim:
    """Make the claim about two methods, by the plain cosine."""
    return Claim(
        f"{first} is more stable than {reported_as(others[0])}", sentence, f"{_STABLE}, observation {observation}",
        "figure-stability", lambda: [stability_cell(name) for name in (first, *others)],
        partial(_most_stable, measure=representations.cosines, first=first, others=others),
    )  # fmt: skip


def _clusters(read: Reading) -> Finding:
    found = {
        name: read(representations.mapped_cell(name), representations.silhouettes)
        for name in representations.MAPPED_METHODS
    }
    theirs = ranked(reported()["silhouette"], 4)
    return Finding(leads(found, OURS), ranked(found, 4), f"{ranked(found, 4)}. The paper: {theirs}.")


_REPRESENTATIONS = (
    Claim(
        "more stable",
        f"On {representations.STABLE_GRAPH}, SIGNNAP(GCN) has the highest mean cosine between the embeddings of copies "
        "with dropped edges.",
        _STABLE, "figure-stability", representations.STABILITY.recipe,
        partial(_most_stable, measure=representations.cosines),
    ),
    Claim(
        "more stable, scaled as in the paper",
        "SIGNNAP(GCN) has the highest mean of the cosine matrix after min-max scaling, diagonal included, as the paper "
        "reports it. Each matrix is scaled by its own extremes.",
        _STABLE, "figure-stability", representations.STABILITY.recipe, _scaled,
    ),
    Claim(
        "more stable, by the centred cosine",
        "SIGNNAP(GCN) has the highest mean cosine after the average embedding is subtracted. The plain cosine rewards "
        "encoders that map all nodes to one point.",
        _STABLE, "figure-stability", representations.STABILITY.recipe,
        partial(_most_stable, measure=representations.centred_cosines),
    ),
    _more_stable(
        "DropEdge(GCN)", ("DGI",),
        "DropEdge(GCN), which learns from labels on perturbed graphs, has a higher mean cosine than DGI.", 2,
    ),
    _more_stable(OURS, ("GCC, with features",), "SIGNNAP(GCN) has a higher mean cosine than GCC.", 3),
    Claim(
        "separates classes best",
        f"On {representations.MAPPED_GRAPH}, the embeddings of SIGNNAP(GCN) have the highest silhouette of classes.",
        "Smoothness and Identifiability of Node Representations", "figure-tsne", representations.TSNE.recipe,
        _clusters,
    ),
)  # fmt: skip
DEPTH_TO_CLUSTERS = (*_DEPTH, *_REPRESENTATIONS)

# -- hyper-parameters: are the paper's K, ρ and τ good choices, and are those that it warns of bad ones? ---------------

_ANALYSIS = "Hyper-parameter Analysis, observation {}"


def _near_best(read: Reading, setting: str, good: tuple[float, ...]) -> Finding:
    """Whether one of the values is the best of the sweep or within one deviation of it."""
    found = {value: read(swept_cell(setting, value)) for value in sweeps.SWEEPS[setting]}
    best = max(found, key=lambda value: found[value])
    deviation = read.deviation(swept_cell(setting, best))
    gap = found[best] - max(found[value] for value in good)
    text = ranked({f"{LETTERS[setting]} = {value}:": number for value, number in found.items()})
    letter, chosen = LETTERS[setting], max(good, key=lambda value: found[value])
    own = "" if chosen == best else f"{letter} = {chosen}: {found[chosen]:.2f}, "
    number = f"{own}best {letter} = {best}: {plus_minus(found[best], deviation)}"
    return Finding(gap <= deviation, number, f"{text}. The best has a deviation of {deviation:.2f} over encoders.")


def _clearly_worse(read: Reading, setting: str, value: float) -> Finding:
    """Whether a value is worse than the paper's by more than one deviation, or training with it ends in NaN."""
    own, other = (read(swept_cell(setting, each)) for each in (PAPER[setting], value))
    deviation = read.deviation(swept_cell(setting, PAPER[setting]))
    letter = LETTERS[setting]
    result = "training ends in NaN" if isnan(other) else f"{other:.2f}"
    text = f"{letter} = {PAPER[setting]}: {plus_minus(own, deviation)}; {letter} = {value}: {result}"
    return Finding(isnan(other) or own - other > deviation, text, f"{text}.")


def _good(setting: str, values: tuple[float, ...], about: str, observation: int) -> Claim:
    return Claim(
        f"{LETTERS[setting]} ≈ {about}",
        f"On {sweeps.SWEPT_GRAPH}, {LETTERS[setting]} ≈ {about} is the best value of the sweep, or within one standard "
        "deviation over encoders of the best.",
        _ANALYSIS.format(observation), "figure-hyperparameters",
        lambda: [swept_cell(setting, value) for value in sweeps.SWEEPS[setting]],
        lambda read: _near_best(read, setting, values),
    )  # fmt: skip


def _bad(
    setting: str, choose: Callable[[Sequence[float]], float], words: str, observation: int, more: str = ""
) -> Claim:
    value = choose(sweeps.SWEEPS[setting])
    return Claim(
        f"{words} {LETTERS[setting]} hurts",
        f"With {LETTERS[setting]} = {value}, training ends in NaN or accuracy is lower than with {PAPER[setting]} by "
        f"more than one standard deviation over encoders.{more}",
        _ANALYSIS.format(observation), "figure-hyperparameters",
        lambda: [swept_cell(setting, each) for each in (PAPER[setting], value)],
        lambda read: _clearly_worse(read, setting, value), may_diverge=swept_cell(setting, value),
    )  # fmt: skip


_HYPERPARAMETERS = (
    _good("negatives", (1024,), "1024", 1),
    _bad("negatives", max, "A larger", 1),
    _good("drop_edge", (0.3, 0.5), "0.3 to 0.5", 2),
    _bad("drop_edge", min, "A small", 2),
    _bad("drop_edge", max, "A large", 2),
    _good("temperature", (0.1,), "0.1", 3),
    _bad("temperature", min, "A much lower", 3, " The paper expects exploding values."),
)

# -- the width of embeddings -------------------------------------------------------------------------------------------

_FROM_TO = f"From {min(WIDTHS)} to {max(WIDTHS)} dimensions"


def _over_widths(read: Reading, name: str, graph: str) -> list[float]:
    return [read(width_cell(name, graph, dim)) for dim in WIDTHS]


def _varies_less(read: Reading) -> Finding:
    smaller, texts = [], []
    for graph in WIDTH_GRAPHS:
        found = [_over_widths(read, name, graph) for name in (OURS, "DGI")]
        ours, theirs = (max(values) - min(values) for values in found)
        smaller.append(ours < theirs)
        texts.append(f"{graph} {ours:.2f} against {theirs:.2f}")
    ranges = ", ".join(texts)
    return Finding(all(smaller), f"range: {ranges}", f"Range over dimensions, SIGNNAP(GCN) against DGI: {ranges}.")


def _exceeds(read: Reading, others: Sequence[str], enough: Callable[[list[bool]], bool]) -> Finding:
    """Whether SIGNNAP is better than others on average over widths, on all graphs or on some of them."""
    better, texts = [], []
    for graph in WIDTH_GRAPHS:
        found = {name: _over_widths(read, name, graph) for name in (OURS, *others)}
        means = {name: fmean(values) for name, values in found.items()}
        wins = sum(ours > max(theirs) for ours, *theirs in zip(*found.values(), strict=True))
        better.append(leads(means, OURS))
        texts.append(f"{graph} {ranked(means)}, better with {wins} of {len(WIDTHS)}")
    number = f"better on {sum(better)} of {len(WIDTH_GRAPHS)} graphs"
    return Finding(enough(better), number, f"Mean over dimensions: {'; '.join(texts)}.")


def _needs_width(read: Reading) -> Finding:
    best = {}
    for graph in WIDTH_GRAPHS:
        found = dict(zip(WIDTHS, _over_widths(read, "DGI", graph), strict=True))
        best[graph] = max(found, key=lambda dim: found[dim])
    text = ", ".join(f"{graph} {dim}" for graph, dim in best.items())
    return Finding({*best.values()} == {max(WIDTHS)}, f"best: {text}", f"The best dimension of DGI: {text}.")


def _of_widths(
    name: str, sentence: str, observation: int, methods: Sequence[str], check: Callable[[Reading], Finding]
) -> Claim:
    where = f"Different Latent Dimensions, observation {observation}"
    cells = lambda: [width_cell(each, graph, dim) for each in methods for graph in WIDTH_GRAPHS for dim in WIDTHS]
    return Claim(name, sentence, where, "figure-dimensions", cells, check)


_WIDTHS = (
    _of_widths(
        "exceeds supervised models over dimensions",
        f"{_FROM_TO}, SIGNNAP(GCN) is more accurate on average than GCN and DropEdge(GCN) on at least one of three "
        "graphs.",
        1, (OURS, *_LABELLED), lambda read: _exceeds(read, _LABELLED, any),
    ),
    _of_widths(
        "DGI needs wide embeddings", "On each of three graphs, DGI is most accurate with the largest dimension.",
        2, ("DGI",), _needs_width,
    ),
    _of_widths(
        "varies less over dimensions than DGI",
        f"{_FROM_TO}, the accuracy of SIGNNAP(GCN) varies less than that of DGI on each of three graphs.",
        2, (OURS, "DGI"), _varies_less,
    ),
    _of_widths(
        "better than DGI over dimensions",
        f"{_FROM_TO}, SIGNNAP(GCN) is more accurate on average than DGI on each of three graphs.",
        2, (OURS, "DGI"), lambda read: _exceeds(read, ("DGI",), all),
    ),
)  # fmt: skip
SWEEPS = (*_HYPERPARAMETERS, *_WIDTHS)
