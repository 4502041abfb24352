"""load_graph recognises names, files and objects."""

import os
import subprocess
import sys
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch

from signnap.data.load import load_graph
from signnap.data.npz import write_npz
from signnap.data.public import DATASETS


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("edges.csv").write_text("a,b\nb,c\n")
    Path("nodes.csv").write_text("id,age,label\nc,1,x\nb,2,y\na,3,x\n")
    return tmp_path


def test_edge_lists_by_text_or_path():
    assert load_graph("edges.csv").ids.tolist() == ["a", "b", "c"]
    graph = load_graph(Path("edges.csv"), nodes=Path("nodes.csv"))
    assert graph.ids.tolist() == ["c", "b", "a"]
    assert graph.classes == ("x", "y")
    graph = load_graph("edges.csv", nodes="nodes.csv", label_column="age", feature_columns=["label"])
    assert graph.classes == ("1", "2", "3")
    assert graph.feature_names == ("label=x", "label=y")


def test_a_graph_is_returned_as_it_is(small_graph):
    assert load_graph(small_graph) is small_graph


def test_objects_of_other_libraries():
    Data = pytest.importorskip("torch_geometric.data").Data
    assert load_graph(Data(x=torch.ones(3, 2), edge_index=torch.tensor([[0], [1]]))).num_edges == 1
    assert load_graph(nx.path_graph(4)).num_edges == 3
    assert load_graph(nx.karate_club_graph(), label_column="club").num_classes == 2
    assert load_graph((sp.eye(3, k=1), np.eye(3))).num_edges == 2
    assert load_graph([sp.eye(3, k=1), np.eye(3)]).num_edges == 2


def test_npz_archives(small_graph):
    write_npz("graph.npz", small_graph)
    assert load_graph("graph.npz").fingerprint() == small_graph.fingerprint()


def test_the_generated_graph():
    graph = load_graph("synthetic")
    assert graph.name == "synthetic"
    assert graph.num_classes > 1


def test_public_datasets_by_name(raw_data, monkeypatch):
    monkeypatch.setenv("SIGNNAP_DATA", str(raw_data))
    graph = load_graph("cora")
    assert (graph.num_nodes, graph.num_edges) == (DATASETS["cora"].nodes, DATASETS["cora"].edges)


def test_an_own_graph_never_has_the_name_of_a_public_one(small_graph):
    for name in (*DATASETS, "synthetic"):
        Path(f"{name}.csv").write_text("a,b\nb,c\n")
        write_npz(f"{name}.npz", small_graph)
        named = nx.path_graph(3)
        named.name = name
        for source in (f"{name}.csv", f"{name}.npz", named):
            assert load_graph(source).name == f"{name} (own)"
    assert load_graph("edges.csv").name == "edges"


@pytest.mark.parametrize("name", ["amazon_photo", "cora"])
def test_a_public_data_set_keeps_its_name(name, raw_data, monkeypatch, caplog):
    caplog.set_level("INFO", "signnap")
    monkeypatch.setenv("SIGNNAP_DATA", str(raw_data))
    monkeypatch.setenv("SIGNNAP_CACHE", "cache")
    assert load_graph(name).name == name
    assert all(message.startswith(f"{name}: ") for message in caplog.messages)
    assert Path(f"cache/graphs/{name}.npz").is_file()
    monkeypatch.setenv("SIGNNAP_DATA", "nowhere")
    assert load_graph(name).name == name
    assert load_graph(f"cache/graphs/{name}.npz").name == f"{name} (own)"


def test_unknown_names_and_files(sentence):
    message = sentence(load_graph, "pubmedd")
    assert message.startswith("unknown dataset 'pubmedd', did you mean 'pubmed'? Known: ")
    assert message.endswith("(there is no file 'pubmedd' either)")
    assert "synthetic" in message
    assert sentence(load_graph, "missing.csv") == "there is no file missing.csv"
    assert sentence(load_graph, "missing.npz") == "there is no file missing.npz"
    assert sentence(load_graph, "some/where") == "there is no file some/where"
    assert sentence(load_graph, "a\0b").startswith("unknown dataset")
    assert sentence(load_graph, "x" * 5000).startswith("unknown dataset")
    os.mkdir("folder")
    assert sentence(load_graph, "folder") == "folder is a directory: expected a file"
    assert sentence(load_graph, Path.cwd()).endswith("is a directory: expected a file")
    Path("edges.dat").write_text("1 2")
    assert (
        sentence(load_graph, "edges.dat")
        == "edges.dat ends in '.dat': expected one of .csv, .tsv, .txt, .parquet, .npz"
    )


def test_what_is_no_graph(small_graph, sentence):
    assert sentence(load_graph, 3).startswith("cannot read a graph from a int: expected a name, a path")
    assert sentence(load_graph, (1, 2, 3)).startswith("cannot read a graph from a tuple")
    assert sentence(load_graph, (np.eye(2), np.eye(2))).startswith("the adjacency is a ndarray")


def test_options_of_tables_are_refused_elsewhere(small_graph, sentence):
    assert sentence(load_graph, "pubmed", nodes="nodes.csv") == (
        "nodes only goes with an edge list in .csv, .tsv, .txt, .parquet, not with pubmed"
    )
    assert sentence(load_graph, small_graph, label_column="x") == (
        "label_column only goes with a NetworkX graph or an edge list in .csv, .tsv, .txt, .parquet, not with a Graph"
    )
    assert sentence(load_graph, small_graph, trained_on=["x"]).startswith("trained_on only goes with an edge list in")
    assert sentence(load_graph, nx.path_graph(2), id_column="x").endswith("not with a Graph")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"label_column": 3}, "label_column is a int: expected the name of a column"),
        ({"label_column": ["age"]}, "label_column is a list: expected the name of a column"),
        ({"id_column": 0}, "id_column is a int: expected the name of a column"),
        ({"source_column": 0}, "source_column is a int: expected the name of a column"),
        ({"feature_columns": 5}, "feature_columns is a int: expected a list of names of columns"),
        ({"trained_on": [1]}, "trained_on holds a int: expected a list of names of columns"),
    ],
)
def test_columns_are_named_by_text(options, expected, sentence):
    assert sentence(load_graph, "edges.csv", nodes="nodes.csv", **options) == expected


@pytest.mark.parametrize("wrap", [list, tuple, np.array, iter])
def test_names_of_columns_come_in_any_list(wrap):
    graph = load_graph("edges.csv", nodes="nodes.csv", feature_columns=wrap(["label", "age"]))
    assert graph.feature_names == ("label=x", "label=y", "age")


def test_a_table_loads_no_heavy_library():
    code = "import sys, signnap; signnap.load_graph('edges.csv'); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "signnap.data.load" in loaded
    assert not {"sklearn", "networkx", "torch_geometric", "rich"} & set(loaded)


def test_a_list_of_the_data_sets_loads_no_array_library():
    code = "import sys; from signnap.data.public import DATASETS; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"torch", "numpy", "scipy", "pyarrow"} & set(loaded)
