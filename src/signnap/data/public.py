"""The public benchmark graphs: what they contain, where their files come from, and how to load them by name.

A graph is accepted only if the SHA-256 of its edges, features, labels and split is the known one, whether it comes
from a server, from the user's own copy of the raw files, or from the cache.

Three environment variables control where files are. ``SIGNNAP_DATA`` is a folder with the raw files; nothing is
downloaded then. ``SIGNNAP_CACHE`` is the folder for downloads and converted graphs. ``SIGNNAP_MIRROR`` is the address
of a server with the same layout as the folder of raw files; it replaces the original sources.

Array libraries load on first use only, so that a list of the data sets needs none of them.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import SignnapError, unknown_name
from ..storage import cannot_write

if TYPE_CHECKING:
    from ..graph import Graph

_CACHE_VERSION = 1
_PARTS = ("train", "val", "test")


@dataclass(frozen=True)
class RawFile:
    """One file of a public source; ``path`` is relative to the folder of raw files.

    ``sha256`` is None for archives that circulate in several compressions of the same arrays. The hash of the resulting
    graph identifies these.
    """

    path: str
    url: str
    sha256: str | None = None


@dataclass(frozen=True)
class DatasetFacts:
    """The counts of a graph (undirected edges, no self-loops), its usual setting, its source, and its hash."""

    nodes: int
    edges: int
    features: int
    classes: int
    setting: str  # "transductive" or "inductive"
    family: str  # the file format: "planetoid", "musae" or "npz"
    files: tuple[RawFile, ...]
    source: str
    sha256: str  # of the converted graph, see ``content_hash``


_GITHUB = "https://raw.githubusercontent.com"

#: The file ``x`` is not needed: it repeats the first rows of ``allx``.
_PLANETOID_SHA256 = {
    "pubmed": {
        "y": "e6c807633307a07ed659249006536a147c7999c797f11a2560752990181b41b3",
        "tx": "4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d",
        "ty": "ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd",
        "allx": "508e538e2abdccdd54c4d3e9f49d638b4af7107d85845f66ddea5a5152658b7e",
        "ally": "0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e",
        "graph": "5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9",
        "test.index": "b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5",
    },
    "cora": {
        "y": "94465c14eb53e04ca262198dcbb2521ee8af60fb3f3d546cd6ca24a511b0e7d1",
        "tx": "b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a",
        "ty": "41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad",
        "allx": "9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543",
        "ally": "2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71",
        "graph": "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d",
        "test.index": "297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875",
    },
    "citeseer": {
        "y": "8ba87e515d8e3ee3cf52f6d2c5b86aa73f11ecad825a808455209ec26cd54924",
        "tx": "539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21",
        "ty": "55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce",
        "allx": "2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668",
        "ally": "f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95",
        "graph": "d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7",
        "test.index": "2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4",
    },
}

_MUSAE_FILES = (
    RawFile(
        "musae/facebook_edges.csv",
        f"{_GITHUB}/benedekrozemberczki/MUSAE/master/input/edges/facebook_edges.csv",
        "7c50d8f02a75cc0829577814a1fc14535164daa38d79c3612340c9e9cdbd4022",
    ),
    RawFile(
        "musae/facebook_features.json",
        f"{_GITHUB}/benedekrozemberczki/MUSAE/master/input/features/facebook.json",
        "ea870537646a93642a0008d38aa9bfeff02018070ba97b1f3f469d9622626436",
    ),
    RawFile(
        "musae/facebook_target.csv",
        f"{_GITHUB}/benedekrozemberczki/MUSAE/master/input/target/facebook_target.csv",
        "7bd96eafea3c2ca40f44bfa9e73642194696c21e38c7b29ed409c32ad14075cd",
    ),
)


#: ``content_hash`` of every converted graph.
_GRAPH_SHA256 = {
    "pubmed": "967e444cedae17f2ff02e50a6ba06ae8ef23ce2419a69e02f5eae9e84f3d74a2",
    "facebook": "5d1699791898502fac4fcf4dad81283ecf3b80b9d9ff89b84660888afe177f40",
    "coauthor_cs": "20b2baaa7c18827d6f88e38f1341dc48bae10103c8696db80a3d0fc328730c56",
    "amazon_computers": "7a6c341ae8c4ab5bbad5814e4fad9d74564e552f7db6c8fffbdb7dca794c94d0",
    "amazon_photo": "9c48cdb9c85f66e2b37df389ce9f9f0310551336d6e6f952113b9278f86d32e6",
    "coauthor_physics": "00d6c76cd11f6bb5243491fae05a0ef2fbed41242fb6b27b32a599a1001e93d6",
    "cora": "90bdb4b9e214f15194b1f9be7e2418ac4973f3c6508508f01846baf3917eb9d2",
    "citeseer": "bbc067ef8eefe45b8df6b681e2dbea6d1a2ea1b15ae50924d731409622678534",
}


def _planetoid(name: str, nodes: int, edges: int, features: int, classes: int) -> DatasetFacts:
    files = tuple(
        RawFile(f"planetoid/ind.{name}.{part}", f"{_GITHUB}/kimiyoung/planetoid/master/data/ind.{name}.{part}", sha256)
        for part, sha256 in _PLANETOID_SHA256[name].items()
    )
    source = "github.com/kimiyoung/planetoid (MIT repository)"
    counts = nodes, edges, features, classes
    return DatasetFacts(*counts, "transductive", "planetoid", files, source, _GRAPH_SHA256[name])


def _npz(
    name: str, file: str, nodes: int, edges: int, features: int, classes: int, *, setting: str = "transductive"
) -> DatasetFacts:
    files = (RawFile(f"gnn-benchmark/{file}", f"{_GITHUB}/shchur/gnn-benchmark/master/data/npz/{file}"),)
    source = "github.com/shchur/gnn-benchmark (MIT repository)"
    return DatasetFacts(nodes, edges, features, classes, setting, "npz", files, source, _GRAPH_SHA256[name])


DATASETS: dict[str, DatasetFacts] = {
    "pubmed": _planetoid("pubmed", 19_717, 44_324, 500, 3),
    "facebook": DatasetFacts(
        nodes=22_470,
        edges=170_823,
        features=4_714,
        classes=4,
        setting="transductive",
        family="musae",
        files=_MUSAE_FILES,
        source="github.com/benedekrozemberczki/MUSAE (GPL-3 repository, data from SNAP)",
        sha256=_GRAPH_SHA256["facebook"],
    ),
    "coauthor_cs": _npz("coauthor_cs", "ms_academic_cs.npz", 18_333, 81_894, 6_805, 15),
    "amazon_computers": _npz("amazon_computers", "amazon_electronics_computers.npz", 13_752, 245_861, 767, 10),
    "amazon_photo": _npz("amazon_photo", "amazon_electronics_photo.npz", 7_650, 119_081, 745, 8),
    "coauthor_physics": _npz("coauthor_physics", "ms_academic_phy.npz", 34_493, 247_962, 8_415, 5, setting="inductive"),
    "cora": _planetoid("cora", 2_708, 5_278, 1_433, 7),
    "citeseer": _planetoid("citeseer", 3_327, 4_552, 3_703, 6),
}


def load_public(name: str) -> Graph:
    """Load a public graph by name. The first call converts the raw files and caches the result.

    The counts and the hash of the graph must be those in ``DATASETS``.
    """
    if name not in DATASETS:
        raise unknown_name("dataset", name, DATASETS)
    facts = DATASETS[name]
    cached = cache_folder() / "graphs" / f"{name}.npz"
    graph = _from_cache(cached, name, facts)
    if graph is None:
        graph = _converted(name, facts)
        with suppress(SignnapError):  # without a cache, the next call only takes longer
            _to_cache(cached, graph)
    return graph


def cache_folder() -> Path:
    """The folder for files that the package can create again."""
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


def content_hash(graph: Graph) -> str:
    """The SHA-256 of edges, features, labels and split; on every machine the same.

    Class names do not count: some copies of the archives pickle them, so that the graph has none.
    """
    import numpy as np

    from ..graph import SparseFeatures

    parts = [("edges", "<i4", graph.pattern.indptr), ("edges", "<i4", graph.pattern.indices)]
    if isinstance(graph.x, SparseFeatures):
        parts += [("features", "<i4", graph.x.indptr), ("features", "<i4", graph.x.indices)]
    parts.append(("features", "<f4", graph.x.values if isinstance(graph.x, SparseFeatures) else graph.x))
    if graph.y is not None:
        parts.append(("labels", "<i8", graph.y))
    parts += [(part, "<i8", rows) for part, rows in sorted((graph.given_split or {}).items())]
    digest = hashlib.sha256(str(tuple(graph.x.shape)).encode())
    for name, kind, numbers in parts:
        digest.update(f"{name} {kind} {tuple(numbers.shape)}".encode())
        digest.update(np.ascontiguousarray(numbers.cpu().numpy(), dtype=kind).data)
    return digest.hexdigest()


def _converted(name: str, facts: DatasetFacts) -> Graph:
    """Read the raw files, after downloading them where needed, and check the counts and the hash of the graph."""
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
        # A wrong download without a checksum is noticed only here. Remove it, so that the next call repeats it.
        for file in () if own else facts.files:
            if file.sha256 is None:
                (folder / file.path).unlink(missing_ok=True)
        raise


def _read(folder: Path, name: str, facts: DatasetFacts) -> Graph:
    """Read the raw files of one family."""
    from ..graph import Graph
    from .musae import read_facebook
    from .npz import read_npz
    from .planetoid import read_planetoid

    first = folder / facts.files[0].path
    if facts.family == "planetoid":
        return read_planetoid(first.parent, name)
    if facts.family == "musae":
        return read_facebook(first.parent)
    return read_npz(first, Graph.from_edges, name)


def _download(file: RawFile, destination: Path) -> None:
    """Download a raw file, unless it is there and its checksum agrees."""
    from .download import fetch

    if destination.is_file() and file.sha256 in (None, hashlib.sha256(destination.read_bytes()).hexdigest()):
        return
    mirror = os.environ.get("SIGNNAP_MIRROR")
    url = f"{mirror.rstrip('/')}/{file.path}" if mirror else file.url
    with _private(destination):
        fetch(url, destination, sha256=file.sha256, by_hand=f"SIGNNAP_DATA/{file.path}")


def _difference(graph: Graph, facts: DatasetFacts) -> str | None:
    """A message about the first count that differs from the expected one, or else about the hash."""
    found = graph.num_nodes, graph.num_edges, graph.num_features, graph.num_classes
    for what, count in zip(("nodes", "edges", "features", "classes"), found, strict=True):
        expected = getattr(facts, what)
        if count != expected:
            return f"expected {expected:,} {what}, the files give {count:,}"
    if (content := content_hash(graph)) != facts.sha256:
        return f"the files give other edges, features or labels: their SHA-256 is {content}, expected {facts.sha256}"
    return None


def _to_cache(path: Path, graph: Graph) -> None:
    """Write an archive that ``read_npz`` can read, with report and split under further keys."""
    import numpy as np

    from .npz import write_npz

    split = {f"split_{part}": rows.numpy() for part, rows in (graph.given_split or {}).items()}
    with _private(path):
        write_npz(path, graph, version=np.array([_CACHE_VERSION]), report=np.array(astuple(graph.report)), **split)


@contextmanager
def _private(path: Path) -> Iterator[None]:
    """Let only this user enter the folder of a cache file, and only this user read and write the new file.

    A folder of the cache that another user made keeps its permissions, and so does a cache folder that was there.
    """
    root = cache_folder()
    try:
        for folder in reversed([each for each in (path.parent, *path.parent.parents) if not each.exists()]):
            folder.mkdir(mode=0o700, exist_ok=True)
        with suppress(PermissionError):
            (root / path.relative_to(root).parts[0]).chmod(0o700)
        yield
        with suppress(PermissionError):  # some disks have no permissions
            path.chmod(0o600)
    except OSError as error:
        raise cannot_write(path, error) from error


def _from_cache(path: Path, name: str, facts: DatasetFacts) -> Graph | None:
    """The cached graph, or None if the cache has no undamaged file of this version."""
    import torch

    from ..graph import EdgeReport, Graph
    from .npz import WHOLE, NpzArchive, graph_parts

    try:
        with NpzArchive(path) as archive:
            if archive.array("version", WHOLE, 1).tolist() != [_CACHE_VERSION]:
                return None
            parts = graph_parts(archive, name)
            report = EdgeReport(*archive.array("report", WHOLE, 1).tolist())
            rows = {
                part: torch.from_numpy(archive.array(f"split_{part}", WHOLE, 1))
                for part in _PARTS
                if f"split_{part}" in archive
            }
        graph = replace(Graph.from_edges(**parts, given_split=rows or None), report=report)
    except SignnapError:
        return None
    return None if _difference(graph, facts) else graph
