"""Properties of any edge list and node table, and of any bytes in place of them."""

import csv
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from signnap import load_graph
from signnap.errors import SignnapError
from signnap.graph import Graph, as_dense

_words = st.text("abc ,;'\"é\t0", min_size=1, max_size=4).map(lambda text: f"n{text}n")
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
            graphs.append(load_graph(paths[0], nodes=paths[1]))
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
        graph, shuffled = load_graph(one, nodes=table), load_graph(other, nodes=table)
    assert graph.fingerprint() == shuffled.fingerprint()
    assert graph.ids.tolist() == shuffled.ids.tolist()


@given(_ids.flatmap(lambda ids: st.lists(st.tuples(st.sampled_from(ids), st.sampled_from(ids)), min_size=1)))
@settings(max_examples=60, deadline=None)
def test_without_a_node_table_nodes_are_numbered_as_they_are_met(edges_of, ends):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "edges.csv"
        write_columns(path, {"source": [s for s, _ in ends], "target": [t for _, t in ends]})
        graph = load_graph(path)
    assert graph.ids.tolist() == list(dict.fromkeys(end for pair in ends for end in pair))
    assert edges_of(graph) == {frozenset(map(str, pair)) for pair in ends if pair[0] != pair[1]}


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
            assert isinstance(load_graph(edge_path, nodes=None if nodes is None else node_path), Graph)
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
            load_graph(path)
        except SignnapError as error:
            assert str(error)


def test_a_million_edges_load_in_seconds(tmp_path):
    pairs = np.random.default_rng(0).integers(0, 100_000, (1_000_000, 2))
    table = pa.table({"source": pairs[:, 0], "target": pairs[:, 1]})
    arrow_csv.write_csv(table, tmp_path / "big.csv")
    start = time.perf_counter()
    graph = load_graph(tmp_path / "big.csv")
    assert time.perf_counter() - start < 15  # about one second on an idle machine
    assert graph.report.given == 1_000_000
    first_met = list(dict.fromkeys(pairs[:50].ravel().tolist()))
    assert graph.ids[: len(first_met)].tolist() == first_met
