"""Every method by its name."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

from ..errors import SignnapError, unknown_name
from ..train.run_folder import RunFolder
from .method import Method

#: Where a docstring says what it follows, which is nothing for users.
_SPEC = re.compile(r" \(spec §[^)]*\)|, spec §[^)]*(?=\))")

_HOMES = {
    "signnap": "signnap.SIGNNAP",
    "supervised": "supervised.Supervised",
    "dropedge": "supervised.DropEdgeSupervised",
    "deepwalk": "walking.DeepWalk",
    "node2vec": "walking.Node2Vec",
    "arwmf": "arwmf.ARWMF",
    "dgi": "dgi.DGI",
    "cmv": "mvgrl.MVGRL",
    "gcc": "gcc.GCC",
    "gcc-attributed": "gcc.AttributedGCC",
    "grace": "contrastive.GRACE",
    "gca": "contrastive.GCA",
    "bgrl": "bgrl.BGRL",
    "g-bt": "contrastive.GraphBarlowTwins",
    "cca-ssg": "contrastive.CCASSG",
    "graphmae": "graphmae.GraphMAE",
    "raw": "trivial.RawFeatures",
    "svd": "trivial.FeatureSVD",
    "propagated": "trivial.PropagatedFeatures",
    "untrained": "trivial.Untrained",
}


def method_class(name: str) -> type[Method]:
    """The class of a method."""
    if name not in list(_HOMES):
        raise unknown_name("method", name, _HOMES)
    module, _, kind = _HOMES[name].partition(".")
    return getattr(import_module(f"{__package__}.{module}"), kind)


def load_method(path: str | Path, **parts: Any) -> Method:
    """Read a run folder or a saved model of any method; parts of your own that it was made with are needed again."""
    folder = RunFolder(path)
    folder.expect()
    config = folder.read_config()
    name = config.get("method")
    if name not in list(_HOMES):  # a list compares with anything that a file may say
        raise SignnapError(f"{folder.config} names the method {name!r}: expected one of {', '.join(_HOMES)}")
    return method_class(name).from_run(folder, config, **parts)


def capabilities() -> list[dict[str, Any]]:
    """What every method declares about itself."""
    rows = []
    for name in _HOMES:
        kind = method_class(name)
        about = _SPEC.sub("", (kind.__doc__ or "").strip().splitlines()[0])
        rows.append(
            {
                "name": name,
                "uses_labels": kind.uses_labels,
                "reads_features": kind.reads_features,
                "inductive": kind.inductive,
                "memory": kind.memory,
                "time": kind.time,
                "about": about,
            }
        )
    return rows
