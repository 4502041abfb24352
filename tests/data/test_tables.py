"""Edge lists and node tables: formats, meanings of columns, and a sentence for every fault."""

import csv
import logging
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from signnap.data.files import graph_from_files
from signnap.errors import SignnapError
from signnap.graph import Graph, SparseFeatures, as_dense


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write a file in an empty working folder, so that sentences show its bare name."""
    monkeypatch.chdir(tmp_path)

    def write(name, content):
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return name

    return write


def edges_of(graph):
    """Undirected edges as pairs of the user's ids."""
    rows, cols = graph.pattern.to_scipy().nonzero()
    return {frozenset((str(graph.ids[r]), str(graph.ids[c]))) for r, c in zip(rows, cols, strict=True)}


def pairs(*texts):
    return {frozenset(text.split("-")) for text in texts}


def sentence(*arguments, **options):
    with pytest.raises(SignnapError) as caught:
        graph_from_files(*arguments, **options)
    message = str(caught.value)
    assert "\n" not in message
    return message


# -- formats ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("e.csv", "source,target\n1,2\n2,3\n"),
        ("e.csv", "1,2\n2,3\n"),
        ("e.csv", "1, 2\n2, 3"),
        ("e.csv", "\ufeffsource,target\r\n1,2\r\n\r\n2,3\r\n"),
        ("e.csv", "source;target\n1;2\n2;3\n"),
        ("e.csv", "source\ttarget\n1\t2\n2\t3\n"),
        ("e.csv", '"source","target; and, more"\n1,2\n2,3\n'),
        ("e.tsv", "src\tdst\n1\t2\n2\t3\n"),
        ("e.TSV", "1\t2\n2\t3\n"),
        ("e.txt", "1 2\n2 3\n"),
        ("e.txt", "  1    2  \n2\t3 \n\n"),
        ("e.txt", "# Directed graph\n#\n# From\tTo\n1\t2\n2\t3\n"),
        ("e.txt", "from,to\n1,2\n2,3\n"),
        ("e.csv", "1.0,2.0\n2.0,3.0\n"),
        ("e.csv", '"1","2"\n2,3\n'),
    ],
)
def test_an_edge_list_is_read_whatever_separates_its_columns(write, name, content):
    graph = graph_from_files(write(name, content))
    assert graph.ids.tolist() == [1, 2, 3]
    assert graph.ids.dtype == np.int64
    assert edges_of(graph) == pairs("1-2", "2-3")
    assert graph.name == "e"


@pytest.mark.parametrize(
    "header",
    ["weight,source,target", "weight,Source,Target", "w,src,dst", "w,from,to", "w,u,v", "w,node1,node2", ",id_1,id_2"],
)
def test_endpoints_are_found_by_name_and_other_columns_ignored_with_a_note(write, caplog, header):
    caplog.set_level(logging.INFO, logger="signnap")
    graph = graph_from_files(write("e.csv", f"{header}\n9,1,2\n9,2,3\n"))
    assert edges_of(graph) == pairs("1-2", "2-3")
    assert "ignored other columns: " in caplog.text


def test_endpoints_can_be_named(write):
    path = write("e.csv", "source,target,a,b\n1,2,3,4\n")
    assert edges_of(graph_from_files(path, source_column="a", target_column="b")) == pairs("3-4")
    assert edges_of(graph_from_files(path, target_column="b")) == pairs("1-4")
    assert edges_of(graph_from_files(path, source_column="target")) == pairs("1-2")
    assert "both endpoints are column 'a' of e.csv" in sentence(path, source_column="a", target_column="a")


def test_a_first_row_that_turns_up_again_is_data(write, caplog):
    caplog.set_level(logging.INFO, logger="signnap")
    assert edges_of(graph_from_files(write("e.csv", "ann,bob\nbob,cid\n"))) == pairs("ann-bob", "bob-cid")
    assert "took the first row for its header" not in caplog.text
    assert edges_of(graph_from_files(write("e.csv", "person,friend\nbob,cid\n"))) == pairs("bob-cid")
    assert "e.csv: took the first row for its header: person, friend" in caplog.text


