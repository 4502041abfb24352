"""Edge lists: formats, the choice of columns, quotes, and a sentence for every fault."""

import csv
import io
import logging
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from signnap import SignnapError, load_graph
from signnap.data.delimited import read_delimited

# -- formats and columns -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("e.csv", "source,target\n1,2\n2,3\n"),
        ("e.csv", "1,2\n2,3\n"),
        ("e.csv", "1, 2\n2, 3"),
        ("e.csv", "\ufeffsource,target\r\n1,2\r\n\r\n2,3\r\n"),
        ("e.csv", "source;target\n1;2\n2;3\n"),
        ("e.csv", "source\ttarget\n1\t2\n2\t3\n"),
        ("e.csv", '"source","one; two; or; three"\n1,2\n2,3\n'),
        ("e.txt", "\ufeff# a longer remark\n1 2\n2 3\n"),
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
def test_an_edge_list_is_read_whatever_separates_its_columns(write, name, content, edges_of, pairs):
    graph = load_graph(write(name, content))
    assert graph.ids.tolist() == [1, 2, 3]
    assert graph.ids.dtype == np.int64
    assert edges_of(graph) == pairs("1-2", "2-3")
    assert graph.name == "e"


@pytest.mark.parametrize(
    "header",
    ["weight,source,target", "weight,Source,Target", "w,src,dst", "w,from,to", "w,u,v", "w,node1,node2", ",id_1,id_2"],
)
def test_endpoints_are_found_by_name_and_other_columns_ignored_with_a_note(write, caplog, header, edges_of, pairs):
    caplog.set_level(logging.INFO, logger="signnap")
    graph = load_graph(write("e.csv", f"{header}\n9,1,2\n9,2,3\n"))
    assert edges_of(graph) == pairs("1-2", "2-3")
    assert "ignored other columns: " in caplog.text


def test_endpoints_can_be_named(write, sentence, edges_of, pairs):
    path = write("e.csv", "source,target,a,b\n1,2,3,4\n")
    assert edges_of(load_graph(path, source_column="a", target_column="b")) == pairs("3-4")
    assert edges_of(load_graph(path, target_column="b")) == pairs("1-4")
    assert edges_of(load_graph(path, source_column="target")) == pairs("1-2")
    assert edges_of(load_graph(path, target_column="source")) == pairs("1-2")
    assert "both endpoints are column 'a' of e.csv" in sentence(load_graph, path, source_column="a", target_column="a")


def test_a_first_row_that_turns_up_again_is_data(write, caplog, edges_of, pairs):
    caplog.set_level(logging.INFO, logger="signnap")
    assert edges_of(load_graph(write("e.csv", "ann,bob\nbob,cid\n"))) == pairs("ann-bob", "bob-cid")
    assert "took the first row for its header" not in caplog.text
    assert edges_of(load_graph(write("e.csv", "person,friend\nbob,cid\n"))) == pairs("bob-cid")
    assert "e.csv: took the first row for its header: person, friend" in caplog.text


def test_a_first_row_is_compared_without_the_blanks_around_its_cells(write, edges_of, pairs):
    assert edges_of(load_graph(write("e.csv", "ann, bob\ncleo, ann\n"))) == pairs("ann-bob", "ann-cleo")


def test_a_first_row_of_two_nodes_of_the_node_table_is_data(write, caplog, edges_of, pairs):
    caplog.set_level(logging.INFO, logger="signnap")
    nodes = write("n.csv", "id,f\na,1\n b b,2\nc,3\nd,4\nu,5\nv,6\n")
    path = write("e.csv", "a, b b\nc,d\n")
    assert edges_of(load_graph(path, nodes=nodes)) == pairs("a-b b", "c-d")
    assert "took the first row for its header" not in caplog.text
    assert edges_of(load_graph(path, nodes=nodes, source_column="a", target_column="b b")) == pairs("c-d")
    assert edges_of(load_graph(write("e.csv", "a,friend\nc,d\n"), nodes=nodes)) == pairs("c-d")
    assert edges_of(load_graph(write("e.csv", "u,v\nc,d\n"), nodes=nodes)) == pairs("c-d")


