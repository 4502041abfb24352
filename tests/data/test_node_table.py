"""Node tables: ids, labels, split, and a sentence for every fault."""

import logging

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from signnap import load_graph, make_split, read_embeddings
from signnap.graph import as_dense


@pytest.fixture
def notes(caplog):
    caplog.set_level(logging.INFO, logger="signnap")
    return caplog


def warned(caplog):
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


def test_a_node_table_gives_order_labels_and_features(write, edges_of, pairs):
    nodes = write("n.csv", "name,age,member,label\nb,1.5,True,10\nc,2,false,\na,3,TRUE,9\nd,-4e1,False,nan\n")
    graph = load_graph(write("e.csv", "a,b\nc,a\n"), nodes=nodes)
    assert graph.ids.tolist() == ["b", "c", "a", "d"]
    assert graph.classes == ("9", "10")
    assert graph.y.tolist() == [1, -1, 0, -1]
    assert graph.feature_names == ("age", "member")
    assert as_dense(graph.x).tolist() == [[1.5, 1], [2, 0], [3, 1], [-40, 0]]
    assert edges_of(graph) == pairs("a-b", "a-c")


def test_columns_can_be_named(write):
    edges = write("e.csv", "p,q\n")
    nodes = write("n.csv", "key,a,y,kind\np,1,5,k\nq,2,6,k\n")
    graph = load_graph(edges, nodes=nodes, id_column="key", label_column="kind", feature_columns=["y", "a"])
    assert graph.feature_names == ("y", "a")
    assert graph.classes == ("k",)
    assert as_dense(graph.x).tolist() == [[5, 1], [6, 2]]
    assert load_graph(edges, nodes=nodes).classes == ("5", "6")
    assert load_graph(edges, nodes=nodes, feature_columns=["y"]).y is None
    assert load_graph(edges, nodes=nodes, feature_columns="a").feature_names == ("a",)


def test_label_and_feature_at_once(write, sentence):
    edges, nodes = write("e.csv", "1,2\n"), write("n.csv", "id,a\n1,3\n2,4\n")
    message = sentence(load_graph, edges, nodes=nodes, label_column="a", feature_columns=["a"])
    assert message == "column 'a' of n.csv is named both as label and as feature"


def test_a_table_of_isolated_nodes_is_a_graph(write):
    graph = load_graph(write("e.csv", "source,target\n"), nodes=write("n.csv", "id\n1\n2\n"))
    assert (graph.num_nodes, graph.num_edges, graph.report.isolated) == (2, 0, 2)


# -- ids ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("customer_id,name,age", "customer_id"),
        ("customerId,name,age", "customerId"),
        ("Customer ID,name,age", "Customer ID"),
        (",customer-id,name", "customer-id"),
        ("paid,name,age", "name"),
        ("age,name,customer_id", "name"),
        ("group_id,name,age", "name"),
        ("customer_id,id,name", "id"),
        ("key,age,size", "key"),
    ],
)
def test_ids_are_in_the_column_that_looks_most_like_it(write, header, expected):
    names = [name or "column 1" for name in header.split(",")]
    cells = {name: ["7", "8", "8" if name == "group_id" else "9"] for name in names}
    cells[expected] = ["1", "2", "3"]
    rows = [",".join(cells[name][row] for name in names) for row in range(3)]
    graph = load_graph(write("e.csv", "1,2\n"), nodes=write("n.csv", "\n".join([header, *rows])))
    assert graph.ids.tolist() == [1, 2, 3]


def test_a_node_table_may_lack_a_header_and_its_first_column_is_the_id(write):
    edges = write("e.csv", "5,6\n")
    graph = load_graph(edges, nodes=write("n.csv", "5,0.5,1\n6,0.25,2\n"))
    assert graph.ids.tolist() == [5, 6]
    assert graph.feature_names == ("column 2", "column 3")
    graph = load_graph(edges, nodes=write("n.csv", "key,0,1\n5,0.5,1\n6,0.25,2\n"))
    assert graph.feature_names == ("0", "1")


def test_an_endpoint_that_is_no_node_names_the_column_of_ids(write, sentence):
    nodes = write("n.csv", "name,key\nx,a\ny,b\n")
    assert sentence(load_graph, write("e.csv", "source,target\na,b\n"), nodes=nodes) == (
        "e.csv, line 2 names node 'a', which is not in column 'name' of n.csv (--id-column names another column of ids)"
    )


