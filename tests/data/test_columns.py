"""Node tables: what their columns mean, and a sentence for every fault."""

import logging

import pyarrow as pa
import pytest
from pyarrow import parquet

from signnap import load_graph
from signnap.graph import SparseFeatures, as_dense


def pairs(*texts):
    return {frozenset(text.split("-")) for text in texts}


def test_a_node_table_gives_order_labels_and_features(write, edges_of):
    nodes = write("n.csv", "name,age,member,label\nb,1.5,True,10\nc,2,false,\na,3,TRUE,9\nd,-4e1,False,nan\n")
    graph = load_graph(write("e.csv", "a,b\nc,a\n"), nodes=nodes)
    assert graph.ids.tolist() == ["b", "c", "a", "d"]
    assert graph.classes == ("9", "10")
    assert graph.y.tolist() == [1, -1, 0, -1]
    assert graph.feature_names == ("age", "member")
    assert as_dense(graph.x).tolist() == [[1.5, 1], [2, 0], [3, 1], [-40, 0]]
    assert edges_of(graph) == pairs("a-b", "a-c")


def test_text_columns_become_one_column_per_value(write):
    nodes = write("n.csv", "id,f,city,y\n1,0,Rome,u\n2,2,Oslo,v\n3,3,,u\n4,0, Rome ,u\n")
    graph = load_graph(write("e.csv", "1,2\n"), nodes=nodes)
    assert graph.feature_names == ("f", "city=Oslo", "city=Rome")
    assert as_dense(graph.x).tolist() == [[0, 0, 1], [2, 1, 0], [3, 0, 0], [0, 0, 1]]
    assert graph.classes == ("u", "v")


def test_many_categories_stay_sparse(write):
    rows = "".join(f"{i},c{i % 50}\n" for i in range(200))
    graph = load_graph(write("e.csv", "1,2\n"), nodes=write("n.csv", "id,city\n" + rows))
    assert isinstance(graph.x, SparseFeatures)
    assert graph.num_features == 50


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


def test_a_node_table_may_lack_a_header_and_its_first_column_is_the_id(write):
    edges = write("e.csv", "5,6\n")
    graph = load_graph(edges, nodes=write("n.csv", "5,0.5,1\n6,0.25,2\n"))
    assert graph.ids.tolist() == [5, 6]
    assert graph.feature_names == ("column 2", "column 3")
    graph = load_graph(edges, nodes=write("n.csv", "key,0,1\n5,0.5,1\n6,0.25,2\n"))
    assert graph.feature_names == ("0", "1")


def test_an_index_without_a_name_is_not_a_feature(write):
    edges = write("e.csv", "5,6\n")
    graph = load_graph(edges, nodes=write("n.csv", ",id,f\n0,5,1\n1,6,2\n"))
    assert (graph.ids.tolist(), graph.feature_names) == ([5, 6], ("f",))
    assert load_graph(edges, nodes=write("n.csv", "Unnamed: 0,id,f\n0,5,1\n1,6,2\n")).feature_names == ("f",)
    parquet.write_table(pa.table({"id": [5, 6], "f": [1, 2], "__index_level_0__": [0, 9]}), "n.parquet")
    assert load_graph(edges, nodes="n.parquet").feature_names == ("f",)


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


def test_an_id_written_in_two_ways_is_given_twice(write, sentence):
    message = sentence(load_graph, write("e.csv", "7,8\n"), nodes=write("n.csv", "id,f\n7,1\n8,2\n7.0,3\n"))
    assert message == "n.csv, line 4 gives node '7' a second time: expected each id once"


def test_labels_that_are_all_missing_are_no_labels(write):
    assert load_graph(write("e.csv", "1,2\n"), nodes=write("n.csv", "id,label\n1,\n2,nan\n")).y is None


