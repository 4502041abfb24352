"""The public graphs from their real files, and faults in these files."""

import hashlib
import os
import pickle
import shutil
import stat
import struct
import sys
import zipfile
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from signnap import SignnapError, load_graph
from signnap.data import public
from signnap.data.planetoid import read_pickle, read_planetoid
from signnap.data.public import DATASETS, cache_folder, content_hash
from signnap.graph import Graph, SparseFeatures

GIVEN = ("train", "val", "test")


@pytest.fixture
def real(raw_data, monkeypatch):
    monkeypatch.setenv("SIGNNAP_DATA", str(raw_data))
    return raw_data


@pytest.fixture
def copied(real, monkeypatch, tmp_path):
    """Copy one family of raw files to a folder that a test can damage, and use an empty cache."""

    def copy(family):
        shutil.copytree(real / family, tmp_path / "raw" / family, copy_function=shutil.copyfile)
        monkeypatch.setenv("SIGNNAP_DATA", str(tmp_path / "raw"))
        monkeypatch.setenv("SIGNNAP_CACHE", str(tmp_path / "cache"))
        (tmp_path / "raw" / family).chmod(0o755)
        return tmp_path / "raw" / family

    return copy


def same(left, right):
    assert left.fingerprint() == right.fingerprint()
    assert (left.name, left.classes, left.report) == (right.name, right.classes, right.report)
    assert torch.equal(left.y, right.y)
    assert left.y.dtype == right.y.dtype == torch.int64
    assert isinstance(left.x, SparseFeatures) == isinstance(right.x, SparseFeatures)
    assert torch.equal(left.pattern.mirror, right.pattern.mirror)
    assert (left.given_split is None) == (right.given_split is None)
    for part in left.given_split or {}:
        assert torch.equal(left.given_split[part], right.given_split[part])


@pytest.mark.data
@pytest.mark.parametrize("name", DATASETS)
def test_real_graph_and_its_cached_copy(name, real, monkeypatch):
    cached = cache_folder() / "graphs" / f"{name}.npz"
    cached.unlink(missing_ok=True)
    graph, facts = load_graph(name), DATASETS[name]
    counts = graph.num_nodes, graph.num_edges, graph.num_features, graph.num_classes
    assert counts == (facts.nodes, facts.edges, facts.features, facts.classes)
    assert len(graph.classes) == (0 if facts.family == "planetoid" else facts.classes)
    assert (graph.given_split is not None) == (facts.family == "planetoid")
    assert (graph.y >= -1).all()
    assert int((graph.y < 0).sum()) == (15 if name == "citeseer" else 0)

    monkeypatch.setenv("SIGNNAP_DATA", "/nowhere")  # the second graph can only come from the cache
    same(graph, load_graph(name))
    with zipfile.ZipFile(cached) as archive:
        for member in archive.namelist():
            with archive.open(member) as stream:
                np.lib.format.read_magic(stream)
                assert not np.lib.format.read_array_header_1_0(stream)[2].hasobject
    assert load_graph(cached).fingerprint() == graph.fingerprint()


@pytest.mark.data
def test_catalog_knows_the_real_files(real):
    checked = [file for facts in DATASETS.values() for file in facts.files if file.sha256]
    assert len(checked) == 3 * 7 + 3
    for file in checked:
        assert hashlib.sha256((real / file.path).read_bytes()).hexdigest() == file.sha256
    for facts in DATASETS.values():
        for file in facts.files:
            assert (real / file.path).is_file()
            assert file.url.startswith("https://raw.githubusercontent.com/")
    assert [name for name, facts in DATASETS.items() if facts.setting == "inductive"] == ["coauthor_physics"]


