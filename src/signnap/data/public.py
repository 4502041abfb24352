"""The public benchmark graphs by name: found, converted once, checked, and kept.

Three environment variables decide where files are: ``SIGNNAP_DATA`` is a folder with the raw files, so that nothing
is downloaded; ``SIGNNAP_CACHE`` is where downloads and converted graphs are kept; ``SIGNNAP_MIRROR`` is the address
of a server with the layout of the raw folder, used instead of the original sources.
"""

from __future__ import annotations

import hashlib
import os
import sys
from contextlib import suppress
from dataclasses import astuple, replace
from pathlib import Path

import numpy as np
import torch

from ..errors import SignnapError, unknown_name
from ..graph import EdgeReport, Graph
from .catalog import DATASETS, DatasetFacts, RawFile
from .download import fetch
from .musae import read_facebook
from .npz import WHOLE, NpzArchive, graph_parts, read_npz, write_npz
from .planetoid import read_planetoid

_CACHE_VERSION = 1
_PARTS = ("train", "val", "test")


def load_public(name: str) -> Graph:
    """Load a benchmark graph, converting its raw files on the first call.

    The counts of nodes, edges, features and classes are those of the catalog, or an error says which differ.
    """
    if name not in DATASETS:
        raise unknown_name("dataset", name, DATASETS)
    facts = DATASETS[name]
    cached = cache_folder() / "graphs" / f"{name}.npz"
    graph = _from_cache(cached, name, facts)
    if graph is None:
        graph = _converted(name, facts)
        with suppress(SignnapError):  # a folder that cannot be written costs time on the next call, nothing else
            _to_cache(cached, graph)
    return graph


def cache_folder() -> Path:
    """Where this package keeps what it can make again."""
    if named := os.environ.get("SIGNNAP_CACHE"):
        return Path(named)
    if named := os.environ.get("XDG_CACHE_HOME"):
        return Path(named) / "signnap"
    try:
        home = Path.home()
    except RuntimeError as error:
        raise SignnapError("there is no home folder to keep files in: set SIGNNAP_CACHE to a folder") from error
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "signnap" / "cache"
    return home / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "signnap"


def _converted(name: str, facts: DatasetFacts) -> Graph:
    own = os.environ.get("SIGNNAP_DATA")
    folder = Path(own) if own else cache_folder() / "raw"
    for file in facts.files:
        if not own:
            _download(file, folder / file.path)
        elif not (folder / file.path).is_file():
            raise SignnapError(
                f"{name} needs the file {folder / file.path}, which is not there (SIGNNAP_DATA is {own})"
            )
    try:
        graph = _read(folder, name, facts)
        if difference := _difference(graph, facts):
            raise SignnapError(f"{name}: {difference}")
        return graph
    except SignnapError:
        # A download without a checksum is only recognised here: the next call must not meet it again.
        for file in () if own else facts.files:
            if file.sha256 is None:
                (folder / file.path).unlink(missing_ok=True)
        raise


def _read(folder: Path, name: str, facts: DatasetFacts) -> Graph:
    first = folder / facts.files[0].path
    if facts.family == "planetoid":
        return read_planetoid(first.parent, name)
    if facts.family == "musae":
        return read_facebook(first.parent)
    return read_npz(first, name, Graph.from_edges)


def _download(file: RawFile, destination: Path) -> None:
    """Fetch a raw file unless it is there and whole."""
    if destination.is_file() and file.sha256 in (None, hashlib.sha256(destination.read_bytes()).hexdigest()):
        return
    mirror = os.environ.get("SIGNNAP_MIRROR")
    url = f"{mirror.rstrip('/')}/{file.path}" if mirror else file.url
    fetch(url, destination, sha256=file.sha256, by_hand=f"SIGNNAP_DATA/{file.path}")


def _difference(graph: Graph, facts: DatasetFacts) -> str | None:
    """The first count that is not the catalog's, in words."""
    found = graph.num_nodes, graph.num_edges, graph.num_features, graph.num_classes
    for what, count in zip(("nodes", "edges", "features", "classes"), found, strict=True):
        expected = getattr(facts, what)
        if count != expected:
            return f"expected {expected:,} {what}, the files give {count:,}"
    return None


def _to_cache(path: Path, graph: Graph) -> None:
    """Write an archive that ``read_npz`` understands too, with the rest of the graph under further keys."""
    split = {f"split_{part}": rows.numpy() for part, rows in (graph.given_split or {}).items()}
    write_npz(path, graph, version=np.array([_CACHE_VERSION]), report=np.array(astuple(graph.report)), **split)


def _from_cache(path: Path, name: str, facts: DatasetFacts) -> Graph | None:
    """The converted graph, or None where there is none of this version that is whole."""
    try:
        with NpzArchive(path) as archive:
            if archive.array("version", WHOLE, 1).tolist() != [_CACHE_VERSION]:
                return None
            graph = Graph.from_edges(**graph_parts(archive, name))
            report = EdgeReport(*archive.array("report", WHOLE, 1).tolist())
            rows = {
                part: torch.from_numpy(archive.array(f"split_{part}", WHOLE, 1))
                for part in _PARTS
                if f"split_{part}" in archive
            }
    except SignnapError:
        return None
    return None if _difference(graph, facts) else replace(graph, report=report, given_split=rows or None)
