"""Quotes in text tables: those that belong there, and those that would swallow rows."""

import csv
import io
import logging
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signnap import load_graph
from signnap.data.delimited import read_delimited
from signnap.errors import SignnapError

_ONE_LINE = "opens a quote that closes in a later line: expected every cell of an edge list on one line"


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("e.tsv", 'a\tb\t"5 in\nb\tc\tx\nc\td\t6" x\n', "line 1 opens a quote that closes in line 3 before ' x'"),
        ("e.csv", 'a,b,n\r\na,c,"6" x, y\r\n', "line 2 opens a quote that closes before ' x': expected the end of the"),
        ("e.csv", 'a,b,5"\rb,c,"x"y\r', "line 2 opens a quote that closes before 'y'"),
        ("e.csv", 'a,b,"""x""\nb,c,"y"\n', "line 1 opens a quote that closes in line 2 before 'y\"'"),
        ("e.csv", '1,2\n3,"4\n5,6\n', "line 2 opens a quote that is never closed"),
        ("e.csv", '"1,2\n3,4\n', "line 1 opens a quote that is never closed"),
        ("e.csv", 'a,b\nb,"c""\nc,d\n', "line 2 opens a quote that is never closed"),
        ("e.txt", '# "remark"\na;b\nb;"c\n', "line 3 opens a quote that is never closed"),
        ("e.csv", 'a,b,n\na,c,"5 in\nb,c,6"\nc,d,\n', f"line 2 {_ONE_LINE}"),
        ("e.csv", 'a,b\r\na,"c\rd"\r\n', f"line 2 {_ONE_LINE}"),
        ("e.csv", '"a\nb",c\na,"b\nc"\n', f"line 1 {_ONE_LINE}"),
    ],
)
def test_a_quote_that_would_swallow_rows_is_one_sentence(write, name, content, expected, sentence):
    assert sentence(load_graph, write(name, content)).startswith(f"{name}, {expected}")


def test_a_stray_quote_of_a_node_table_is_not_blamed_on_the_edges(write, sentence):
    nodes = write("n.tsv", 'id\tdesc\n1\t"big pipe\n2\tx\n3\ty" z\n')
    assert sentence(load_graph, write("e.csv", "1,2\n2,3\n"), nodes=nodes).startswith("n.tsv, line 2 opens a quote")


def test_a_quote_within_a_cell_is_text(write):
    nodes = write("n.tsv", 'id\tsize\n1\t5" pipe\n2\t6"\n3\ty"z"\n4\t6"\n5\t"6"""\n')
    graph = load_graph(write("e.csv", "1,2\n"), nodes=nodes)
    assert graph.feature_names == ('size=5" pipe', 'size=6"', 'size=y"z"')
    blanks = write("e.txt", 'a "b\na c\n')
    assert load_graph(blanks).ids.tolist() == ["a", '"b', "c"]


def test_cells_of_several_lines_are_allowed_in_a_node_table_with_a_note(write, caplog):
    caplog.set_level(logging.INFO, logger="signnap")
    edges = write("e.csv", "1,2\n")
    assert load_graph(edges, nodes=write("n.csv", 'id,"f"\n\n1,"2"\n2,3\n')).feature_names == ("f",)
    assert "several lines" not in caplog.text
    nodes = write("n.csv", 'id,city\n1,Rome\n2,"New\nYork"\n3,"New\nYork"\n')
    assert load_graph(edges, nodes=nodes).feature_names == ("city=New\nYork", "city=Rome")
    assert "n.csv: some cells hold several lines, the first of them in line 3" in caplog.text


def test_a_cell_of_several_lines_may_cross_from_one_block_to_the_next(write, monkeypatch):
    monkeypatch.setattr("signnap.data.delimited._BLOCK_BYTES", 500)
    rows = "".join(f'"n\n{i}",{i}\n' for i in range(500))
    cells = read_delimited(Path(write("n.csv", "id,f\n" + rows)))
    assert cells.columns[0].to_pylist()[1:] == [f"n\n{i}" for i in range(500)]


def test_a_first_row_of_several_lines_leaves_all_columns_text(write):
    cells = read_delimited(Path(write("n.csv", 'id,"a\nb",c\n007,08,0x1\n')))
    assert [column.to_pylist() for column in cells.columns] == [["id", "007"], ["a\nb", "08"], ["c", "0x1"]]
    cells = read_delimited(Path(write("n.csv", '"1\n2",3,4\n007,08,09\n')))
    assert [column.to_pylist() for column in cells.columns] == [["1\n2", "007"], ["3", "08"], ["4", "09"]]


_cells = st.text('ab",\n\r', max_size=4)


@given(st.lists(st.tuples(_cells, _cells), min_size=1, max_size=6))
@settings(max_examples=200, deadline=None)
def test_what_a_writer_quotes_is_read_back(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("quoted") / "n.csv"
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows([("id", "f"), *rows])
    path.write_bytes(text.getvalue().encode())
    columns = read_delimited(path).columns
    assert list(zip(*(column.to_pylist() for column in columns), strict=True))[1:] == rows


@given(st.lists(st.sampled_from(["a", '"', '"', ",", "\n", " "]), max_size=14).map("".join))
@settings(max_examples=300, deadline=None)
def test_no_accepted_quote_is_stray(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("stray") / "n.csv"
    path.write_bytes(b"a,b\n" + text.encode())
    try:
        read_delimited(path)
    except SignnapError:
        return
    list(csv.reader(io.StringIO(f"a,b\n{text.rstrip()}\n", newline=""), strict=True))
