"""Node tables: where ids are found and what becomes of them, and columns for labels and split."""

import logging

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from signnap.data.embeddings import read_embeddings
from signnap.data.load import load_graph
from signnap.data.splits import make_split


@pytest.fixture
def notes(caplog):
    caplog.set_level(logging.INFO, logger="signnap")
    return caplog


def warned(caplog):
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


# -- ids -------------------------------------------------------------------------------------------------------------


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


# -- labels ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("labels", "told"), [((0, -1, 1), True), ((0, 2, 1), False), (("a", "-1", "b"), False)])
def test_a_label_of_minus_one_is_a_class_and_a_note_says_so(write, notes, labels, told):
    nodes = write("n.csv", "id,f,label\n" + "".join(f"{row},{row},{label}\n" for row, label in enumerate(labels)))
    assert len(load_graph(write("e.csv", "0,1\n"), nodes=nodes).classes) == 3
    words = "n.csv: label -1 in column 'label' is taken for a class like others; "
    assert warned(notes) == [f"{words}leave the cell empty where a node has none"] * told


# -- split -----------------------------------------------------------------------------------------------------------

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


def test_nodes_are_the_path_of_a_table(write, sentence):
    assert sentence(load_graph, write("e.csv", "1,2\n"), nodes=np.eye(2)) == (
        "nodes is a ndarray: expected the path of a table in .csv, .tsv, .txt, .parquet, so write it to one"
    )
