"""Graphs in numpy archives: accepted layouts, and one sentence for every fault."""

import io
import os
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from signnap import load_graph
from signnap.data import npz
from signnap.data.assemble import STRUCTURAL_COLUMNS
from signnap.data.npz import read_npz, write_npz
from signnap.errors import SignnapError
from signnap.graph import Graph, SparseFeatures, as_dense

NODES = 6
EDGES = [(0, 1), (1, 2), (3, 1), (4, 4)]  # node 5 is isolated


def parts(prefix, matrix):
    names = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr, "shape": matrix.shape}
    return {f"{prefix}_{name}": np.array(value) for name, value in names.items()}


def arrays():
    """A small archive in the layout of the gnn-benchmark files."""
    rows, columns = zip(*EDGES, strict=True)
    adjacency = sp.csr_matrix((np.ones(len(EDGES), np.float32), (rows, columns)), shape=(NODES, NODES))
    features = sp.csr_matrix(np.diag(np.arange(1.0, NODES + 1)))
    labels, names = np.array([0, 1, 2, 0, 1, -1]), np.array(["a", "b", "c"])
    return {**parts("adj", adjacency), **parts("attr", features), "labels": labels, "class_names": names}


def saved(folder, content):
    path = folder / "toy.npz"
    np.savez_compressed(path, **content)
    return path


def test_sparse_archive(tmp_path):
    graph = load_graph(saved(tmp_path, arrays()))
    assert (graph.name, graph.num_nodes, graph.num_edges, graph.num_classes) == ("toy", NODES, 3, 3)
    assert graph.classes == ("a", "b", "c")
    assert graph.y.tolist() == [0, 1, 2, 0, 1, -1]
    assert torch.equal(as_dense(graph.x), torch.diag(torch.arange(1.0, NODES + 1)))
    assert (graph.report.self_loops, graph.report.one_directional, graph.report.isolated) == (1, 3, 2)
    assert read_npz(tmp_path / "toy.npz", Graph.from_edges, "mine").name == "mine"


def test_dense_archive_of_foreign_byte_order_gives_the_same_graph(tmp_path):
    content = arrays()
    sparse = load_graph(saved(tmp_path, content))
    for prefix in ("adj", "attr"):
        pieces = [content.pop(f"{prefix}_{part}") for part in ("data", "indices", "indptr", "shape")]
        matrix = sp.csr_matrix(tuple(pieces[:3]), shape=pieces[3]).toarray()
        content[f"{prefix}_matrix"] = matrix.astype(">f8")
    content["labels"] = content["labels"].astype(">i2")
    dense = load_graph(saved(tmp_path, content))
    assert dense.fingerprint() == sparse.fingerprint()
    assert torch.equal(dense.y, sparse.y)


def test_stored_zeros_are_no_edges(tmp_path):
    content = arrays()
    content["adj_data"][0] = 0
    assert load_graph(saved(tmp_path, content)).num_edges == 2


@pytest.mark.parametrize("layout", ["sparse", "dense"])
@pytest.mark.parametrize("weight", [1e-60, -1e-60, 5e-324, 1e300])
def test_edges_of_any_weight_are_edges(weight, layout, tmp_path):
    content = arrays()
    content["adj_data"] = np.array([weight, 1, 1, 1])
    if layout == "dense":
        pieces = [content.pop(f"adj_{part}") for part in ("data", "indices", "indptr", "shape")]
        content["adj_matrix"] = sp.csr_matrix(tuple(pieces[:3]), shape=pieces[3]).toarray()
    graph = load_graph(saved(tmp_path, content))
    assert graph.num_edges == 3
    assert graph.pattern.to_scipy()[0, 1] == 1


