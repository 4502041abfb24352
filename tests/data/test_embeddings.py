"""Embeddings in files: written, read and matched with the nodes of a graph."""

import logging
import os
import pickle
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from pyarrow import parquet

from signnap.data.embeddings import align, read_embeddings, write_embeddings
from signnap.errors import SignnapError
from signnap.graph import Graph

ROWS = np.array([[1.5, -2.0], [0.1, 3e-30], [7.0, 8.0]], dtype=np.float32)
FORMATS = (".npy", ".csv", ".parquet")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def graph_with(ids):
    count = 3 if ids is None else len(ids)
    return Graph.from_edges([0], [1], np.eye(count), ids=ids, name="mine")


# -- writing ---------------------------------------------------------------------------------------------------------


def test_files_look_as_promised():
    ids = np.array(["b", "a, c", "d"])
    for suffix in FORMATS:
        write_embeddings(f"deep/er/z{suffix}", ROWS, ids)
    plain = np.load("deep/er/z.npy", allow_pickle=False)
    assert plain.dtype == np.float32
    assert plain.tolist() == ROWS.tolist()
    lines = Path("deep/er/z.csv").read_text().splitlines()
    assert lines[0].replace('"', "") == "id,e0,e1"
    assert lines[1].replace('"', "") == "b,1.5,-2"
    assert lines[2].startswith('"a, c",0.1,')
    table = parquet.read_table("deep/er/z.parquet")
    assert table.column_names == ["id", "e0", "e1"]
    assert table["id"].to_pylist() == ["b", "a, c", "d"]
    assert table["e1"].type == pa.float32()


def test_without_ids_rows_are_numbered():
    for suffix in (".csv", ".parquet"):
        write_embeddings(f"z{suffix}", ROWS)
        assert read_embeddings(f"z{suffix}")[1].tolist() == [0, 1, 2]
    write_embeddings("z.npy", ROWS)
    assert read_embeddings("z.npy")[1] is None


def test_integers_stay_integers():
    for suffix in (".csv", ".parquet"):
        write_embeddings(f"z{suffix}", ROWS, np.array([2**62, -1, 0]))
        assert read_embeddings(f"z{suffix}")[1].dtype == np.int64
        assert read_embeddings(f"z{suffix}")[1].tolist() == [2**62, -1, 0]


@pytest.mark.parametrize(
    ("path", "embeddings", "ids", "expected"),
    [
        ("z.txt", ROWS, None, "z.txt ends in '.txt': expected embeddings in .npy, .csv, .parquet"),
        ("z.csv", ROWS, np.arange(2), "cannot write z.csv: 3 embeddings but 2 ids"),
        ("z.npy", ROWS[0], None, "the embeddings are float32 of shape (2,): expected numbers of shape (nodes, width)"),
        ("z.npy", ROWS * np.nan, None, "the embeddings hold nan in row 0, column 0: expected a finite number"),
        ("z.npy", ROWS.astype(object), None, "the embeddings are object of shape (3, 2)"),
    ],
)
def test_what_cannot_be_written_is_one_sentence(path, embeddings, ids, expected, sentence):
    assert sentence(write_embeddings, path, embeddings, ids).startswith(expected)
    assert os.listdir() == []


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_failed_write_leaves_the_old_file(suffix, monkeypatch, sentence):
    path = Path(f"z{suffix}")
    write_embeddings(path, ROWS)
    before = path.read_bytes()

    def full_disk(*_, **__):
        raise OSError(28, "No space left on device")

    for writer in ("numpy.lib.format.write_array_header_1_0", "pyarrow.csv.write_csv", "pyarrow.parquet.write_table"):
        monkeypatch.setattr(writer, full_disk)
    assert "No space left on device" in sentence(write_embeddings, path, ROWS + 1)
    assert path.read_bytes() == before
    assert os.listdir() == [path.name]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
@pytest.mark.parametrize("suffix", FORMATS)
def test_a_file_name_need_not_be_utf8(suffix):
    path = os.fsdecode(b"deep/\xff") + suffix
    write_embeddings(path, ROWS)
    assert read_embeddings(path)[0].tolist() == ROWS.tolist()