def test_nodes_without_a_table_come_in_order_of_first_appearance(write):
    graph = graph_from_files(write("e.csv", "source,target\nz,b\na,z\nb,c\n"))
    assert graph.ids.tolist() == ["z", "b", "a", "c"]
    assert graph.ids.dtype.kind == "U"


def test_ids_keep_leading_zeros_and_large_numbers(write):
    assert graph_from_files(write("e.csv", "007,7\n7,08\n")).ids.tolist() == ["007", "7", "08"]
    assert graph_from_files(write("e.csv", f"{2**63 - 1},-5\n")).ids.tolist() == [2**63 - 1, -5]
    assert graph_from_files(write("e.csv", f"{2**63},1\n")).ids.tolist() == [str(2**63), "1"]
    assert graph_from_files(write("e.csv", 'a"b,16\n5,16\n')).ids.tolist() == ['a"b', "16", "5"]
    assert graph_from_files(write("e.csv", "0x10,16\n")).ids.tolist() == ["0x10", "16"]


@pytest.mark.parametrize("stored", [pa.int32(), pa.float64(), pa.string(), pa.dictionary(pa.int8(), pa.string())])
def test_seven_is_the_same_node_however_a_file_stores_it(write, stored):
    column = pa.array(["7", "10000000000"])
    column = column.dictionary_encode() if pa.types.is_dictionary(stored) else column
    if not pa.types.is_dictionary(stored):
        column = column.cast(pa.int64()).cast(stored, safe=False) if stored != pa.string() else column
    if stored == pa.int32():
        column = pa.array([7, 8], stored)
    parquet.write_table(pa.table({"source": column[:1], "target": column[1:]}), "e.parquet")
    graph = graph_from_files("e.parquet", write("n.csv", "id,f\n10000000000,1\n8,2\n7,3\n"))
    assert graph.ids.tolist() == [10000000000, 8, 7]
    assert graph.num_edges == 1
    assert graph.pattern.degree[2] == 1


def test_oddities_of_edges_are_counted(write, caplog):
    caplog.set_level(logging.INFO, logger="signnap")
    path = write("e.csv", "1,2\n2,1\n1,2\n3,3\n2,3\n")
    graph = graph_from_files(path, write("n.csv", "id,f\n1,1\n2,1\n3,1\n4,1\n"))
    report = graph.report
    assert (report.given, report.duplicates, report.self_loops, report.one_directional, report.isolated) == (
        5, 1, 1, 1, 1,
    )  # fmt: skip
    assert str(report) in caplog.text


def test_no_features_means_structural_ones_and_a_note(write, caplog):
    caplog.set_level(logging.INFO, logger="signnap")
    path = write("e.csv", "1,2\n2,3\n")
    for graph in (
        graph_from_files(path),
        graph_from_files(path, write("n.csv", "id,label\n1,a\n2,b\n3,a\n")),
        graph_from_files(path, write("m.csv", "id,f\n1,1\n2,2\n3,3\n"), feature_columns=[]),
    ):
        assert graph.num_features > 0
        assert len(graph.feature_names) == graph.num_features
    assert caplog.text.count("no features given") == 3


def test_a_table_of_isolated_nodes_is_a_graph(write):
    graph = graph_from_files(write("e.csv", "source,target\n"), write("n.csv", "id\n1\n2\n"))
    assert (graph.num_nodes, graph.num_edges, graph.report.isolated) == (2, 0, 2)


# -- node tables -----------------------------------------------------------------------------------------------------


def test_a_node_table_gives_order_labels_and_features(write):
    nodes = write("n.csv", "name,age,member,label\nb,1.5,True,10\nc,2,false,\na,3,TRUE,9\nd,-4e1,False,nan\n")
    graph = graph_from_files(write("e.csv", "a,b\nc,a\n"), nodes)
    assert graph.ids.tolist() == ["b", "c", "a", "d"]
    assert graph.classes == ("9", "10")
    assert graph.y.tolist() == [1, -1, 0, -1]
    assert graph.feature_names == ("age", "member")
    assert as_dense(graph.x).tolist() == [[1.5, 1], [2, 0], [3, 1], [-40, 0]]
    assert edges_of(graph) == pairs("a-b", "a-c")