@pytest.mark.parametrize("word", ["NA", "N/A", "NULL", "null", "NaN", "nan", "None", "<NA>", " NA "])
def test_a_word_for_missing_is_no_class_and_no_number(write, sentence, word):
    edges = write("e.csv", "1,2\n")
    graph = load_graph(edges, nodes=write("n.csv", f"id,f,label\n1,1,a\n2,2,{word}\n3,3,b\n"))
    assert (graph.classes, graph.y.tolist()) == (("a", "b"), [0, -1, 1])
    expected = f"n.csv, line 3, column 'f' holds {word!r}: expected a finite number"
    for cells in (["0.5", word, word, word], ["true", word, "FALSE", word], ["3", word, "4", word, "x", word]):
        nodes = write("n.csv", "id,f\n" + "".join(f"{row},{cell}\n" for row, cell in enumerate(cells)))
        assert sentence(load_graph, edges, nodes=nodes) == expected


def test_a_word_for_missing_stays_a_value_of_a_text_column(write):
    edges = write("e.csv", "1,2\n")
    graph = load_graph(edges, nodes=write("n.csv", "id,f,g\n1,NA,NA\n2,EU,NA\n3,NA,NA\n"))
    assert graph.feature_names == ("f=EU", "f=NA", "g=NA")
    assert as_dense(graph.x).tolist() == [[0, 1, 1], [1, 0, 1], [0, 1, 1]]
    assert load_graph(edges, nodes=write("n.csv", "id,label\n1,na\n2,-\n3,none\n")).classes == ("-", "na", "none")
    assert load_graph(write("e.csv", "NA,2\n"), nodes=write("n.csv", "id,f\nNA,1\n2,2\n")).ids.tolist() == ["NA", "2"]


def test_a_note_names_the_columns_that_were_taken_for_text(write, caplog):
    caplog.set_level(logging.INFO, logger="signnap")
    edges = write("e.csv", "1,2\n")
    load_graph(edges, nodes=write("n.csv", "id,age,price,label\n1,3,$12,a\n2,4,$12,b\n"))
    assert "n.csv: 2 features from 2 columns (text, with one feature per value: price), 2 classes" in caplog.text
    load_graph(edges, nodes=write("n.csv", "id,a,b,c,d,e,f,g\n1,$1,$1,$1,$1,$1,$1,$1\n2,$1,$1,$1,$1,$1,$1,$1\n"))
    assert "7 features from 7 columns (text, with one feature per value: a, b, c, d, e and 2 more), no" in caplog.text
    load_graph(edges, nodes=write("n.csv", "id,age\n1,3\n2,4\n"))
    assert "1 features from 1 columns, no labels" in caplog.text


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


def test_label_and_feature_at_once(write, sentence):
    edges, nodes = write("e.csv", "1,2\n"), write("n.csv", "id,a\n1,3\n2,4\n")
    message = sentence(load_graph, edges, nodes=nodes, label_column="a", feature_columns=["a"])
    assert message == "column 'a' of n.csv is named both as label and as feature"


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


def test_too_many_categories(write, sentence):
    edges = write("e.csv", "1,2\n")
    rows = "".join(f"{i},t{i}\n" for i in range(10_001))
    nodes = write("n.csv", "id,title\n" + rows + "x,t0\n")
    assert "column 'title' of n.csv holds 10,001 different texts" in sentence(load_graph, edges, nodes=nodes)
    few = write("few.csv", "id,title\n1,a\n2,b\n")
    assert load_graph(edges, nodes=few, feature_columns=["title"]).feature_names == ("title=a", "title=b")


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


def test_no_features_means_structural_ones_and_a_note(write, caplog):
    caplog.set_level(logging.INFO, logger="signnap")
    path = write("e.csv", "1,2\n2,3\n")
    for graph in (
        load_graph(path),
        load_graph(path, nodes=write("n.csv", "id,label\n1,a\n2,b\n3,a\n")),
        load_graph(path, nodes=write("m.csv", "id,f\n1,1\n2,2\n3,3\n"), feature_columns=[]),
    ):
        assert graph.num_features > 0
        assert len(graph.feature_names) == graph.num_features
    assert caplog.text.count("no features given") == 3


def test_a_table_of_isolated_nodes_is_a_graph(write):
    graph = load_graph(write("e.csv", "source,target\n"), nodes=write("n.csv", "id\n1\n2\n"))
    assert (graph.num_nodes, graph.num_edges, graph.report.isolated) == (2, 0, 2)