def test_a_directory_in_the_way(sentence):
    os.mkdir("z.npy")
    assert sentence(write_embeddings, "z.npy", ROWS).startswith("cannot write z.npy")
    assert sentence(read_embeddings, "z.npy") == "z.npy is a directory: expected a file"


# -- reading ---------------------------------------------------------------------------------------------------------


def test_other_peoples_files():
    Path("z.csv").write_text("0.5,1\n0.25,2\n")
    rows, ids = read_embeddings("z.csv")
    assert (rows.tolist(), ids) == ([[0.5, 1], [0.25, 2]], None)
    Path("z.csv").write_text("x1;node\n0.5; 007 \n1;b\n")
    rows, ids = read_embeddings("z.csv")
    assert (rows.tolist(), ids.tolist()) == ([[0.5], [1]], ["007", "b"])
    np.save("z.npy", np.arange(6, dtype=">f8").reshape(3, 2).T)
    assert read_embeddings("z.npy")[0].tolist() == [[0, 2, 4], [1, 3, 5]]
    assert read_embeddings("z.npy")[0].dtype == np.float32


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", ["<f4", ">f4", "<f8"])
def test_rows_of_an_npy_file_do_not_depend_on_the_file(kind, order):
    np.save("z.npy", ROWS.astype(kind, order=order))
    rows, _ = read_embeddings("z.npy")
    assert rows.flags.writeable and rows.flags.owndata  # a map of the file would have neither
    os.truncate("z.npy", 0)
    assert rows.tolist() == ROWS.tolist()
    rows += 1
    np.save("z.npy", rows)
    assert read_embeddings("z.npy")[0].tolist() == (ROWS + 1).tolist()


@pytest.mark.parametrize("index", ["", ","])
def test_columns_that_a_data_frame_counted_have_a_header(index):
    number = "7," if index else ""
    Path("z.csv").write_text(f"{index}0,1,2\n{number}0.5,1,2\n{number}0.25,2,3\n")
    assert read_embeddings("z.csv")[0].tolist() == [[0.5, 1, 2], [0.25, 2, 3]]
    Path("z.csv").write_text("0\n1\n")  # a single cell is no evidence of a header
    assert read_embeddings("z.csv")[0].tolist() == [[0], [1]]


@pytest.mark.parametrize("name", ["user", "", "Unnamed: 0"])
@pytest.mark.parametrize("ids", [["5", "6", "7"], ["a", "b", "c"]])
def test_ids_under_another_name_are_found_by_the_graph_that_has_them(name, ids, caplog):
    caplog.set_level(logging.INFO, logger="signnap")
    Path("z.csv").write_text(f"{name},e0\n{ids[2]},0.5\n{ids[0]},1\n{ids[1]},2\n")
    graph = graph_with(np.array(ids))
    assert align(*read_embeddings("z.csv", graph), graph).tolist() == [[1], [2], [0.5]]
    assert "which holds the graph's ids, for the ids" in caplog.text


def test_the_index_that_a_data_frame_leaves_in_parquet_may_hold_the_ids():
    graph = graph_with(np.array([5, 6, 7]))
    parquet.write_table(pa.table({"e0": [0.5, 1.0, 2.0], "__index_level_0__": [7, 5, 6]}), "z.parquet")
    assert align(*read_embeddings("z.parquet", graph), graph).tolist() == [[1], [2], [0.5]]
    parquet.write_table(pa.table({"e0": [0.5, 1.0, 2.0], "__index_level_0__": [0, 1, 2]}), "z.parquet")
    assert align(*read_embeddings("z.parquet", graph), graph).tolist() == [[0.5], [1], [2]]
    Path("z.csv").write_text(",user,e0\n0,2,0.5\n1,0,1\n2,1,2\n")
    assert align(*read_embeddings("z.csv", graph_with(None)), graph_with(None)).tolist() == [[1], [2], [0.5]]


