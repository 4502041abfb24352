"""The device of a run, and what the run records in ``run.json``: versions, device, memory, graph, and its end."""

from __future__ import annotations

import json
import platform
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from .. import __version__
from ..errors import SignnapError
from ..graph import Graph
from ..graph.arrays import hash_of

#: The facts of every run, and optional facts.
_REQUIRED = {
    "fingerprint": str, "feature_names": list, "finished": bool,
    "num_nodes": int, "num_features": int, "num_classes": int, "device": str,
}  # fmt: skip
_OPTIONAL = dict.fromkeys(("graph", "labels", "backbone", "objective", "perturbation"), str)
_NUMBERS = ("iterations", "seconds", "peak_memory_mb")

#: The fact with the SHA-256 hashes of files by name. A file has two hashes while it is being replaced: that of its
#: present content and that of its next content.
HASHES = "sha256"


@dataclass(frozen=True)
class RunInfo:
    """The record of a run. ``facts`` holds everything that ``run.json`` holds, except the hashes of the files.

    ``labels`` is a hash of the labels that the run learns from, None if it uses none. ``iterations``, ``seconds`` and
    ``peak_memory_mb`` are 0 until training has ended. ``collapsed`` says what was wrong with the embeddings if
    training went on after a collapse.
    """

    graph: str
    fingerprint: str
    num_nodes: int
    num_features: int
    num_classes: int
    feature_names: tuple[str, ...]
    device: str
    finished: bool
    labels: str | None
    iterations: int
    seconds: float
    peak_memory_mb: float
    collapsed: str | None
    facts: dict[str, Any]
    hashes: dict[str, tuple[str, ...]] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, graph: Graph, **more: str) -> RunInfo:
        """The record of a run that begins on a graph. ``more`` are further facts by name."""
        facts = {
            "signnap": __version__,
            "torch": torch.__version__,
            "python": platform.python_version(),
            "device": str(graph.pattern.device),
            "threads": torch.get_num_threads(),
            "graph": graph.name,
            "fingerprint": graph.fingerprint(),
            "num_nodes": graph.num_nodes,
            "num_edges": graph.num_edges,
            "num_features": graph.num_features,
            "num_classes": graph.num_classes,
            "feature_names": list(graph.feature_names),
            "finished": False,
        }
        return cls._from(facts | more)

    def with_facts(self, **more: str) -> RunInfo:
        """This record with further facts, such as descriptions of the user's own parts."""
        return self._from(self.facts | more)

    def ended(
        self, iterations: int, seconds: float, numbers: Mapping[str, float], collapsed: str | None = None
    ) -> RunInfo:
        """The record of this run after training has ended. ``numbers`` are the metrics of the last iteration."""
        facts = self.facts | {
            "finished": True,
            "iterations": iterations,
            "seconds": round(seconds, 3),
            "peak_memory_mb": round(peak_memory_mb(torch.device(self.device)), 1),
            **numbers,
            **({"collapsed": collapsed} if collapsed else {}),
        }
        return self._from(facts)

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
        hashes = _hashes(facts.pop(HASHES, {}), path)
        return cls._from(facts, hashes)

    @classmethod
    def _from(cls, facts: dict[str, Any], hashes: dict[str, tuple[str, ...]] | None = None) -> RunInfo:
        known = {name: facts[name] for name in _REQUIRED if name != "feature_names"}
        numbers: Any = {name: v if isinstance(v := facts.get(name), (int, float)) else 0 for name in _NUMBERS}
        return cls(
            graph=facts.get("graph", ""), feature_names=tuple(facts["feature_names"]), labels=facts.get("labels"),
            collapsed=facts.get("collapsed"), facts=facts, hashes=hashes or {}, **known, **numbers,
        )  # fmt: skip


def _hashes(found: Any, path: Path) -> dict[str, tuple[str, ...]]:
    for hashes in found.values() if isinstance(found, dict) else [None]:
        if not isinstance(hashes, list) or not all(
            isinstance(each, str) and re.fullmatch("[0-9a-f]{64}", each) for each in hashes
        ):
            raise SignnapError(f"{path} does not describe a run: expected lists of SHA-256 hashes as {HASHES!r}")
    return {name: tuple(hashes) for name, hashes in found.items()}


def hash_of_labels(graph: Graph) -> dict[str, str]:
    """The fact ``labels``: a hash of the labels and the split of a graph; nothing for a graph without labels.

    The fingerprint of a graph ignores labels, because most methods never see them.
    """
    if graph.y is None:
        return {}
    split = sorted((graph.given_split or {}).items())
    return {"labels": hash_of(tensor.long() for tensor in (graph.y, *(nodes for _, nodes in split)))}


def choose_device(name: str) -> torch.device:
    """The device that auto, cpu or cuda stands for, if it exists."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name not in ("cpu", "cuda"):
        raise SignnapError(f"device is {name!r}: expected auto, cpu or cuda")
    if name == "cuda" and not torch.cuda.is_available():
        raise SignnapError("device is cuda, but torch finds no CUDA device here: use cpu")
    return torch.device(name)


def peak_memory_mb(device: torch.device) -> float:
    """The largest amount of memory that this process has held, in MB: memory of the GPU if that is the device."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 2**20
    if sys.platform == "linux":
        return process_memory_mb("VmHWM")
    try:
        import resource
    except ImportError:  # this system does not have it
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10


def process_memory_mb(key: str) -> float:
    """Memory of this process in MB according to Linux: ``VmRSS`` is the present amount, ``VmHWM`` the largest so far.

    The peak that ``getrusage`` reports may belong to the process that started this one.
    """
    with open("/proc/self/status", encoding="ascii", errors="replace") as status:
        return next((int(line.split()[1]) / 1024 for line in status if line.startswith(key)), 0.0)