def test_blanks_around_ids_are_removed_and_counted(write, notes):
    graph = load_graph(write("e.csv", "source,target\na ,b\n b,c\n"), nodes=write("n.csv", "id,f\n a,1\nb,2\nc ,3\n"))
    assert graph.ids.tolist() == ["a", "b", "c"]
    assert warned(notes) == [
        "n.csv: removed the blanks around 2 ids in column 'id'",
        "e.csv: removed the blanks around 2 ids in column 'source'",
    ]
    notes.clear()
    assert load_graph(nx.Graph([("a ", "b"), ("b", 3)])).ids.tolist() == ["a", "b", "3"]
    assert warned(notes) == ["the NetworkX graph: removed the blanks around 1 ids"]


def test_an_id_written_in_two_ways_is_given_twice(write, sentence):
    message = sentence(load_graph, write("e.csv", "7,8\n"), nodes=write("n.csv", "id,f\n7,1\n8,2\n7.0,3\n"))
    assert message == "n.csv, line 4 gives node '7' a second time: expected each id once"


def test_ids_of_parquet_keep_their_type(write):
    edges, ids = write("e.csv", "7,10\n"), {"text": ["7", "10"], "numbers": [7, 10]}
    for column in ids.values():
        parquet.write_table(pa.table({"id": column, "f": [1, 2]}), "n.parquet")
        assert load_graph(edges, nodes="n.parquet").ids.tolist() == column
        parquet.write_table(pa.table({"source": column, "target": column[::-1]}), "e.parquet")
        assert load_graph("e.parquet").ids.tolist() == column
        parquet.write_table(pa.table({"id": column, "e0": [0.5, 1.0]}), "z.parquet")
        assert read_embeddings("z.parquet")[1].tolist() == column
    parquet.write_table(pa.table({"source": [7, 10], "target": ["10", "7"]}), "e.parquet")
    assert load_graph("e.parquet").ids.tolist() == ["7", "10"]
    parquet.write_table(pa.table({"id": pa.array(["7", "10"]).dictionary_encode()}), "n.parquet")
    assert load_graph(edges, nodes="n.parquet").ids.tolist() == ["7", "10"]


@pytest.mark.parametrize("text", [pa.string(), pa.large_string(), pa.string_view()])
def test_ids_may_be_text_of_every_type(text, write, notes):
    left, right = pa.array(["a ", "b"], text), pa.array(["b", "a"], text)
    parquet.write_table(pa.table({"id": left, "f": [1, 2], "city": right}), "n.parquet")
    parquet.write_table(pa.table({"source": left, "target": right}), "e.parquet")
    graph = load_graph("e.parquet", nodes="n.parquet", feature_columns=["f", "city"])
    assert (graph.ids.tolist(), graph.feature_names) == (["a", "b"], ("f", "city=a", "city=b"))
    assert load_graph("e.parquet").ids.tolist() == ["a", "b"]
    parquet.write_table(pa.table({"id": left, "e0": [0.5, 1.0]}), "z.parquet")
    assert read_embeddings("z.parquet")[1].tolist() == ["a", "b"]
    assert "z.parquet: removed the blanks around 1 ids in column 'id'" in warned(notes)


def test_ids_that_numpy_would_cut_short_are_refused(write, sentence):
    words = r"holds 'a\x00', which ends in a NUL character: expected a node id without"
    parquet.write_table(pa.table({"id": ["a", "a\0"], "f": [1, 2]}), "n.parquet")
    edges = write("e.csv", "source,target\na,a\n")
    assert sentence(load_graph, edges, nodes="n.parquet") == f"n.parquet, row 2, column 'id' {words}"
    assert sentence(read_embeddings, "n.parquet") == f"n.parquet, row 2, column 'id' {words}"
    parquet.write_table(pa.table({"source": ["a"], "target": ["a\0"]}), "e.parquet")
    assert sentence(load_graph, "e.parquet") == f"e.parquet, row 1, column 'target' {words}"
    assert sentence(load_graph, nx.Graph([("a", "a\0")])) == (
        r"node 'a\x00' of the NetworkX graph ends in a NUL character: expected an id without"
    )
    parquet.write_table(pa.table({"id": ["a\0b", "a"], "f": [1, 2]}), "n.parquet")
    assert load_graph(edges, nodes="n.parquet").ids.tolist() == ["a\0b", "a"]