def test_text_columns_become_one_column_per_value(write):
    nodes = write("n.csv", "id,f,city,y\n1,0,Rome,u\n2,2,Oslo,v\n3,3,,u\n4,0, Rome ,u\n")
    graph = graph_from_files(write("e.csv", "1,2\n"), nodes)
    assert graph.feature_names == ("f", "city=Oslo", "city=Rome")
    assert as_dense(graph.x).tolist() == [[0, 0, 1], [2, 1, 0], [3, 0, 0], [0, 0, 1]]
    assert graph.classes == ("u", "v")


def test_many_categories_stay_sparse(write):
    rows = "".join(f"{i},c{i % 50}\n" for i in range(200))
    graph = graph_from_files(write("e.csv", "1,2\n"), write("n.csv", "id,city\n" + rows))
    assert isinstance(graph.x, SparseFeatures)
    assert graph.num_features == 50


def test_columns_can_be_named(write):
    edges = write("e.csv", "p,q\n")
    nodes = write("n.csv", "key,a,y,kind\np,1,5,k\nq,2,6,k\n")
    graph = graph_from_files(edges, nodes, id_column="key", label_column="kind", feature_columns=["y", "a"])
    assert graph.feature_names == ("y", "a")
    assert graph.classes == ("k",)
    assert as_dense(graph.x).tolist() == [[5, 1], [6, 2]]
    assert graph_from_files(edges, nodes).classes == ("5", "6")
    assert graph_from_files(edges, nodes, feature_columns=["y"]).y is None
    assert graph_from_files(edges, nodes, feature_columns="a").feature_names == ("a",)


def test_a_node_table_may_lack_a_header_and_its_first_column_is_the_id(write):
    edges = write("e.csv", "5,6\n")
    graph = graph_from_files(edges, write("n.csv", "5,0.5,1\n6,0.25,2\n"))
    assert graph.ids.tolist() == [5, 6]
    assert graph.feature_names == ("column 2", "column 3")
    graph = graph_from_files(edges, write("n.csv", "key,0,1\n5,0.5,1\n6,0.25,2\n"))
    assert graph.feature_names == ("0", "1")


def test_an_index_without_a_name_is_not_a_feature(write):
    edges = write("e.csv", "5,6\n")
    graph = graph_from_files(edges, write("n.csv", ",id,f\n0,5,1\n1,6,2\n"))
    assert (graph.ids.tolist(), graph.feature_names) == ([5, 6], ("f",))
    assert graph_from_files(edges, write("n.csv", "Unnamed: 0,id,f\n0,5,1\n1,6,2\n")).feature_names == ("f",)
    parquet.write_table(pa.table({"id": [5, 6], "f": [1, 2], "__index_level_0__": [0, 9]}), "n.parquet")
    assert graph_from_files(edges, "n.parquet").feature_names == ("f",)


def test_labels_that_a_data_frame_stored_as_floats_are_integers(write):
    edges = write("e.csv", "1,2\n")
    parquet.write_table(pa.table({"id": [1, 2, 3], "label": [10.0, 2.0, float("nan")]}), "n.parquet")
    for nodes in (write("n.csv", "id,label\n1,10.0\n2,2.0\n3,\n"), "n.parquet"):
        graph = graph_from_files(edges, nodes)
        assert graph.classes == ("2", "10")
        assert graph.y.tolist() == [1, 0, -1]


def test_labels_that_are_all_missing_are_no_labels(write):
    assert graph_from_files(write("e.csv", "1,2\n"), write("n.csv", "id,label\n1,\n2,nan\n")).y is None


