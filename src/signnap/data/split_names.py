"""How a split is written. Settings are checked by this, so nothing here needs torch."""

from __future__ import annotations

_INDUCTIVE = "inductive"


def parse_split(spec: str) -> tuple[str, bool]:
    """The rule by which nodes are chosen, and whether those that are judged are hidden from training.

    >>> parse_split("random:0.1:0.1"), parse_split("inductive:random:0.1:0.1"), parse_split("inductive")
    (('random:0.1:0.1', False), ('random:0.1:0.1', True), ('paper', True))
    """
    if spec == _INDUCTIVE:
        return "paper", True
    rule = spec.removeprefix(f"{_INDUCTIVE}:")
    return rule, rule != spec