# -- labels ------------------------------------------------------------------------------------------------------------


def test_labels_that_a_data_frame_stored_as_floats_are_integers(write):
    edges = write("e.csv", "1,2\n")
    parquet.write_table(pa.table({"id": [1, 2, 3], "label": [10.0, 2.0, float("nan")]}), "n.parquet")
    gaps = write("n.csv", "id,label\n1,10.0\n2,2.0\n3,\n"), write("m.csv", "id,label\n1,10.0\n2,2.0\n3,NaN\n")
    for nodes in (*gaps, "n.parquet"):
        graph = load_graph(edges, nodes=nodes)
        assert graph.classes == ("2", "10")
        assert graph.y.tolist() == [1, 0, -1]


def test_a_label_is_the_same_class_with_and_without_its_point(write):
    edges, nodes = write("e.csv", "1,2\n"), "id,label\n1,10.0\n2,2\n3,2.0\n4,1.5\n"
    graph = load_graph(edges, nodes=write("n.csv", nodes))
    assert graph.classes == ("1.5", "10", "2")
    assert graph.y.tolist() == [1, 2, 2, 0]
    parquet.write_table(pa.table({"id": [1, 2, 3, 4], "label": [10.0, 2.0, 2.0, 1.5]}), "n.parquet")
    assert load_graph(edges, nodes="n.parquet").classes == graph.classes


def test_labels_that_are_all_missing_are_no_labels(write):
    assert load_graph(write("e.csv", "1,2\n"), nodes=write("n.csv", "id,label\n1,\n2,nan\n")).y is None


_MEASURED = "holds measured numbers, not classes: a feature like other columns"


@pytest.mark.parametrize("name", ["y", "Target"])
def test_measured_numbers_are_a_feature_unless_named_as_the_label(write, caplog, name):
    caplog.set_level(logging.INFO, logger="signnap")
    edges = write("e.csv", "1,2\n")
    nodes = write("n.csv", f"id,x,{name}\n1,0.5,0.25\n2,0.5,7\n3,0.5,NA\n4,0.5,0.25\n")
    graph = load_graph(edges, nodes=nodes, label_column=name)
    assert graph.classes == ("0.25", "7")
    assert _MEASURED not in caplog.text
    nodes = write("n.csv", f"id,x,{name}\n1,0.5,0.25\n2,0.5,7\n3,0.5,1e-3\n4,0.5,0.25\n")
    graph = load_graph(edges, nodes=nodes)
    assert (graph.feature_names, graph.y) == (("x", name), None)
    assert f"n.csv: column '{name}' {_MEASURED}" in caplog.text
    parquet.write_table(pa.table({"id": [1, 2], name: [0.5, 1.25], "class": ["a", "b"]}), "n.parquet")
    assert load_graph(edges, nodes="n.parquet").classes == ("a", "b")
    parquet.write_table(pa.table({"id": [1, 2], name: [0.5, 1.25]}), "n.parquet")
    assert load_graph(edges, nodes="n.parquet").feature_names == (name,)


def test_a_measured_y_leaves_the_label_to_the_next_name(write):
    nodes = write("n.csv", "id,y,target\n1,0.5,a\n2,1.5,b\n")
    graph = load_graph(write("e.csv", "1,2\n"), nodes=nodes)
    assert (graph.feature_names, graph.classes) == (("y",), ("a", "b"))


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("y", "1234"),
        ("y", ["1", "2", "nan"]),
        ("y", ["0.5", "1.5", "0.5", "1.5"]),
        ("target", "abcd"),
        ("label", ["0.5", "1.5", "2.5", "3.5"]),
    ],
)
def test_whole_few_or_plainly_named_numbers_are_classes(write, name, cells):
    nodes = write("n.csv", f"id,{name}\n" + "".join(f"{row},{cell}\n" for row, cell in enumerate(cells)))
    assert load_graph(write("e.csv", "1,2\n"), nodes=nodes).classes == tuple(sorted({*cells} - {"nan"}))


@pytest.mark.parametrize(("labels", "told"), [((0, -1, 1), True), ((0, 2, 1), False), (("a", "-1", "b"), False)])
def test_a_label_of_minus_one_is_a_class_and_a_note_says_so(write, notes, labels, told):
    nodes = write("n.csv", "id,f,label\n" + "".join(f"{row},{row},{label}\n" for row, label in enumerate(labels)))
    assert len(load_graph(write("e.csv", "0,1\n"), nodes=nodes).classes) == 3
    words = "n.csv: label -1 in column 'label' is taken for a class like others; "
    assert warned(notes) == [f"{words}leave the cell empty where a node has none"] * told