# -- faults ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("e.csv", "", "e.csv is empty"),
        ("e.csv", "\n \n", "e.csv is empty"),
        ("e.txt", "# only\n# remarks\n", "e.txt is empty"),
        ("e.csv", "source,target\n", "e.csv holds no edges below its header"),
        ("e.csv", b"PK\x03\x04\x00\x00\xff", "e.csv is not a text file"),
        ("e.csv", b"1,2\n3,\xff\n", "e.csv, line 2 is not UTF-8 text"),
        ("e.csv", "1,2\n\n3,4,5\n", "e.csv, line 3 has 3 cells: expected 2"),
        ("e.csv", '1,"a\nb"\n3\n', "e.csv, line 3 has 1 cells: expected 2"),
        ("e.txt", "# remark\n1 2\n3\n", "e.txt, line 3 has 1 cells: expected 2"),
        ("e.csv", '1,2\n3,"4\n5,6\n', "e.csv, line 2 opens a quote that is never closed"),
        ("e.csv", '"1,2\n3,4\n', "e.csv is not a readable table"),
        ("e.csv", "1\n2\n", "e.csv has one column: expected two"),
        ("e.csv", "source,target\n1,2\n3,\n", "e.csv, line 3, column 'target' is empty: expected a node id"),
        ("e.csv", "source,source\n1,2\n", "e.csv has two columns named 'source'"),
        ("e.csv", "1," + "x" * 2000, "e.csv, line 1, column 'column 2' is 2,000 bytes long"),
        ("e.parquet", b"PAR1 but no more", "e.parquet is not a readable Parquet file"),
        ("e.xlsx", "1,2\n", "e.xlsx ends in '.xlsx': expected a table in .csv, .tsv, .txt, .parquet"),
    ],
)
def test_a_bad_edge_list_is_one_sentence(write, name, content, expected):
    assert sentence(write(name, content)).startswith(expected)


def test_missing_files_and_directories(write, tmp_path):
    assert sentence("nowhere.csv") == "there is no file nowhere.csv"
    Path("folder.csv").mkdir()
    assert sentence("folder.csv") == "folder.csv is a directory: expected a file"
    assert sentence(write("e.csv", "1,2\n"), "nodes.csv") == "there is no file nodes.csv"


def test_a_misspelt_column_is_named_with_the_nearest(write):
    edges, nodes = write("e.csv", "sender,receiver\n1,2\n"), write("n.csv", "id,age\n1,3\n2,4\n")
    assert sentence(edges, source_column="sendr") == (
        "unknown column in e.csv: 'sendr', did you mean 'sender'? Known: receiver, sender"
    )
    for option in ("id_column", "label_column"):
        assert "column in n.csv: 'agee', did you mean 'age'?" in sentence(edges, nodes, **{option: "agee"})
    assert "column in n.csv: 'agee', did you mean 'age'?" in sentence(edges, nodes, feature_columns=["agee"])
    assert "no node table was given" in sentence(edges, label_column="age")
    wide = write("w.csv", "id," + ",".join(f"word{i}" for i in range(500)) + "\n1" + ",0" * 500 + "\n2" + ",0" * 500)
    message = sentence(edges, wide, feature_columns=["wrod499"])
    assert "did you mean 'word499'?" in message
    assert len(message) < 500


def test_label_and_feature_at_once(write):
    edges, nodes = write("e.csv", "1,2\n"), write("n.csv", "id,a\n1,3\n2,4\n")
    message = sentence(edges, nodes, label_column="a", feature_columns=["a"])
    assert message == "column 'a' of n.csv is named both as label and as feature"


@pytest.mark.parametrize(
    ("edges", "nodes", "expected"),
    [
        ("source,target\n1,2\n1,9\n", "id\n1\n2\n", "e.csv, line 3 names node '9', which is not in n.csv"),
        ("source,target\n1,2\n8,9\n", "id\n1\n2\n", "e.csv, line 3 names node '8', which is not in n.csv"),
        ("1,2\n", "id\n1\n2\n\n1\n", "n.csv, line 5 gives node '1' a second time: expected each id once"),
        ("1,2\n", "id,f\n1,1\n,2\n", "n.csv, line 3, column 'id' is empty: expected a node id"),
        ("1,2\n", "id\n", "n.csv holds no nodes below its header"),
        ("1,2\n", "id,f\n1,1\n2,\n", "n.csv, line 3, column 'f' is empty: expected a finite number"),
        ("1,2\n", "id,f\n1,1\n2,NaN\n", "n.csv, line 3, column 'f' holds 'NaN': expected a finite number"),
        ("1,2\n", "id,f\n1,-inf\n2,1\n", "n.csv, line 2, column 'f' holds '-inf': expected a finite number"),
        ("1,2\n", "id,f\n1,1e39\n2,1\n", "n.csv, line 2, column 'f' holds '1e39': expected a finite number"),
        ("1,2\n", "id,f\n1,1\n2,2\n3,NA\n", "n.csv, line 4, column 'f' holds 'NA': expected a finite number"),
        ("1,2\n", "id,f\n1,a\n2,b\n", "column 'f' of n.csv holds different text in every row, too many to be"),
        ("1,2\n", "id,f,f\n1,1,2\n", "n.csv has two columns named 'f'"),
    ],
)
def test_a_bad_node_table_is_one_sentence(write, edges, nodes, expected):
    assert sentence(write("e.csv", edges), write("n.csv", nodes)).startswith(expected)