@pytest.mark.data
@pytest.mark.parametrize("name", ["cora", "citeseer", "pubmed"])
def test_planetoid_rows_stand_where_test_index_says(name, real):
    graph = load_graph(name)
    at = lambda part: real / "planetoid" / f"ind.{name}.{part}"
    test = [int(line) for line in at("test.index").read_text().split()]
    x = graph.x.to_scipy()
    assert abs(x[test] - read_pickle(at("tx"))).max() == 0
    assert graph.y[test].tolist() == read_pickle(at("ty")).argmax(axis=1).tolist()
    train = len(read_pickle(at("y")))
    assert abs(x[:train] - read_pickle(at("x"))).max() == 0
    assert graph.y[:train].tolist() == read_pickle(at("y")).argmax(axis=1).tolist()
    split = {part: graph.given_split[part].tolist() for part in GIVEN}
    assert split == {"train": list(range(train)), "val": list(range(train, train + 500)), "test": sorted(test)}
    if name == "citeseer":
        missing = sorted(set(range(min(test), graph.num_nodes)) - set(test))
        assert len(missing) == 15
        assert x[missing].nnz == 0
        assert graph.y[missing].tolist() == [-1] * 15


@pytest.mark.data
def test_row_without_a_class_is_a_missing_label(copied):
    path = copied("planetoid") / "ind.cora.ally"
    before, after = path.read_bytes().rsplit(b"\x01\0\0\0", 1)
    path.write_bytes(before + b"\0\0\0\0" + after)
    assert (read_planetoid(path.parent, "cora").y < 0).nonzero().ravel().tolist() == [1707]
    with pytest.raises(SignnapError, match="cora: the files give other edges, features or labels: their SHA-256 is"):
        load_graph("cora")


@pytest.mark.data
def test_planetoid_classes_have_their_known_sizes(real):
    assert torch.bincount(load_graph("cora").y).tolist() == [351, 217, 418, 818, 426, 298, 180]
    assert torch.bincount(load_graph("pubmed").y).tolist() == [4103, 7739, 7875]


@pytest.mark.data
def test_coauthor_features_are_counts(real):
    assert load_graph("coauthor_cs").x.values.max() == 105


@pytest.mark.data
def test_missing_raw_file_is_named(copied):
    folder = copied("planetoid")
    (folder / "ind.cora.tx").unlink()
    with pytest.raises(SignnapError, match=r"cora needs the file .*planetoid.ind\.cora\.tx"):
        load_graph("cora")


def changed(graph):
    """The graph with one change in each of its parts, in which all counts stay the same."""
    nodes, split = graph.num_nodes, graph.given_split
    swapped = torch.arange(nodes)
    swapped[[0, 1]] = swapped[[1, 0]]
    x = graph.x if isinstance(graph.x, SparseFeatures) else SparseFeatures.from_scipy(sp.csr_matrix(graph.x.numpy()))
    x = x.with_values(x.values.roll(1) * 2)
    return {
        "labels": replace(graph, y=graph.y[torch.randperm(nodes)]),
        "features": replace(graph, x=x),
        "edges": replace(graph, pattern=graph.pattern.subset(swapped)),
        "split": replace(graph, given_split=split and split | {"val": split["test"], "test": split["val"]}),
    }


def test_content_hash_against_a_slow_twin():
    """The hash is that of numbers in little-endian order, whatever the machine."""
    fields = {"y": [1, 0, -1], "given_split": {"val": torch.tensor([2])}}
    graph = Graph.from_edges([0], [1], sp.csr_matrix([[0.5, 0, 0, 0, 0], [0] * 5, [0, 2, 0, 0, 0]]), **fields)
    parts = [
        b"(3, 5)",
        *(b"edges <i4 (4,)", struct.pack("<4i", 0, 2, 4, 5), b"edges <i4 (5,)", struct.pack("<5i", 0, 1, 0, 1, 2)),
        *(b"features <i4 (4,)", struct.pack("<4i", 0, 1, 1, 2), b"features <i4 (2,)", struct.pack("<2i", 0, 1)),
        *(b"features <f4 (2,)", struct.pack("<2f", 0.5, 2), b"labels <i8 (3,)", struct.pack("<3q", 1, 0, -1)),
        *(b"val <i8 (1,)", struct.pack("<q", 2)),
    ]
    assert content_hash(graph) == hashlib.sha256(b"".join(parts)).hexdigest()


def test_content_hash_depends_on_every_part_but_names(small_graph):
    parts = torch.arange(40).split([10, 10, 20])
    graph = replace(small_graph, classes=("a", "b", "c"), given_split=dict(zip(GIVEN, parts, strict=True)))
    hashes = {content_hash(each) for each in (graph, *changed(graph).values())}
    assert len(hashes) == 5
    assert content_hash(replace(graph, classes=(), name="other")) == content_hash(graph)


