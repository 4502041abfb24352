"""Feature columns of a node table: numbers and categories, by their cells, by the user, and as in training."""

import datetime
import logging

import networkx as nx
import pyarrow as pa
import pytest
from pyarrow import parquet

from signnap import load_graph, read_embeddings
from signnap.data.assemble import STRUCTURAL_COLUMNS
from signnap.graph import SparseFeatures, as_dense

TRAINED = ("age", "country=DE", "country=FR")


@pytest.fixture
def edges(write):
    return write("e.csv", "1,2\n")


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


def test_an_index_without_a_name_is_not_a_feature(write):
    edges = write("e.csv", "5,6\n")
    graph = load_graph(edges, nodes=write("n.csv", ",id,f\n0,5,1\n1,6,2\n"))
    assert (graph.ids.tolist(), graph.feature_names) == ([5, 6], ("f",))
    assert load_graph(edges, nodes=write("n.csv", "Unnamed: 0,id,f\n0,5,1\n1,6,2\n")).feature_names == ("f",)
    parquet.write_table(pa.table({"id": [5, 6], "f": [1, 2], "__index_level_0__": [0, 9]}), "n.parquet")
    assert load_graph(edges, nodes="n.parquet").feature_names == ("f",)


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


# -- categories --------------------------------------------------------------------------------------------------------


def test_a_column_can_be_told_to_hold_categories(write, edges):
    nodes = write("n.csv", "id,code,note,size\n1,5411,x,1\n2,5812.0,y,2\n3,5411,,3\n")
    graph = load_graph(edges, nodes=nodes, categorical_columns=["code", "note"])
    assert graph.feature_names == ("code=5411", "code=5812", "note=x", "note=y", "size")
    assert as_dense(graph.x).tolist() == [[1, 0, 1, 0, 1], [0, 1, 0, 1, 2], [1, 0, 0, 0, 3]]
    for stored in (pa.int64(), pa.float64(), pa.string()):
        column = pa.array(["5411", "5812", "5411"]).cast(pa.int64()).cast(stored)
        parquet.write_table(pa.table({"id": [1, 2, 3], "code": column}), "n.parquet")
        found = load_graph(edges, nodes="n.parquet", categorical_columns="code")
        assert found.feature_names == ("code=5411", "code=5812")
    assert load_graph(edges, nodes=nodes, feature_columns=["size"], categorical_columns=["code"]).feature_names == (
        "size", "code=5411", "code=5812",
    )  # fmt: skip


def test_categories_that_were_named_may_be_many_or_none(write, edges):
    many = write("n.csv", "id,city\n" + "".join(f"{i},c{i}\n" for i in range(10_001)))
    assert load_graph(edges, nodes=many, categorical_columns=["city"]).num_features == 10_001
    graph = load_graph(edges, nodes=write("n.csv", "id,size,city\n1,3,\n2,4,\n"), categorical_columns=["city"])
    assert graph.feature_names == ("size", "city=")
    assert as_dense(graph.x).tolist() == [[3, 0], [4, 0]]


def test_too_many_categories(write, sentence):
    edges = write("e.csv", "1,2\n")
    rows = "".join(f"{i},t{i}\n" for i in range(10_001))
    nodes = write("n.csv", "id,title\n" + rows + "x,t0\n")
    assert "column 'title' of n.csv holds 10,001 different texts" in sentence(load_graph, edges, nodes=nodes)
    few = write("few.csv", "id,title\n1,a\n2,b\n")
    assert load_graph(edges, nodes=few, feature_columns=["title"]).feature_names == ("title=a", "title=b")


@pytest.mark.parametrize("values", [[7, 8, 7], [0.5, 1.5, 0.5], ["a", "b", "a"]])
def test_the_categories_of_a_data_frame_are_categories(edges, values):
    column = pa.array(values).dictionary_encode()
    parquet.write_table(pa.table({"id": [1, 2, 3], "kind": column, "size": [1, 2, 3]}), "n.parquet")
    names = load_graph(edges, nodes="n.parquet").feature_names
    assert names == (f"kind={values[0]}", f"kind={values[1]}", "size")


def test_categories_of_a_data_frame_that_differ_in_every_row_are_refused_unless_named(edges, sentence):
    parquet.write_table(pa.table({"id": [1, 2], "kind": pa.array(["a", "b"]).dictionary_encode()}), "n.parquet")
    expected = "column 'kind' of n.parquet holds different text in every row, too many to be categories"
    assert sentence(load_graph, edges, nodes="n.parquet").startswith(expected)
    assert load_graph(edges, nodes="n.parquet", categorical_columns=["kind"]).feature_names == ("kind=a", "kind=b")


def test_networkx_attributes_can_be_told_to_hold_categories():

    given = nx.path_graph(3)
    for node in given:
        given.nodes[node].update(code=7 + node % 2, age=node + 0.5, city="Oslo")
    assert load_graph(given, categorical_columns=["code"]).feature_names == ("age", "code=7", "code=8")
    assert load_graph(given, categorical_columns="city").feature_names == ("code", "age", "city=Oslo")