def test_the_usual_names_of_endpoints_may_be_nodes_and_a_note_says_so(write, caplog, edges_of, pairs):
    caplog.set_level(logging.INFO, logger="signnap")
    path = write("e.csv", "u,v\nv,w\nw,u\n")
    assert edges_of(load_graph(path)) == pairs("u-v", "v-w", "w-u")
    assert "e.csv: took the first row for data, as its names turn up again" in caplog.text
    assert edges_of(load_graph(path, source_column="u", target_column="v")) == pairs("v-w", "w-u")
    words = write("w.csv", "source,target\nopen,source\nopen,door\n")
    assert edges_of(load_graph(words)) == pairs("open-source", "open-door")
    weighted = write("n.csv", "source,target,weight\nsource,code,0.5\ncode,target,1\ntarget,build,2\nbuild,source,\n")
    assert edges_of(load_graph(weighted)) == pairs("code-source", "code-target", "build-target", "build-source")


def test_nodes_without_a_table_come_in_order_of_first_appearance(write):
    graph = load_graph(write("e.csv", "source,target\nz,b\na,z\nb,c\n"))
    assert graph.ids.tolist() == ["z", "b", "a", "c"]
    assert graph.ids.dtype.kind == "U"


def test_ids_keep_leading_zeros_and_large_numbers(write):
    assert load_graph(write("e.csv", "007,7\n7,08\n")).ids.tolist() == ["007", "7", "08"]
    assert load_graph(write("e.csv", f"{2**63 - 1},-5\n")).ids.tolist() == [2**63 - 1, -5]
    assert load_graph(write("e.csv", f"{2**63},1\n")).ids.tolist() == [str(2**63), "1"]
    assert load_graph(write("e.csv", 'a"b,16\n5,16\n')).ids.tolist() == ['a"b', "16", "5"]
    assert load_graph(write("e.csv", "0x10,16\n")).ids.tolist() == ["0x10", "16"]


@pytest.mark.parametrize("stored", [pa.int32(), pa.float64(), pa.string(), pa.dictionary(pa.int8(), pa.string())])
def test_seven_is_the_same_node_however_a_file_stores_it(write, stored):
    column = pa.array(["7", "10000000000"])
    column = column.dictionary_encode() if pa.types.is_dictionary(stored) else column
    if not pa.types.is_dictionary(stored):
        column = column.cast(pa.int64()).cast(stored, safe=False) if stored != pa.string() else column
    if stored == pa.int32():
        column = pa.array([7, 8], stored)
    parquet.write_table(pa.table({"source": column[:1], "target": column[1:]}), "e.parquet")
    graph = load_graph("e.parquet", nodes=write("n.csv", "id,f\n10000000000,1\n8,2\n7,3\n"))
    assert graph.ids.tolist() == [10000000000, 8, 7]
    assert graph.num_edges == 1
    assert graph.pattern.degree[2] == 1


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("source,target\n8.0,7.5\n9.0,8.0\n", ["8", "7.5", "9"]),
        ("7.0,8\n8,7\n", [7, 8]),
        ("a,7.00\n7,-3.0\n", ["a", "7", "-3"]),
        ("007.0,7.0\n7,007\n", ["007", "7"]),
        ("source,target\nv1.0,1.0.0\n.0,7.05\n", ["v1.0", "1.0.0", ".0", "7.05"]),
    ],
)
def test_every_cell_by_itself_says_which_node_it_is(write, content, expected):
    assert load_graph(write("e.csv", content)).ids.tolist() == expected


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="threads are counted as Linux lists them")
def test_parquet_is_read_without_threads(write):
    """A process that exits while Arrow starts threads can abort: one process in three did after reading Parquet."""
    columns = {"source": ["a", "b"], "target": ["b", "c"]} | {f"f{number}": [1, 2] for number in range(20)}
    parquet.write_table(pa.table(columns), "e.parquet")
    program = (
        "import os; import pyarrow.compute, pyarrow.parquet; from signnap.data.tables import HeaderRule, read_table\n"
        "count = lambda: len(os.listdir('/proc/self/task')); before = count()\n"
        "print(len(read_table('e.parquet', HeaderRule([], keys=2)).columns), count() - before)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "22 0\n"


def test_floats_in_parquet_are_the_nodes_that_text_says(write):
    ends = {"source": [8.0, 9.0, 2.0**40], "target": [7.5, 8.0, 1e19]}
    for kind in (pa.float64(), pa.float32()):
        parquet.write_table(pa.table({name: pa.array(column, kind) for name, column in ends.items()}), "e.parquet")
        graph = load_graph("e.parquet", nodes=write("n.csv", "id,f\n7.5,1\n8.0,2\n9,3\n1099511627776,4\n1e+19,5\n"))
        assert graph.pattern.degree.tolist() == [1, 2, 1, 1, 1]


def test_oddities_of_edges_are_counted(write, caplog):
    caplog.set_level(logging.INFO, logger="signnap")
    path = write("e.csv", "1,2\n2,1\n1,2\n3,3\n2,3\n")
    graph = load_graph(path, nodes=write("n.csv", "id,f\n1,1\n2,1\n3,1\n4,1\n"))
    report = graph.report
    assert (report.given, report.duplicates, report.self_loops, report.one_directional, report.isolated) == (
        5, 1, 1, 1, 1,
    )  # fmt: skip
    assert str(report) in caplog.text


# -- faults ------------------------------------------------------------------------------------------------------------


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
        ("e.csv", "1\n2\n", "e.csv has one column: expected two"),
        ("e.csv", "source,target\n1,2\n3,\n", "e.csv, line 3, column 'target' is empty: expected a node id"),
        ("e.csv", "source,source\n1,2\n", "e.csv has two columns named 'source'"),
        ("e.csv", "1," + "x" * 2000, "e.csv, line 1, column 'column 2' is 2,000 bytes long"),
        ("e.parquet", b"PAR1 but no more", "e.parquet is not a readable Parquet file"),
        ("e.xlsx", "1,2\n", "e.xlsx ends in '.xlsx': expected one of .csv, .tsv, .txt, .parquet, .npz"),
    ],
)
def test_a_bad_edge_list_is_one_sentence(write, name, content, expected, sentence):
    assert sentence(load_graph, write(name, content)).startswith(expected)