def test_entries_of_one_pair_do_not_cancel(tmp_path):
    content = arrays()
    content["adj_indices"][:2] = 2  # two entries, of which both are the edge between nodes 1 and 2
    content["adj_indptr"] = np.array([0, 0, 2, 2, 3, 4, 4])
    content["adj_data"] = np.array([1.0, -1.0, 1.0, 1.0])
    graph = load_graph(saved(tmp_path, content))
    assert graph.num_edges == 2
    assert graph.pattern.to_scipy()[1, 2] == 1
    assert (graph.report.given, graph.report.duplicates) == (4, 1)


@pytest.mark.parametrize("layout", ["sparse", "dense"])
def test_features_that_vanish_are_noted(layout, tmp_path, caplog):
    content = arrays() | {"attr_data": np.array([1, 1e-60, 3, -1e-50, 0, 6])}
    if layout == "dense":
        content["attr_matrix"] = np.diag(content["attr_data"])
    path = saved(tmp_path, content)
    assert as_dense(load_graph(path).x).diagonal().tolist() == [1, 0, 3, 0, 0, 6]
    assert f"{path}: 2 values of features are too small for float32 and become 0" in caplog.messages


def test_labels_and_names_are_optional(tmp_path):
    content = arrays()
    del content["labels"]
    graph = load_graph(saved(tmp_path, content))
    assert graph.y is None
    assert graph.classes == ()


@pytest.mark.parametrize("names", [np.array(["a", 7], dtype=object), np.arange(3)])
def test_names_that_are_not_plain_text_are_left_alone(tmp_path, names):
    assert load_graph(saved(tmp_path, arrays() | {"class_names": names})).classes == ()


def test_without_attributes_features_are_structural(tmp_path):
    content = {key: value for key, value in arrays().items() if not key.startswith("attr")}
    graph = load_graph(saved(tmp_path, content))
    np.testing.assert_allclose(as_dense(graph.x), slow_structure(EDGES, NODES), atol=1e-6)
    assert graph.feature_names == STRUCTURAL_COLUMNS


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("labels", np.array([0, 1, None, 0, 1, 1]), "pickled objects in 'labels', which are never loaded"),
        ("attr_data", np.array([{}] * NODES), "pickled objects in 'attr_data', which are never loaded"),
        ("labels", np.array([0, 1, 2]), "has 3 labels for 6 nodes"),
        ("labels", np.array([0, 1, 2, 0, 99, 0]), "label 99 at node 4"),
        ("labels", np.array([0, 1, -2, 0, 1, 0]), "label -2 at node 2"),
        ("labels", np.array([0, 1, 2, 0, 1, 2**64 - 1], np.uint64), "label 18446744073709551615 at node 5"),
        ("labels", np.array([0, 1, 2, 0, 1, 2**64 - 6], np.uint64), "label 18446744073709551610 at node 5"),
        ("labels", np.array([0.5] * NODES), "expected whole numbers, 1-dimensional"),
        ("labels", np.eye(NODES, dtype=int), "expected whole numbers, 1-dimensional"),
        ("class_names", np.array(["a"]), "1 class names, but label 2 occurs"),
        ("adj_indices", np.array([1, 2, 6, 4]), "row 3 has column index 6, expected 0 to 5"),
        ("adj_indices", np.array([1, -2, 1, 4]), "row 1 has column index -2, expected 0 to 5"),
        ("adj_indices", np.array([1, 2, 1, 2**64 - 3], np.uint64), "row 4 has column index 18446744073709551613"),
        ("adj_indptr", np.array([0, 1, 2, 2, 2**64 - 1, 4, 4], np.uint64), "does not rise from 0 to 4"),
        ("adj_indices", np.array([1, 2, 1]), "3 indices for 4 values"),
        ("adj_indptr", np.array([0, 1, 2, 2, 3, 4]), "6 entries for 6 rows"),
        ("adj_indptr", np.array([0, 3, 2, 2, 3, 4, 4]), "does not rise from 0 to 4"),
        ("adj_indptr", np.array([0, 1, 2, 2, 3, 4, 9]), "does not rise from 0 to 4"),
        ("adj_data", np.array([1, np.nan, 1, 1]), "weight is not a finite number"),
        ("adj_shape", np.array([NODES, NODES + 1]), "expected a square"),
        ("adj_shape", np.array([NODES]), "the shape is [6]"),
        ("attr_shape", np.array([NODES, 10**12]), "at most 16,777,216 columns"),
        ("attr_shape", np.array([-1, NODES]), "the shape is [-1, 6]"),
        ("attr_data", np.array([1, 2, np.inf, 4, 5, 6]), "feature of node 2, column 2 is inf"),
        ("attr_data", np.array([1, 2, 1e300, 4, 5, 6]), "feature of node 2, column 2 is inf"),
        ("attr_data", np.array(list("abcdef")), "expected numbers, 1-dimensional"),
        ("attr_matrix", np.ones((NODES + 1, 2)), "7 rows for 6 nodes"),
        ("attr_matrix", np.ones(NODES), "expected numbers, 2-dimensional"),
    ],
)
def test_fault_is_one_sentence_with_the_file(tmp_path, key, value, sentence):
    path = saved(tmp_path, arrays() | {key: value})
    with pytest.raises(SignnapError) as caught:
        load_graph(path)
    assert sentence in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("key", ["adj_data", "adj_indptr", "attr_shape"])