@pytest.mark.data
@pytest.mark.parametrize("part", ["labels", "features", "edges"])
@pytest.mark.parametrize("name", ["amazon_photo", "facebook", "cora"])
def test_raw_files_of_another_graph_with_the_same_counts_are_refused(name, part, real, monkeypatch, tmp_path):
    graph = load_graph(name)
    monkeypatch.setenv("SIGNNAP_CACHE", str(tmp_path))
    monkeypatch.setattr(public, "_read", lambda *_: changed(graph)[part])
    with pytest.raises(SignnapError, match=rf"^{name}: the files give other edges, features or labels: their SHA-256"):
        load_graph(name)
    assert not list(tmp_path.iterdir())


@pytest.mark.data
@pytest.mark.skipif(os.name == "nt", reason="Windows has other permissions")
@pytest.mark.parametrize("open_before", [False, True])
def test_cache_is_private(open_before, real, monkeypatch, tmp_path):
    monkeypatch.setenv("SIGNNAP_CACHE", str(tmp_path / "cache"))
    if open_before:
        for folder in ("cache", "cache/graphs"):
            (tmp_path / folder).mkdir()
            (tmp_path / folder).chmod(0o777)
        (tmp_path / "cache" / "graphs" / "cora.npz").write_text("anybody may write here")
        (tmp_path / "cache" / "graphs" / "cora.npz").chmod(0o666)
    before = os.umask(0)
    try:
        load_graph("cora")
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    assert modes == {"cache": 0o777 if open_before else 0o700, "graphs": 0o700, "cora.npz": 0o600}


@pytest.mark.data
@pytest.mark.parametrize("damage", ["garbage", "cut", "old version", "other counts", "labels", "features", "split"])
def test_damaged_cache_is_rebuilt(copied, monkeypatch, damage):
    copied("planetoid")
    graph = load_graph("cora")
    cached = cache_folder() / "graphs" / "cora.npz"
    whole = cached.read_bytes()
    if damage == "garbage":
        cached.write_bytes(whole[:5000] + b"garbage" + whole[5007:])
    elif damage == "cut":
        cached.write_bytes(whole[:-100])
    elif damage == "old version":
        with monkeypatch.context() as earlier:
            earlier.setattr(public, "_CACHE_VERSION", 0)
            public._to_cache(cached, graph)
    elif damage == "other counts":
        public._to_cache(cached, graph.subgraph(torch.arange(100)))
    else:
        public._to_cache(cached, changed(graph)[damage])
    damaged = cached.read_bytes()
    same(load_graph("cora"), graph)
    assert cached.read_bytes() != damaged
    assert public._from_cache(cached, "cora", DATASETS["cora"]) is not None


@pytest.mark.data
def test_folder_that_cannot_be_written_costs_only_the_cache(copied, monkeypatch, tmp_path):
    copied("planetoid")
    (tmp_path / "file").write_text("a file where a folder is needed")
    monkeypatch.setenv("SIGNNAP_CACHE", str(tmp_path / "file" / "cache"))
    assert load_graph("cora").num_nodes == 2_708


@pytest.mark.data
def test_wrong_counts_are_named(copied):
    path = copied("musae") / "facebook_edges.csv"
    lines = path.read_text().splitlines()
    path.write_text("\n".join(lines[:-10]) + "\n")
    with pytest.raises(SignnapError, match=r"^facebook: expected 170,823 edges, the files give 170,8[01][0-9]$"):
        load_graph("facebook")
    assert not (cache_folder() / "graphs").exists()


@pytest.mark.data
@pytest.mark.parametrize("part", ["y", "allx", "graph"])
def test_malicious_pickle_is_refused(copied, tmp_path, part):
    path = copied("planetoid") / f"ind.cora.{part}"
    command = f"touch {tmp_path / 'ran'}"
    path.write_bytes(f"cposix\nsystem\n(V{command}\ntR.".encode())
    with pytest.raises(SignnapError) as caught:
        load_graph("cora")
    assert str(path) in str(caught.value)
    assert "posix.system" in str(caught.value)
    assert not (tmp_path / "ran").exists()