def test_too_many_categories(write):
    edges = write("e.csv", "1,2\n")
    rows = "".join(f"{i},t{i}\n" for i in range(10_001))
    nodes = write("n.csv", "id,title\n" + rows + "x,t0\n")
    assert "column 'title' of n.csv holds 10,001 different texts" in sentence(edges, nodes)
    few = write("few.csv", "id,title\n1,a\n2,b\n")
    assert graph_from_files(edges, few, feature_columns=["title"]).feature_names == ("title=a", "title=b")


def test_a_parquet_fault_names_the_row_and_an_odd_type_its_column(write):
    edges = write("e.csv", "1,2\n")
    parquet.write_table(pa.table({"id": [1, 2], "f": [0.5, None]}), "n.parquet")
    assert sentence(edges, "n.parquet") == "n.parquet, row 2, column 'f' is empty: expected a finite number"
    parquet.write_table(pa.table({"id": [1, 2], "f": [[1], [2]]}), "n.parquet")
    assert sentence(edges, "n.parquet").startswith("column 'f' of n.parquet is of type list")
    parquet.write_table(pa.table({"id": [[1], [2]]}), "n.parquet")
    assert sentence(edges, "n.parquet").startswith("column 'id' of n.parquet is of type list")


def test_a_few_bytes_cannot_claim_a_table_that_fills_the_memory(write, monkeypatch):
    parquet.write_table(pa.table({"source": range(1000), "target": range(1000)}), "e.parquet")
    monkeypatch.setattr("signnap.data.tables._MAX_CELLS", 1999)
    assert "e.parquet claims 1,000 rows" in sentence("e.parquet")


# -- properties ------------------------------------------------------------------------------------------------------

_words = st.text("abc ,;'\"é\n\t0", min_size=1, max_size=4).map(lambda text: f"n{text}n")
_ids = st.sampled_from([st.integers(-(2**40), 2**40), _words]).flatmap(
    lambda one: st.lists(one, min_size=1, max_size=12, unique=True)
)
_numbers = st.floats(-1e6, 1e6, width=32, allow_subnormal=False)


@st.composite
def tables(draw):
    """Columns of an edge list and a node table."""
    ids = draw(_ids)
    end = st.sampled_from(ids)
    ends = draw(st.lists(st.tuples(end, end), max_size=20))
    per_node = lambda values: draw(st.lists(values, min_size=len(ids), max_size=len(ids)))
    nodes = {
        "id": ids,
        "number": per_node(_numbers),
        "whole": per_node(st.integers(-(2**53), 2**53)),
        "flag": per_node(st.booleans()),
        "kind": [*per_node(st.sampled_from(["red", "green, light", "blue"]))[1:], "red"],
        "label": per_node(st.sampled_from(["x", "y z", None])),
    }
    if len(set(nodes["kind"])) == len(ids):
        del nodes["kind"]
    return {"source": [s for s, _ in ends], "target": [t for _, t in ends]}, nodes


def write_columns(path, columns):
    if path.suffix == ".parquet":
        kind = lambda values: pa.string() if values and isinstance(values[0], str) else None
        parquet.write_table(pa.table({n: pa.array(v, kind(v)) for n, v in columns.items()}), path)
        return
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