def test_missing_key(tmp_path, key):
    content = arrays()
    del content[key]
    with pytest.raises(SignnapError, match=f"has no array '{key}': found .*labels"):
        load_graph(saved(tmp_path, content))


def test_empty_graph(tmp_path):
    with pytest.raises(SignnapError, match="is empty"):
        load_graph(saved(tmp_path, {"adj_matrix": np.zeros((0, 0)), "attr_matrix": np.zeros((0, 2))}))


def test_not_an_archive(tmp_path):
    path = tmp_path / "toy.npz"
    with pytest.raises(SignnapError, match=r"cannot read .*toy\.npz: No such file"):
        read_npz(path, Graph.from_edges)
    path.write_bytes(b"hello")
    with pytest.raises(SignnapError, match="is not a numpy archive"):
        load_graph(path)
    whole = saved(tmp_path, arrays()).read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(SignnapError, match="is not a numpy archive"):
        load_graph(path)


def replaced_member(path, name, content):
    """Rewrite an archive with other bytes under one name."""
    with zipfile.ZipFile(path) as old:
        members = {member: old.read(member) for member in old.namelist()}
    with zipfile.ZipFile(path, "w") as new:
        for member, body in (members | {name: content}).items():
            new.writestr(member, body)


def test_declared_shape_beyond_the_bytes_is_refused_before_allocation(tmp_path):
    path = saved(tmp_path, arrays())
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<i8", "fortran_order": False, "shape": (10**15,)})
    replaced_member(path, "labels.npy", header.getvalue() + b"\0" * 48)
    with pytest.raises(
        SignnapError, match=r"damaged at 'labels': 48 bytes are no int64 of shape \(1000000000000000,\)"
    ):
        load_graph(path)


