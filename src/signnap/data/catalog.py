"""The public benchmark graphs: what they hold, where they come from, and how their files are recognised.

Pure data and standard library only, so that a listing of the datasets needs no array library.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RawFile:
    """One file as its public source serves it.

    ``path`` is relative to the raw folder. ``sha256`` is None for archives that circulate in several
    compressions of the same arrays: those are recognised by the counts of the graph they give.
    """

    path: str
    url: str
    sha256: str | None = None


@dataclass(frozen=True)
class DatasetFacts:
    """The counts of a graph (undirected edges, no self-loops), its usual setting, and its origin."""

    nodes: int
    edges: int
    features: int
    classes: int
    setting: str  # "transductive" or "inductive"
    family: str  # the file format: "planetoid", "musae" or "npz"
    files: tuple[RawFile, ...]
    source: str


_GITHUB = "https://raw.githubusercontent.com"

#: The file ``x`` is left out: it repeats the first rows of ``allx``.
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


def _planetoid(name: str, nodes: int, edges: int, features: int, classes: int) -> DatasetFacts:
    files = tuple(
        RawFile(f"planetoid/ind.{name}.{part}", f"{_GITHUB}/kimiyoung/planetoid/master/data/ind.{name}.{part}", sha256)
        for part, sha256 in _PLANETOID_SHA256[name].items()
    )
    source = "github.com/kimiyoung/planetoid (MIT repository)"
    return DatasetFacts(nodes, edges, features, classes, "transductive", "planetoid", files, source)


def _npz(
    file: str, nodes: int, edges: int, features: int, classes: int, *, setting: str = "transductive"
) -> DatasetFacts:
    files = (RawFile(f"gnn-benchmark/{file}", f"{_GITHUB}/shchur/gnn-benchmark/master/data/npz/{file}"),)
    source = "github.com/shchur/gnn-benchmark (MIT repository)"
    return DatasetFacts(nodes, edges, features, classes, setting, "npz", files, source)


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
    ),
    "coauthor_cs": _npz("ms_academic_cs.npz", 18_333, 81_894, 6_805, 15),
    "amazon_computers": _npz("amazon_electronics_computers.npz", 13_752, 245_861, 767, 10),
    "amazon_photo": _npz("amazon_electronics_photo.npz", 7_650, 119_081, 745, 8),
    "coauthor_physics": _npz("ms_academic_phy.npz", 34_493, 247_962, 8_415, 5, setting="inductive"),
    "cora": _planetoid("cora", 2_708, 5_278, 1_433, 7),
    "citeseer": _planetoid("citeseer", 3_327, 4_552, 3_703, 6),
}
