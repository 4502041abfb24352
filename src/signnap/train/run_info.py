"""The facts in ``run.json``, checked as they are read."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import SignnapError

#: The facts of every run, and optional facts.
_REQUIRED = {
    "fingerprint": str, "feature_names": list, "finished": bool,
    "num_nodes": int, "num_features": int, "num_classes": int, "device": str,
}  # fmt: skip
_OPTIONAL = dict.fromkeys(("graph", "labels", "backbone", "objective", "perturbation"), str)

#: The fact with the SHA-256 hashes of files by name. A file has two hashes while it is being replaced: that of its
#: present content and that of its next content.
HASHES = "sha256"


@dataclass(frozen=True)
class RunInfo:
    """The graph and the device of a run, whether it is finished, and the hashes of its files.

    ``labels`` identifies the labels that the method learns from; None if it uses none. ``facts`` contains all facts,
    the named ones included.
    """

    fingerprint: str
    device: str
    finished: bool
    num_nodes: int
    num_features: int
    num_classes: int
    feature_names: tuple[str, ...]
    labels: str | None
    hashes: dict[str, tuple[str, ...]]
    facts: dict[str, Any]

    @classmethod
    def parse(cls, text: str, path: Path) -> RunInfo:
        """Parse and check the content of a file; errors name its path."""
        try:
            facts = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise SignnapError(f"{path} is not JSON: {' '.join(str(error).split())[:160]}") from error
        if not isinstance(facts, dict):
            raise SignnapError(f"{path} does not describe a run: expected an object with 'fingerprint' in it")
        for name, kind in {**_REQUIRED, **_OPTIONAL}.items():
            value = facts.get(name)
            if name in _OPTIONAL and name not in facts:
                continue
            if type(value) is not kind or (isinstance(value, int) and value < 0):
                raise SignnapError(f"{path} does not describe a run: expected {name!r} in it")
        if not all(isinstance(name, str) for name in facts["feature_names"]):
            raise SignnapError(f"{path} does not describe a run: expected texts as 'feature_names'")
        known = {name: facts[name] for name in _REQUIRED if name != "feature_names"}
        names, hashes = tuple(facts["feature_names"]), _hashes(facts.pop(HASHES, {}), path)
        return cls(**known, feature_names=names, labels=facts.get("labels"), hashes=hashes, facts=facts)


def _hashes(found: Any, path: Path) -> dict[str, tuple[str, ...]]:
    for hashes in found.values() if isinstance(found, dict) else [None]:
        if not isinstance(hashes, list) or not all(
            isinstance(each, str) and re.fullmatch("[0-9a-f]{64}", each) for each in hashes
        ):
            raise SignnapError(f"{path} does not describe a run: expected lists of SHA-256 hashes as {HASHES!r}")
    return {name: tuple(hashes) for name, hashes in found.items()}