# -- split -------------------------------------------------------------------------------------------------------------


_PARTS = ["train", "Val", " test", "", "NA", "TEST"]


def test_a_column_can_hold_the_split(write):
    rows = "".join(f"{row},{row},{row % 2},{part}\n" for row, part in enumerate(_PARTS))
    graph = load_graph(write("e.csv", "0,1\n"), nodes=write("n.csv", "id,f,label,part\n" + rows), split_column="part")
    assert graph.feature_names == ("f",)
    assert {part: rows.tolist() for part, rows in graph.given_split.items()} == {
        "train": [0], "val": [1], "test": [2, 5],
    }  # fmt: skip
    split = make_split(graph, "public")
    assert [part.tolist() for part in (split.train, split.val, split.test)] == [[0], [1], [2, 5]]
    given = nx.path_graph(6)
    for node, part in zip(given, _PARTS, strict=True):
        given.nodes[node].update(age=node, part=part.strip())
    found = load_graph(given, split_column="part")
    assert found.feature_names == ("age",) and found.given_split["test"].tolist() == [2, 5]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"split_column": "part"}, "n.csv, line 3, column 'part' holds 'dev': expected train, val, test, or nothing"),
        ({"split_column": "prat"}, "unknown column in n.csv: 'prat', did you mean 'part'?"),
        ({"split_column": "f", "feature_columns": ["f"]}, "column 'f' of n.csv is named both as split and as feature"),
        ({"split_column": "f", "label_column": "f"}, "column 'f' of n.csv is named both as split and as label"),
        ({"label_column": "f", "categorical_columns": ["f"]}, "column 'f' of n.csv is named both as label and as"),
    ],
)
def test_a_split_that_cannot_be_read_is_one_sentence(write, options, expected, sentence):
    nodes = write("n.csv", "id,f,part\n1,1,train\n2,2,dev\n")
    assert sentence(load_graph, write("e.csv", "1,2\n"), nodes=nodes, **options).startswith(expected)


def test_a_split_needs_a_node_table(write, sentence):
    message = sentence(load_graph, write("e.csv", "1,2\n"), split_column="part")
    assert message == "split_column='part' names a column of a node table, but no node table was given"


# -- faults ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("edges", "nodes", "expected"),
    [
        (
            "source,target\n1,2\n1,9\n",
            "id\n1\n2\n",
            "e.csv, line 3 names node '9', which is not in column 'id'",
        ),
        (
            "source,target\n1,2\n8,9\n",
            "id\n1\n2\n",
            "e.csv, line 3 names node '8', which is not in column 'id'",
        ),
        (
            "source,target\n1,9\n8,2\n",
            "id\n1\n2\n",
            "e.csv, line 2 names node '9', which is not in column 'id'",
        ),
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
def test_a_bad_node_table_is_one_sentence(write, edges, nodes, expected, sentence):
    assert sentence(load_graph, write("e.csv", edges), nodes=write("n.csv", nodes)).startswith(expected)


def test_a_parquet_fault_names_the_row_and_an_odd_type_its_column(write, sentence):
    edges = write("e.csv", "1,2\n")
    parquet.write_table(pa.table({"id": [1, 2], "f": [0.5, None]}), "n.parquet")
    assert (
        sentence(load_graph, edges, nodes="n.parquet")
        == "n.parquet, row 2, column 'f' is empty: expected a finite number"
    )
    parquet.write_table(pa.table({"id": [1, 2], "f": [[1], [2]]}), "n.parquet")
    assert sentence(load_graph, edges, nodes="n.parquet").startswith("column 'f' of n.parquet is of type list")
    parquet.write_table(pa.table({"id": [[1], [2]]}), "n.parquet")
    assert sentence(load_graph, edges, nodes="n.parquet").startswith("column 'id' of n.parquet is of type list")


def test_nodes_are_the_path_of_a_table(write, sentence):
    assert sentence(load_graph, write("e.csv", "1,2\n"), nodes=np.eye(2)) == (
        "nodes is a ndarray: expected the path of a table in .csv, .tsv, .txt, .parquet, so write it to one"
    )