@given(tables())
@settings(max_examples=60, deadline=None)
def test_all_formats_give_the_same_graph(columns):
    edges, nodes = columns
    graphs = []
    with tempfile.TemporaryDirectory() as folder:
        for suffix in (".csv", ".tsv", ".parquet"):
            paths = Path(folder) / f"edges{suffix}", Path(folder) / f"nodes{suffix}"
            write_columns(paths[0], edges)
            write_columns(paths[1], nodes)
            graphs.append(graph_from_files(*paths))
    first = graphs[0]
    assert first.ids.tolist() == nodes["id"]
    for graph in graphs:
        assert graph.fingerprint() == first.fingerprint()
        assert graph.ids.tolist() == first.ids.tolist()
        assert graph.ids.dtype == first.ids.dtype != object
        assert (graph.classes, graph.feature_names) == (first.classes, first.feature_names)
        assert (graph.y is None) == all(label is None for label in nodes["label"])
        assert graph.y is None or graph.y.tolist() == first.y.tolist()
    dense = as_dense(first.x)
    assert dense[:, 0].tolist() == nodes["number"]
    assert dense[:, 2].tolist() == nodes["flag"]


@given(tables(), st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_order_and_direction_of_edges_do_not_matter_given_a_node_table(columns, random):
    edges, nodes = columns
    rows = list(zip(edges["source"], edges["target"], strict=True))
    random.shuffle(rows)
    rows = [pair[::-1] if random.random() < 0.5 else pair for pair in rows]
    with tempfile.TemporaryDirectory() as folder:
        one, other, table = Path(folder) / "one.csv", Path(folder) / "other.csv", Path(folder) / "nodes.csv"
        write_columns(one, edges)
        write_columns(other, {"source": [s for s, _ in rows], "target": [t for _, t in rows]})
        write_columns(table, nodes)
        graph, shuffled = graph_from_files(one, table), graph_from_files(other, table)
    assert graph.fingerprint() == shuffled.fingerprint()
    assert graph.ids.tolist() == shuffled.ids.tolist()


_scraps = ["1", "2", "a", "-", ".", '"', ",", ";", "\t", " ", "\n", "\r\n", "\r", "#", "nan", "id", "source", "target",
           "label", "true", "\u00a0", "\u2028", "\x0b", "1e400", "0x1", "99999999999999999999"]  # fmt: skip
_garbage = st.one_of(
    st.lists(st.sampled_from(_scraps), max_size=30).map(lambda parts: "".join(parts).encode()),
    st.binary(max_size=60),
    st.text(max_size=40).map(str.encode),
)
_suffixes = st.sampled_from([".csv", ".tsv", ".txt", ".parquet"])


@given(_garbage, _suffixes, st.none() | _garbage, _suffixes)
@settings(max_examples=300, deadline=None)
def test_any_bytes_are_a_graph_or_a_sentence(edges, edge_suffix, nodes, node_suffix):
    with tempfile.TemporaryDirectory() as folder:
        edge_path, node_path = Path(folder) / f"e{edge_suffix}", Path(folder) / f"n{node_suffix}"
        edge_path.write_bytes(edges)
        node_path.write_bytes(nodes or b"")
        try:
            assert isinstance(graph_from_files(edge_path, None if nodes is None else node_path), Graph)
        except SignnapError as error:
            assert str(error)


def _small_parquet():
    sink = pa.BufferOutputStream()
    parquet.write_table(pa.table({"source": [1, 2, 3], "target": ["a", "b", "c"]}), sink)
    return sink.getvalue().to_pybytes()


@given(st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=6), st.floats(0, 1))
@settings(max_examples=150, deadline=None)
def test_a_damaged_parquet_file_is_a_graph_or_a_sentence(changes, keep):
    data = bytearray(_small_parquet())
    for where, value in changes:
        data[int(where * len(data))] = value
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "e.parquet"
        path.write_bytes(data[: int(keep * len(data))] if keep > 0.5 else data)
        try:
            graph_from_files(path)
        except SignnapError as error:
            assert str(error)


def test_a_million_edges_load_in_seconds(tmp_path):
    pairs = np.random.default_rng(0).integers(0, 100_000, (1_000_000, 2))
    table = pa.table({"source": pairs[:, 0], "target": pairs[:, 1]})
    from pyarrow import csv as arrow_csv

    arrow_csv.write_csv(table, tmp_path / "big.csv")
    start = time.perf_counter()
    graph = graph_from_files(tmp_path / "big.csv")
    assert time.perf_counter() - start < 15  # about one second when the machine is not busy with other things
    assert graph.report.given == 1_000_000
    first_met = list(dict.fromkeys(pairs[:50].ravel().tolist()))
    assert graph.ids[: len(first_met)].tolist() == first_met