@pytest.mark.parametrize("name", ["", "Unnamed: 0"])
def test_an_index_that_counts_the_rows_holds_no_ids(name):
    graph = graph_with(np.array([2, 0, 1]))
    Path("z.csv").write_text(f"{name},e0\n0,0.5\n1,1\n2,2\n")
    assert align(*read_embeddings("z.csv", graph), graph).tolist() == [[0.5], [1], [2]]
    Path("z.csv").write_text("user,e0\n0,0.5\n1,1\n2,2\n")  # a column with a name is no index
    assert align(*read_embeddings("z.csv", graph), graph).tolist() == [[2], [0.5], [1]]


def test_rows_without_ids_are_in_the_graphs_order_and_a_note_says_so(caplog):
    caplog.set_level(logging.INFO, logger="signnap")
    Path("z.csv").write_text("x,y\n5,0.5\n6,1\n6,2\n")
    for graph in (None, graph_with(np.array([5, 6, 7]))):
        assert read_embeddings("z.csv", graph)[1] is None
    note = "z.csv: no column of ids (id, node, node_id, name), so all rows are in the graph's order"
    assert caplog.text.count(note) == 2


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("z.csv", "id,e0\n1,0.5\n2,abc\n", "z.csv, line 3, column 'e0' holds 'abc': expected a finite number"),
        ("z.csv", "id,e0\n1,0.5\n2,nan\n", "z.csv, line 3, column 'e0' holds 'nan'"),
        ("z.csv", "id,e0\n1,0.5\n2,\n", "z.csv, line 3, column 'e0' is empty"),
        ("z.csv", "id,e0\n1,0.5\n,1\n", "z.csv, line 3, column 'id' is empty: expected a node id"),
        ("z.csv", "id,e0\n1,0.5\n2\n", "z.csv, line 3 has 1 cells: expected 2"),
        ("z.csv", "id,e0\n", "z.csv holds no rows below its header"),
        ("z.csv", "id\n1\n", "z.csv has no columns of numbers"),
        ("z.csv", "", "z.csv is empty"),
        ("z.npy", b"not an array at all", "z.npy is not a plain .npy array of numbers"),
        ("z.npy", pickle.dumps([1, 2]), "z.npy is not a plain .npy array of numbers"),
        ("z.parquet", b"PAR1", "z.parquet is not a readable Parquet file"),
        ("z.bin", b"x", "z.bin ends in '.bin': expected embeddings in .npy, .csv, .parquet"),
    ],
)
def test_a_bad_file_is_one_sentence(name, content, expected, sentence):
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    assert sentence(read_embeddings, name).startswith(expected)


class _Trap:
    """An object whose unpickling leaves a trace."""

    def __reduce__(self):
        return (os.mkdir, ("unpickled",))


def test_pickled_objects_are_never_built(sentence):
    np.save("z.npy", np.array([[_Trap()]], dtype=object), allow_pickle=True)
    assert sentence(read_embeddings, "z.npy").endswith("it holds pickled objects")
    np.savez("archive.npz", a=np.array([_Trap()], dtype=object))
    os.replace("archive.npz", "z.npy")
    assert "not a plain .npy array" in sentence(read_embeddings, "z.npy")
    assert not Path("unpickled").exists()


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_truncated_file_is_one_sentence(suffix, sentence):
    path = Path(f"z{suffix}")
    write_embeddings(path, np.random.default_rng(0).random((50, 8)))
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2 + 3])
    assert sentence(read_embeddings, path).startswith(f"z{suffix}")


def test_an_npy_header_that_claims_the_moon_allocates_nothing(sentence):
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000, 1000), }"
    text = header.ljust(117) + "\n"
    Path("z.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + b"\0" * 64)
    assert "is not a plain .npy array" in sentence(read_embeddings, "z.npy")


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (np.ones(3), "the embeddings in z.npy are float64 of shape (3,)"),
        (np.array([["a"]]), "the embeddings in z.npy are <U1 of shape (1, 1)"),
        (np.array([[1, np.inf]]), "the embeddings in z.npy hold inf in row 0, column 1"),
    ],
)
def test_an_npy_of_something_else_is_one_sentence(array, expected, sentence):
    np.save("z.npy", array)
    assert sentence(read_embeddings, "z.npy").startswith(expected)


