"""What a run records about itself, and what must agree before it is continued."""

from __future__ import annotations

import platform
from dataclasses import asdict, fields
from typing import Any

import torch

from .. import __version__
from ..errors import SignnapError
from ..graph import Graph
from ..graph.arrays import hash_of
from ..train.run_folder import RunFolder
from ..train.session import Outcome
from .basics import Basics
from .device import peak_memory_mb
from .own_parts import expect_same_parts


def run_facts(graph: Graph, outcome: Outcome | None = None) -> dict[str, Any]:
    """Versions, device and graph of a run and, once it is over, how it ended."""
    facts: dict[str, Any] = {
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
        "finished": outcome is not None,
    }
    if outcome is not None:
        facts |= {
            "iterations": outcome.iteration,
            "seconds": round(outcome.seconds, 3),
            "peak_memory_mb": round(peak_memory_mb(graph.pattern.device), 1),
            **outcome.numbers,
            **({"collapsed": outcome.collapsed} if outcome.collapsed else {}),
        }
    return facts


def label_facts(graph: Graph) -> dict[str, str]:
    """What recognises the labels that a run learns from, and the nodes that they are of; nothing where there are none.

    The fingerprint of a graph leaves them out, since most methods never see them.
    """
    if graph.y is None:
        return {}
    split = sorted((graph.given_split or {}).items())
    return {"labels": hash_of(tensor.long() for tensor in (graph.y, *(nodes for _, nodes in split)))}


def check_resumable(
    folder: RunFolder, settings: Basics, facts: dict[str, Any], resume: bool, *, extendable: bool
) -> None:
    """Make sure that a folder is free for a new run, or holds the very run that is to be continued.

    An ``extendable`` method may continue with another number of iterations, unless its learning rate depends on that.
    """
    if not folder.exists():
        if resume:
            raise SignnapError(f"{folder.path} holds no run to resume: it has no {folder.config.name}")
        return
    if not resume:
        raise SignnapError(
            f"{folder.path} already holds a run: resume it (--resume, resume=True), or choose another folder"
        )
    _expect_same_settings(folder, settings, extendable)
    known = folder.read_info()
    if known.fingerprint != facts["fingerprint"]:
        raise SignnapError(f"{folder.path} was trained on another graph than {facts['graph']}: cannot resume")
    if known.labels not in (None, facts.get("labels")):  # older runs have not recorded them
        raise SignnapError(f"{folder.path} was trained on other labels than those of {facts['graph']}: cannot resume")
    expect_same_parts(str(folder.path), known.facts, facts)
    before, now = (device.partition(":")[0] for device in (known.device, facts["device"]))
    if before != now and folder.can_continue():
        raise SignnapError(
            f"{folder.path} was trained on {before}, and its random numbers go on only there: "
            f"resume it with device {before}, not {now}"
        )
    if known.finished and not folder.can_continue():
        raise SignnapError(f"{folder.path} holds a model without its training state: cannot resume")


def _expect_same_settings(folder: RunFolder, settings: Basics, extendable: bool) -> None:
    # a setting that is younger than the run was, in effect, at its default
    before, why = {each.name: each.default for each in fields(settings)} | folder.read_config(), ""
    for name, value in asdict(settings).items():
        if before.get(name) == value:
            continue
        if name == "iterations":
            if extendable and settings.schedule == "constant":
                continue
            what = f"the schedule {settings.schedule}" if extendable else settings.method
            why = f", since {what} depends on how many there will be"
        raise SignnapError(
            f"{folder.path} was trained with {name} = {before.get(name)!r}, not {value!r}: cannot resume{why}"
        )