@pytest.mark.parametrize("header", ["id,f=1,f", "id,f,f=1"])
def test_a_column_called_like_another_and_its_value_is_refused(write, edges, header, sentence):
    rows = {"f=1": [3, 4, 5, 6], "f": [1, "x", "y", "y"], "id": [1, 2, 3, 4]}
    cells = zip(*(rows[name] for name in header.split(",")), strict=True)
    nodes = write("n.csv", "\n".join([header, *(",".join(map(str, row)) for row in cells)]))
    expected = "the columns of n.csv make two features named 'f=1': expected no column called like another one"
    for options in ({}, {"trained_on": ["f=1", "f=x", "f=y"]}):
        assert sentence(load_graph, edges, nodes=nodes, **options) == f"{expected} and its value, so rename one"


# -- as in training ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "names"),
    [
        ("1,30,DE\n2,40,FR\n", ("age", "country=DE", "country=FR")),
        ("1,30,\n2,40,\n", ("age", "country=")),
        ("1,30,276\n2,40,250\n", ("age", "country=250", "country=276")),
    ],
)
def test_a_batch_of_any_size_is_read_as_in_training(write, edges, rows, names):
    graph = load_graph(edges, nodes=write("n.csv", "id,age,country\n" + rows), trained_on=TRAINED)
    assert graph.feature_names == names


def test_the_columns_of_training_may_come_as_a_data_frame_s_categories(edges):
    ages = pa.array([30, 40]).dictionary_encode()
    parquet.write_table(pa.table({"id": [1, 2], "age": ages, "country": ["DE", "FR"]}), "n.parquet")
    assert load_graph(edges, nodes="n.parquet", trained_on=TRAINED).feature_names == TRAINED


def test_equal_signs_in_names_of_columns(write, edges):
    nodes = write("n.csv", "id,a=b,c=d\n1,1,x\n2,2,y\n")
    assert load_graph(edges, nodes=nodes, trained_on=["a=b", "c=d=x"]).feature_names == ("a=b", "c=d=x", "c=d=y")


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ("id,age,country\n1,30,DE\n2,old,FR\n", "n.csv, line 3, column 'age' holds 'old': expected a finite number"),
        ("id,age,country\n1,,DE\n2,,FR\n", "n.csv, line 2, column 'age' is empty: expected a finite number"),
        ("id,age\n1,30\n2,40\n", "the model was trained on column 'country', which n.csv does not have"),
        ("id,country\n1,DE\n2,FR\n", "the model was trained on column 'age', which n.csv does not have"),
        (
            "id,age,country,town\n1,30,DE,x\n2,40,FR,y\n",
            "n.csv has the column 'town', which the model was not trained on",
        ),
    ],
)
def test_a_batch_that_does_not_fit_is_one_sentence(write, edges, nodes, expected, sentence):
    assert sentence(load_graph, edges, nodes=write("n.csv", nodes), trained_on=TRAINED) == expected


def test_a_model_that_was_trained_on_edges_alone_says_so(edges, write, sentence):
    found = sentence(load_graph, edges, nodes=write("n.csv", "id,age\n1,1\n2,2\n"), trained_on=STRUCTURAL_COLUMNS)
    assert found.startswith("the model was trained on features that are made of edges, and ")
    assert found.endswith("n.csv has others")


# -- neither numbers nor categories ------------------------------------------------------------------------------------


def test_decimal_commas_are_no_categories(write, edges, sentence):
    nodes = write("n.csv", "id;price\n1;-\n2;12,50\n3;-3,25\n4;12,50\n")
    message = sentence(load_graph, edges, nodes=nodes)
    assert message == (
        "n.csv, line 3, column 'price' holds '12,50', as if commas were decimal points: expected 12.50, not 12,50"
    )
    assert load_graph(edges, nodes=nodes, categorical_columns=["price"]).num_features == 3
    gaps = write("n.csv", "id;price\n1;NA\n2;12,50\n3;NA\n4;12,50\n5;NA\n")
    assert "n.csv, line 3, column 'price' holds '12,50'" in sentence(load_graph, edges, nodes=gaps)
    few = write("n.csv", 'id,place\n1,"3,4"\n2,here\n3,here\n')
    assert load_graph(edges, nodes=few).feature_names == ("place=3,4", "place=here")


@pytest.mark.parametrize("value", [datetime.datetime(2020, 1, 2), datetime.date(2020, 1, 2), datetime.timedelta(1)])
def test_times_are_refused_with_advice(edges, value, sentence):
    parquet.write_table(pa.table({"id": [1, 2], "size": [1, 2], "since": [value, value]}), "n.parquet")
    message = sentence(load_graph, edges, nodes="n.parquet")
    assert message.startswith("column 'since' of n.parquet is of type ")
    assert message.endswith(
        ": expected numbers, booleans or text, or leave it out by naming the feature columns to use (--feature-columns)"
    )
    assert load_graph(edges, nodes="n.parquet", feature_columns=["size"]).feature_names == ("size",)


def test_times_are_refused_without_advice_on_other_tables(tmp_path, monkeypatch, sentence):
    monkeypatch.chdir(tmp_path)
    parquet.write_table(pa.table({"id": [1], "e0": [datetime.datetime(2020, 1, 2)]}), "z.parquet")
    assert sentence(read_embeddings, "z.parquet") == (
        "column 'e0' of z.parquet is of type timestamp[us]: expected numbers"
    )