def test_a_node_table_in_another_format_is_one_sentence(write, sentence):
    edges, nodes = write("e.csv", "1,2\n"), write("n.xlsx", "id\n1\n2\n")
    expected = "n.xlsx ends in '.xlsx': expected a table in .csv, .tsv, .txt, .parquet"
    assert sentence(load_graph, edges, nodes=nodes) == expected


def test_missing_files_and_directories(write, tmp_path, sentence):
    assert sentence(load_graph, "nowhere.csv") == "there is no file nowhere.csv"
    Path("folder.csv").mkdir()
    assert sentence(load_graph, "folder.csv") == "folder.csv is a directory: expected a file"
    assert sentence(load_graph, write("e.csv", "1,2\n"), nodes="nodes.csv") == "there is no file nodes.csv"


def test_a_misspelt_column_is_named_with_the_nearest(write, sentence):
    edges, nodes = write("e.csv", "sender,receiver\n1,2\n"), write("n.csv", "id,age\n1,3\n2,4\n")
    assert sentence(load_graph, edges, source_column="sendr") == (
        "unknown column in e.csv: 'sendr', did you mean 'sender'? Known: receiver, sender"
    )
    for option in ("id_column", "label_column"):
        assert "column in n.csv: 'agee', did you mean 'age'?" in sentence(
            load_graph, edges, nodes=nodes, **{option: "agee"}
        )
    assert "column in n.csv: 'agee', did you mean 'age'?" in sentence(
        load_graph, edges, nodes=nodes, feature_columns=["agee"]
    )
    assert "no node table was given" in sentence(load_graph, edges, label_column="age")
    wide = write("w.csv", "id," + ",".join(f"word{i}" for i in range(500)) + "\n1" + ",0" * 500 + "\n2" + ",0" * 500)
    message = sentence(load_graph, edges, nodes=wide, feature_columns=["wrod499"])
    assert "did you mean 'word499'?" in message
    assert len(message) < 500


def test_a_parquet_file_without_columns(write, sentence):
    parquet.write_table(pa.table({}), "none.parquet")
    expected = "none.parquet has no columns: expected at least one"
    assert sentence(load_graph, "none.parquet") == expected
    assert sentence(load_graph, write("e.csv", "1,2\n"), nodes="none.parquet") == expected


def test_text_in_parquet_must_be_text(write, sentence):
    offsets, broken = pa.array([0, 1, 2], pa.int32()).buffers()[1], pa.py_buffer(b"a\xff")
    column = pa.Array.from_buffers(pa.string(), 2, [None, offsets, broken])
    parquet.write_table(pa.table({"source": [1, 2], "target": column}), "e.parquet")
    assert sentence(load_graph, "e.parquet").startswith("e.parquet is not a readable Parquet file: ")


def test_a_few_bytes_cannot_claim_a_table_that_fills_the_memory(write, monkeypatch, sentence):
    parquet.write_table(pa.table({"source": range(1000), "target": range(1000)}), "e.parquet")
    monkeypatch.setattr("signnap.data.tables._MAX_CELLS", 1999)
    assert "e.parquet claims 1,000 rows" in sentence(load_graph, "e.parquet")


# -- quotes ------------------------------------------------------------------------------------------------------------


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