@pytest.mark.parametrize("key", ["labels", "class_names"])
@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f8', 'shape': (3,",
        "  {'descr': '<f8'}\n x",
        "{'descr': (), 'fortran_order': False, 'shape': (6,)}",
        "{'descr': ('<f8',), 'fortran_order': False, 'shape': (6,)}",
        "{1: 2, 'a': 3}",
        "{[]: 1}",
        "{" * 20_000,
    ],
)
def test_damaged_header_is_one_sentence(tmp_path, key, header):
    path = saved(tmp_path, arrays())
    size = len(header).to_bytes(2, "little")
    replaced_member(path, f"{key}.npy", b"\x93NUMPY\x01\x00" + size + header.encode() + b"\0" * 48)
    with pytest.raises(SignnapError) as caught:
        load_graph(path)
    assert str(caught.value).startswith(f"{path} is damaged at {key!r}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("code", [0xD800, 0x110000, 0xFFFFFFFF])
def test_class_names_beyond_unicode(tmp_path, code):
    names = np.array([97, 98, code], dtype=np.uint32).view("<U1")
    with pytest.raises(SignnapError, match="has class names that are not text"):
        load_graph(saved(tmp_path, arrays() | {"class_names": names}))


def test_archive_that_unpacks_too_large(tmp_path, monkeypatch):
    monkeypatch.setattr(npz, "_MAX_BYTES", 1000)
    with pytest.raises(SignnapError, match=r"unpacks to .* bytes, the limit is 1,000"):
        load_graph(saved(tmp_path, arrays()))


def test_pickle_under_a_number_header_is_not_run(tmp_path):
    marker = tmp_path / "ran"

    class Evil:
        def __reduce__(self):
            return os.system, (f"touch {marker}",)

    path = saved(tmp_path, arrays() | {"labels": np.array([Evil()] * NODES)})
    with pytest.raises(SignnapError, match="never loaded"):
        load_graph(path)
    assert not marker.exists()


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_damaged_archive_never_crashes(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("damaged")
    path = folder / "toy.npz"
    np.savez(path, **arrays())
    body = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 5))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(body[: data.draw(st.integers(1, len(body)))] if data.draw(st.booleans()) else body)
    try:
        assert load_graph(path).num_nodes == NODES
    except SignnapError as error:
        assert str(path) in str(error)


def test_written_graph_comes_back(tmp_path, small_graph):
    write_npz(tmp_path / "a.npz", small_graph, extra=np.arange(3))
    back = load_graph(tmp_path / "a.npz")
    assert back.fingerprint() == small_graph.fingerprint()
    assert torch.equal(back.y, small_graph.y)
    assert isinstance(back.x, SparseFeatures) == isinstance(small_graph.x, SparseFeatures)
    assert np.load(tmp_path / "a.npz", allow_pickle=False)["extra"].tolist() == [0, 1, 2]


def test_csr_parts_are_joined_without_duplicates_and_zeros(tmp_path):
    rows, columns = np.indices((NODES, NODES)).reshape(2, -1)
    everywhere = sp.csr_matrix((1.0 * (rows == columns), columns, np.arange(NODES + 1) * NODES), shape=(NODES, NODES))
    content = arrays() | parts("attr", everywhere)
    content["attr_indices"][1], content["attr_data"][1] = 0, 2  # the first row has column 0 twice: as 1 and as 2
    graph = load_graph(saved(tmp_path, content))
    assert isinstance(graph.x, SparseFeatures), "stored zeros do not count as values"
    assert graph.x.values.tolist() == [3, 1, 1, 1, 1, 1]


def slow_structure(edges, nodes):
    """Compute the structural columns node by node."""
    neighbours = [{b for a, b in edges if a == n} | {a for a, b in edges if b == n} for n in range(nodes)]
    logs = [np.log(1 + len(others - {n})) for n, others in enumerate(neighbours)]
    rows, means = [], []
    for n, others in enumerate(neighbours):
        around = [logs[m] for m in others - {n}]
        means.append(np.mean(around) if around else 0.0)
        bucket = [0.0] * 16
        bucket[int(len(around) + 1).bit_length() - 1] = 1.0
        rows.append([*bucket, logs[n], means[n], np.std(around) if around else 0.0])
    second = [np.mean([means[m] for m in others - {n}]) if others - {n} else 0.0 for n, others in enumerate(neighbours)]
    return np.column_stack([rows, second])


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=30))
def test_structural_features_against_a_slow_twin(edges):
    ends = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    graph = load_graph((sp.coo_matrix((np.ones(len(edges)), ends), (10, 10)), None))
    assert len(graph.feature_names) == graph.num_features == 20
    assert as_dense(graph.x).isfinite().all()
    np.testing.assert_allclose(as_dense(graph.x), slow_structure(edges, 10), atol=1e-6)