# -- properties ------------------------------------------------------------------------------------------------------

_finite = st.floats(width=32, allow_nan=False, allow_infinity=False)
_matrices = hnp.arrays(np.float32, hnp.array_shapes(min_dims=2, max_dims=2, max_side=6), elements=_finite)
_texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=6).map(
    lambda text: f"n{text}n"
)


@given(_matrices, st.data(), st.sampled_from(FORMATS))
@settings(max_examples=120, deadline=None)
def test_round_trip(embeddings, data, suffix):
    element = data.draw(st.sampled_from([_texts, st.integers(-(2**63), 2**63 - 1)]))
    ids = np.array(data.draw(st.lists(element, min_size=len(embeddings), max_size=len(embeddings), unique=True)))
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / f"z{suffix}"
        write_embeddings(path, embeddings, ids)
        assert os.listdir(place) == [path.name]
        rows, found = read_embeddings(path)
    assert rows.dtype == np.float32
    assert rows.tobytes() == embeddings.tobytes() or rows.tolist() == embeddings.tolist()
    if suffix == ".npy":
        assert found is None
    else:
        assert found.tolist() == ids.tolist()
        order = data.draw(st.permutations(range(len(ids))))
        graph = Graph.from_edges([], [], np.eye(len(ids)), ids=ids[list(order)])
        assert align(rows, found, graph).tolist() == embeddings[list(order)].tolist()


@given(st.binary(max_size=80), st.lists(st.tuples(st.integers(0, 170), st.integers(0, 255)), max_size=8))
@settings(max_examples=200, deadline=None)
def test_any_bytes_are_an_array_or_a_sentence(tail, changes):
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "z.npy"
        write_embeddings(path, ROWS)
        content = bytearray(path.read_bytes())
        for where, value in changes:
            content[where % len(content)] = value
        path.write_bytes(tail if not changes else content + tail)
        try:
            assert read_embeddings(path)[0].ndim == 2
        except SignnapError as error:
            assert str(error)


# -- alignment -------------------------------------------------------------------------------------------------------


def test_rows_follow_the_graph():
    graph = graph_with(np.array(["c", "a", "b"]))
    assert align(ROWS, np.array(["a", "b", "c"]), graph).tolist() == ROWS[[2, 0, 1]].tolist()
    assert align(ROWS, None, graph).tolist() == ROWS.tolist()
    blanks = graph_with(np.array([" c", "a ", "b"]))
    assert align(ROWS, np.array(["a", "b", "c"]), blanks).tolist() == ROWS[[2, 0, 1]].tolist()
    assert align(ROWS, np.array(["2", "0", "1"]), graph_with(None)).tolist() == ROWS[[1, 2, 0]].tolist()
    assert align(ROWS, np.array(["5", "7", "6"]), graph_with(np.array([7, 5, 6]))).tolist() == ROWS[[1, 0, 2]].tolist()
    assert align(ROWS, np.array([7.0, 5.0, 6.5]), graph_with(np.array(["5.0", "6.5", "7"])))[0, 0] == ROWS[1, 0]


@pytest.mark.parametrize(
    ("embeddings", "ids", "expected"),
    [
        (ROWS[:2], None, "there are 2 embeddings for 3 nodes of mine"),
        (ROWS[:2], ["a", "b"], "1 nodes of mine have no embedding, the first is 'c'"),
        (ROWS, ["a", "b", "x"], "1 nodes of mine have no embedding, the first is 'c'"),
        (ROWS, ["a", "b", "b"], "the embeddings hold node 'b' twice"),
        (ROWS[[0, 0, 1, 2]], ["x", "a", "b", "c"], "the embeddings hold node 'x', which is not in mine"),
        (ROWS, ["a", "b"], "there are 3 embeddings but 2 ids"),
    ],
)
def test_rows_that_do_not_fit_are_one_sentence(embeddings, ids, expected, sentence):
    graph = graph_with(np.array(["c", "a", "b"]))
    assert sentence(align, embeddings, None if ids is None else np.array(ids), graph).startswith(expected)