@pytest.mark.data
@pytest.mark.parametrize(
    ("part", "content", "sentence"),
    [
        ("test.index", b"2692\nx\n", "ind.cora.test.index, line 2: found 'x', expected a new node from 1708 to 2707"),
        ("test.index", b"2692\n2692\n", "ind.cora.test.index, line 2: found '2692', expected a new node"),
        ("test.index", b"99999999999999\n", "ind.cora.test.index, line 1: found '99999999999999'"),
        ("test.index", b"2692\n", "ind.cora.tx has shape (1000, 1433), expected (1, 1433)"),
        ("graph", pickle.dumps({0: [1], 1: [5]}, 2), "ind.cora.graph has the edge (1, 5), expected nodes 0 to 1"),
        ("graph", pickle.dumps([1, 2], 2), "ind.cora.graph is not a dictionary of neighbour lists"),
        ("allx", pickle.dumps([1, 2], 2), "ind.cora.allx holds list, expected a sparse matrix"),
        ("ally", pickle.dumps([1, 2], 2), "ind.cora.ally has shape None, expected one row for each of 1708 nodes"),
    ],
)
def test_fault_in_the_planetoid_files_is_named(copied, part, content, sentence):
    (copied("planetoid") / f"ind.cora.{part}").write_bytes(content)
    with pytest.raises(SignnapError) as caught:
        load_graph("cora")
    assert sentence in str(caught.value)


def test_unknown_name():
    with pytest.raises(SignnapError, match="unknown dataset 'pubmeed', did you mean 'pubmed'"):
        load_graph("pubmeed")


def test_cache_folder_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() != tmp_path / "xdg" / "signnap"  # SIGNNAP_CACHE, set for all tests, comes first
    monkeypatch.delenv("SIGNNAP_CACHE")
    assert cache_folder() == tmp_path / "xdg" / "signnap"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    for platform, place in (("linux", ".cache/signnap"), ("darwin", "Library/Caches/signnap")):
        monkeypatch.setattr(sys, "platform", platform)
        assert cache_folder() == tmp_path / place


# -- pickles: nothing in them runs, and nothing in them crashes the reader ---------------------------------------------


def malicious(marker, protocol):
    class Evil:
        def __reduce__(self):
            return os.system, (f"touch {marker}",)

    return pickle.dumps(Evil(), protocol=protocol)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_malicious_pickle_of_every_protocol(tmp_path, protocol):
    path = tmp_path / "evil"
    path.write_bytes(malicious(tmp_path / "ran", protocol))
    with pytest.raises(SignnapError, match=r"asks for (posix|nt)\.system"):
        read_pickle(path)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"cbuiltins\neval\n(S'1'\ntR.", "asks for builtins.eval"),
        (b"cnumpy\nload\n.", "asks for numpy.load"),
        (b"\x80\x02]r\xff\xff\xff\x7f.", "memo place 2147483647"),
        (b"\x80\x05\x96\xff\xff\xff\xff\xff\x00\x00\x00.", "damaged"),
        (b"", "damaged"),
        (b"hello", "damaged"),
        (b"cnumpy\nndarray\n(I1000000000000\ntR.", "damaged"),
        (b"cscipy.sparse.csr\ncsr_matrix\n(tR.", "damaged"),
    ],
)
def test_pickle_with_a_surprise(tmp_path, content, sentence):
    path = tmp_path / "odd"
    path.write_bytes(content)
    with pytest.raises(SignnapError) as caught:
        read_pickle(path)
    assert sentence in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.data
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_damaged_pickle_never_crashes(raw_data, tmp_path_factory, data):
    part = data.draw(st.sampled_from(["y", "x"]))
    body = bytearray((raw_data / "planetoid" / f"ind.cora.{part}").read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        body[data.draw(st.integers(0, min(400, len(body) - 1)))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / "damaged.pickle"
    path.write_bytes(body)
    try:
        read_pickle(path)
    except SignnapError as error:
        assert str(path) in str(error)
