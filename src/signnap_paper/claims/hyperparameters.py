"""Are the paper's K, ρ and τ good choices, and are those that it warns of bad ones?"""

from __future__ import annotations

from math import isnan

from signnap.evaluate import plus_minus

from ..targets import hyperparameters
from ..targets.hyperparameters import LETTERS, PAPER, SWEEPS, cell_of
from .claim import Claim, Finding, Reading, ranked

_WHERE = "Hyper-parameter Analysis, observation {}"


def _near_best(read: Reading, setting: str, good: tuple[float, ...]) -> Finding:
    """Whether one of the values is the best of the sweep or within one deviation of it."""
    found = {value: read(cell_of(setting, value)) for value in SWEEPS[setting]}
    best = max(found, key=lambda value: found[value])
    deviation = read.deviation(cell_of(setting, best))
    gap = found[best] - max(found[value] for value in good)
    text = ranked({f"{LETTERS[setting]} = {value}:": number for value, number in found.items()})
    return Finding(gap <= deviation, f"{text}. The best has a deviation of {deviation:.2f} over encoders.")


def _clearly_worse(read: Reading, setting: str, value: float) -> Finding:
    """Whether a value loses more than one deviation against the paper's own, or trains to no numbers at all."""
    own, other = (read(cell_of(setting, each)) for each in (PAPER[setting], value))
    deviation = read.deviation(cell_of(setting, PAPER[setting]))
    letter = LETTERS[setting]
    result = "training ends in NaN" if isnan(other) else f"{other:.2f}"
    text = f"{letter} = {PAPER[setting]}: {plus_minus(own, deviation)}; {letter} = {value}: {result}."
    return Finding(isnan(other) or own - other > deviation, text)


def _good(setting: str, values: tuple[float, ...], about: str, observation: int) -> Claim:
    return Claim(
        f"{LETTERS[setting]} ≈ {about}",
        f"On {hyperparameters.GRAPH}, {LETTERS[setting]} ≈ {about} is the best of the sweep, or within one standard "
        "deviation over encoders of the best.",
        _WHERE.format(observation), "figure-hyperparameters",
        lambda: [cell_of(setting, value) for value in SWEEPS[setting]],
        lambda read: _near_best(read, setting, values),
    )  # fmt: skip


def _bad(setting: str, value: float, words: str, observation: int, expected: str = "") -> Claim:
    return Claim(
        f"{words} {LETTERS[setting]} hurts",
        f"{words} {LETTERS[setting]} hurts: with {value}, training ends in NaN or accuracy is lower than with "
        f"{PAPER[setting]} by more than one standard deviation over encoders.{expected}",
        _WHERE.format(observation), "figure-hyperparameters",
        lambda: [cell_of(setting, each) for each in (PAPER[setting], value)],
        lambda read: _clearly_worse(read, setting, value), may_diverge=cell_of(setting, value),
    )  # fmt: skip


NEGATIVES = _good("negatives", (1024,), "1024", 1)
MANY_NEGATIVES = _bad("negatives", max(SWEEPS["negatives"]), "A larger", 1)
DROP_EDGE = _good("drop_edge", (0.3, 0.5), "0.3 to 0.5", 2)
SMALL_DROP = _bad("drop_edge", min(SWEEPS["drop_edge"]), "A small", 2)
LARGE_DROP = _bad("drop_edge", max(SWEEPS["drop_edge"]), "A large", 2)
TEMPERATURE = _good("temperature", (0.1,), "0.1", 3)
LOW_TEMPERATURE = _bad(
    "temperature", min(SWEEPS["temperature"]), "A much lower", 3, " The paper expects values to explode."
)
