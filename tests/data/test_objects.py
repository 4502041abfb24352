"""Graphs from objects of PyG, NetworkX and scipy."""

import logging

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch

from signnap import Graph, SignnapError, load_graph, make_split, read_embeddings, write_embeddings
from signnap.data.embeddings import align
from signnap.graph import SparseFeatures, as_dense

pyg = pytest.importorskip("torch_geometric.data")
Data, HeteroData = pyg.Data, pyg.HeteroData


@pytest.fixture
def notes(caplog):
    caplog.set_level(logging.INFO, logger="signnap")
    return caplog


def small_data(**fields):
    edge_index = torch.tensor([[0, 1, 3], [1, 2, 3]])
    return Data(**({"x": torch.tensor([[1.0, 2], [3, 4], [5, 6], [7, 8]]), "edge_index": edge_index} | fields))


# -- PyG ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sparse", [False, True])
def test_pyg_data_with_everything(small_graph, sparse):
    x = torch.eye(40, 12) * 0.3 if sparse else torch.rand(40, 12)
    edge_index = small_graph.pattern.edge_index()
    expected = Graph.from_edges(*edge_index, x, y=small_graph.y)
    split = {"train": [0, 5], "val": [7], "test": [1, 39]}
    masks = {f"{part}_mask": torch.isin(torch.arange(40), torch.tensor(nodes)) for part, nodes in split.items()}
    graph = load_graph(Data(x=x.to_sparse_csr() if sparse else x, edge_index=edge_index, y=small_graph.y, **masks))
    assert isinstance(graph.x, SparseFeatures) == sparse
    assert graph.fingerprint() == expected.fingerprint()
    assert graph.y.tolist() == expected.y.tolist()
    assert {part: nodes.tolist() for part, nodes in graph.given_split.items()} == split


def test_pyg_edges_are_made_mutual_and_isolated_nodes_kept():
    graph = load_graph(small_data(y=torch.tensor([1, -1, -7, 0])))
    assert (graph.num_nodes, graph.num_edges) == (4, 2)
    assert (graph.report.self_loops, graph.report.one_directional, graph.report.isolated) == (1, 2, 1)
    assert graph.y.tolist() == [1, -1, -1, 0]
    assert graph.ids is None
    assert as_dense(graph.x).tolist() == [[1, 2], [3, 4], [5, 6], [7, 8]]


def test_pyg_without_features_gets_structural_ones(notes):
    graph = load_graph(Data(edge_index=torch.tensor([[0], [1]]), num_nodes=3))
    assert (graph.num_nodes, graph.y, graph.given_split) == (3, None, None)
    assert len(graph.feature_names) == graph.num_features > 0
    assert "no features given" in notes.text


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.int64, torch.bool])
def test_pyg_features_of_any_number_type(dtype):
    graph = load_graph(small_data(x=torch.tensor([[1, 0], [1, 1], [0, 1], [1, 1]]).to(dtype)))
    assert as_dense(graph.x).tolist() == [[1, 0], [1, 1], [0, 1], [1, 1]]


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        (torch.tensor([[1], [0], [2], [1]]), [1, 0, 2, 1]),
        (torch.tensor([1.0, 0.0, torch.nan, 2.0]), [1, 0, -1, 2]),
        (torch.tensor([0.5, 1.0, 2.0, 1.0]), None),
        (torch.tensor([3]), None),
        (torch.tensor([1, 0, 2, 1]).to_sparse(), [1, 0, 2, 1]),
        (torch.tensor([1, 0, 2, 1], dtype=torch.uint16), [1, 0, 2, 1]),
        (np.array([1, 0, 2, 2**64 - 1], dtype=np.uint64), None),
        (torch.tensor([1j, 0, 2, 1]), None),
        (["a", "b", "c", "d"], None),
        (np.array(["a", "b", "c", "d"]), None),
        ([None] * 4, None),
        (np.array([object()] * 4), None),
        ([[1], [1, 2]], None),
        ("molecule", None),
    ],
)
def test_pyg_labels_are_one_class_per_node_or_nothing(notes, y, expected):
    graph = load_graph(small_data(y=y))
    assert (graph.y if graph.y is None else graph.y.tolist()) == expected
    assert ("ignored y" in notes.text) == (expected is None)


def test_pyg_masks_in_several_columns_are_ignored_with_a_note(notes):
    masks = torch.ones(4, 3, dtype=torch.bool)
    assert load_graph(small_data(train_mask=masks, val_mask=masks, test_mask=masks)).given_split is None
    assert "ignored train_mask, val_mask, test_mask of the PyG data: expected one true or false" in notes.text
    numbers = torch.arange(4)
    assert load_graph(small_data(train_mask=numbers, val_mask=numbers, test_mask=numbers)).given_split is None


def test_a_pyg_mask_that_is_missing_is_named_by_whoever_needs_it():
    mask = torch.tensor([True, False, False, False])
    graph = load_graph(small_data(y=torch.tensor([0, 1, 0, 1]), train_mask=mask, test_mask=mask.flip(0)))
    assert {part: nodes.tolist() for part, nodes in graph.given_split.items()} == {"train": [0], "test": [3]}
    with pytest.raises(SignnapError, match=r"it has no val nodes marked$"):
        make_split(graph, "public")


@pytest.mark.filterwarnings("ignore:Unable to accurately infer")
@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (HeteroData(), "the PyG HeteroData has no edge_index: expected a homogeneous Data"),
        (Data(x=torch.ones(2, 2)), "the PyG Data has no edge_index"),
        (small_data(edge_index=torch.ones(3, 2).long()), "the PyG edge_index is torch.int64 of shape (3, 2)"),
        (small_data(edge_index=torch.ones(2, 2)), "the PyG edge_index is torch.float32 of shape (2, 2)"),
        (
            small_data(edge_index=torch.ones(2, 2).long().to_sparse()),
            "the PyG edge_index is sparse torch.int64 of shape (2, 2): expected whole numbers",
        ),
        (Data(edge_index=torch.tensor([[0], [10**12]])), "the graph has 1,000,000,000,001 nodes for 2 ends of edges"),
        (Data(edge_index=torch.tensor([[0], [2**62]])), "the graph has 4,611,686,018,427,387,905 nodes for 2 ends"),
        (small_data(x=torch.ones(4, 0), num_nodes=10**12), "the graph has 1,000,000,000,000 nodes for 6 ends"),
        (small_data(edge_index=torch.tensor([[0], [4]])), "edge number 0 is (0, 4), but nodes are numbered 0 to 3"),
        (Data(edge_index=torch.tensor([[0], [4]]), num_nodes=2), "edge number 0 is (0, 4)"),
        (small_data(x=torch.ones(4)), "the features are float32 of shape (4,): expected numbers of shape"),
        (small_data(x=torch.full((4, 1), torch.nan)), "the feature of node 0, column 0 is nan"),
        (small_data(x=torch.ones(3, 2), num_nodes=4), "features have 3 rows for 4 nodes"),
        (Data(edge_index=torch.zeros(2, 0).long(), num_nodes=0), "the graph is empty"),
    ],
)
def test_a_bad_pyg_object_is_one_sentence(data, expected):
    with pytest.raises(SignnapError) as caught:
        load_graph(data)
    assert str(caught.value).startswith(expected)


# -- NetworkX ----------------------------------------------------------------------------------------------------------


def test_karate_club(notes):
    club = nx.karate_club_graph()
    graph = load_graph(club)
    assert (graph.num_nodes, graph.num_edges, graph.y) == (34, 78, None)
    assert graph.ids.tolist() == list(range(34))
    assert graph.name == "Zachary's Karate Club"
    assert "ignored node attributes that are not numbers: club" in notes.text
    assert "no features given" in notes.text
    degrees = dict(club.degree())
    assert graph.pattern.degree.tolist() == [degrees[node] for node in club]
    labelled = load_graph(club, label_column="club")
    assert labelled.classes == ("Mr. Hi", "Officer")
    assert [labelled.classes[number] for number in labelled.y] == [club.nodes[node]["club"] for node in club]
    asked = load_graph(club, feature_columns=["club"])
    assert asked.feature_names == ("club=Mr. Hi", "club=Officer")


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_networkx_graphs_of_every_kind(kind):
    given = kind()
    given.add_nodes_from(["lonely", "b", 3])
    given.add_edges_from([("b", 3), (3, "b"), (3, 3)])
    graph = load_graph(given)
    assert graph.ids.tolist() == ["lonely", "b", "3"]
    assert (graph.num_edges, graph.report.isolated) == (1, 1)


def test_networkx_numeric_attributes_are_features_and_label_the_label():
    given = nx.path_graph(3)
    for node in given:
        given.nodes[node].update(age=node + 0.5, member=node > 0, note="text", label=["u", None, "v"][node])
    graph = load_graph(given)
    assert graph.feature_names == ("age", "member")
    assert as_dense(graph.x).tolist() == [[0.5, 0], [1.5, 1], [2.5, 1]]
    assert graph.y.tolist() == [0, -1, 1]
    assert graph.classes == ("u", "v")
    nx.set_node_attributes(given, 7, "label")
    assert load_graph(given).feature_names == ("age", "member")
    assert load_graph(given).classes == ("7",)


@pytest.mark.parametrize("name", ["Label", "Y", "CLASS"])
def test_networkx_labels_are_no_features_whatever_their_capitals(name):
    given = nx.path_graph(3)
    for node in given:
        given.nodes[node].update({"age": 5.0, name: node % 2})
    graph = load_graph(given)
    assert graph.feature_names == ("age",)
    assert graph.y.tolist() == [0, 1, 0]


def test_networkx_coordinates_are_features_unless_named_as_the_label(notes):
    given = nx.path_graph(3)
    for node in given:
        given.nodes[node].update(x=node / 2, y=node / 3 + 0.1)
    graph = load_graph(given)
    assert (graph.feature_names, graph.y) == (("x", "y"), None)
    assert notes.text.count("column 'y' holds measured numbers, not classes") == 1
    notes.clear()
    graph = load_graph(given, label_column="y")
    assert (graph.feature_names, len(graph.classes)) == (("x",), 3)
    assert "measured" not in notes.text


@pytest.mark.parametrize("wrap", [list, np.array, torch.tensor])
def test_networkx_vectors_are_features(wrap):
    given = nx.path_graph(3)
    for node in given:
        given.nodes[node].update(x=wrap([node, 1.0]), y=node % 2, age=5, pos=(0, node))
    graph = load_graph(given)
    assert graph.feature_names == ("x0", "x1")
    assert as_dense(graph.x).tolist() == [[0, 1], [1, 1], [2, 1]]
    assert graph.y.tolist() == [0, 1, 0]
    assert load_graph(given, feature_columns=["age", "pos"]).feature_names == ("age", "pos0", "pos1")


def test_networkx_nodes_may_be_anything_that_prints_differently():
    assert load_graph(nx.grid_2d_graph(2, 1)).ids.tolist() == ["(0, 0)", "(1, 0)"]
    assert load_graph(nx.relabel_nodes(nx.path_graph(2), {0: "10", 1: "9"})).ids.tolist() == [10, 9]
    assert load_graph(nx.Graph([(1.0, 1e17), (np.float32(2), "3.0")])).ids.tolist() == [1, 10**17, 2, 3]
    assert load_graph(nx.Graph([(1.0, 2.5)])).ids.tolist() == ["1", "2.5"]
    for twin in ("1", "1.0", " 1"):
        with pytest.raises(SignnapError, match="two nodes of the NetworkX graph are both written '1'"):
            load_graph(nx.Graph([(1, twin)]))


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_networkx_nodes_that_are_floats_find_their_embeddings(suffix, tmp_path):
    graph, rows = load_graph(nx.Graph([(1.0, 2.0), (2.0, 3.5)])), np.eye(3)
    for ids, order in ((graph.ids, [0, 1, 2]), (np.array([2.0, 3.5, 1.0]), [2, 0, 1])):
        write_embeddings(tmp_path / f"z{suffix}", rows, ids)
        assert align(*read_embeddings(tmp_path / f"z{suffix}"), graph).tolist() == rows[order].tolist()


def test_a_bad_networkx_graph_is_one_sentence():
    with pytest.raises(SignnapError, match="the graph is empty"):
        load_graph(nx.Graph())
    given = nx.path_graph(["a", "b"])
    given.nodes["a"]["age"] = 3
    with pytest.raises(SignnapError, match=r"^the NetworkX graph, node 'b', column 'age' is empty"):
        load_graph(given)
    with pytest.raises(SignnapError, match=r"'aeg', did you mean 'age'\?"):
        load_graph(given, feature_columns=["aeg"])
    given.nodes["a"]["x"] = [1, 2]
    with pytest.raises(SignnapError, match="attribute 'x' of node 'b' holds 0 numbers: expected 2"):
        load_graph(given)
    for value in ("word", 10**400):
        given.nodes["b"]["x"] = [1, value]
        with pytest.raises(SignnapError, match="attribute 'x' of node 'b' does not hold numbers"):
            load_graph(given)


def test_networkx_text_that_is_no_unicode_is_one_sentence(sentence):
    assert sentence(load_graph, nx.Graph([("a", "b\ud800")])).startswith("node number 1 cannot be written as text")
    assert sentence(load_graph, nx.Graph([("a", 10**5000)])).startswith("node number 1 cannot be written as text")
    given = nx.path_graph(["a", "b"])
    for others in (None, 3):
        given.nodes["a"]["note"], given.nodes["b"]["note"] = others, "\udc00"
        found = sentence(load_graph, given)
        assert found.startswith("the NetworkX graph, node 'b', attribute 'note' cannot be written as text")
    given = nx.path_graph(2)
    nx.set_node_attributes(given, 1, "\udc00")
    assert sentence(load_graph, given).startswith("the name of node attribute 0 of the NetworkX graph cannot be")


def test_networkx_attributes_with_the_same_name_are_one_sentence(sentence):
    given = nx.path_graph(2)
    for name in (1, "1"):
        nx.set_node_attributes(given, 5, name)
    assert sentence(load_graph, given) == (
        "two node attributes of the NetworkX graph are both written '1': expected different names"
    )
    given = nx.path_graph(2)
    for node in given:
        given.nodes[node].update(x=[1, 2], x0="text")
    for options in ({"feature_columns": ["x", "x0"]}, {"label_column": "x0"}):
        assert sentence(load_graph, given, **options).startswith(
            "attribute 'x' of the NetworkX graph gives a feature 'x0', which is an attribute as well"
        )
    assert load_graph(given).feature_names == ("x0", "x1")  # a note names the attribute that is ignored


def test_networkx_vectors_are_no_labels(sentence):
    given = nx.path_graph(2)
    assert sentence(load_graph, given, label_column="team") == "there is no column 'team' in the NetworkX graph"
    nx.set_node_attributes(given, [1, 2], "x")
    for option, role in (("label_column", "label"), ("split_column", "split"), ("categorical_columns", "categories")):
        assert sentence(load_graph, given, **{option: "x"}) == (
            f"node attribute 'x' holds vectors: expected one value per node for the {role}"
        )


def test_networkx_attributes_beside_vectors_are_ignored_with_a_note(caplog):
    caplog.set_level(logging.INFO, logger="signnap")
    given = nx.path_graph(2)
    for node in given:
        given.nodes[node].update(f=3, x=[1, 2], team="red", feat=[1], y=node, part="train")
    assert load_graph(given, split_column="part").feature_names == ("x0", "x1")
    assert "the NetworkX graph: features from attribute 'x'; ignored other attributes: f, team, feat\n" in caplog.text
    caplog.clear()
    load_graph(given, feature_columns=["x"])
    assert "ignored" not in caplog.text


# -- weights -----------------------------------------------------------------------------------------------------------


def test_weights_of_edges_are_ignored_with_a_note(notes):
    load_graph(small_data(edge_weight=torch.ones(3), edge_attr=torch.ones(3, 2)))
    assert "the PyG data: weights of edges are not used; ignored edge_weight, edge_attr" in notes.text
    given = nx.MultiDiGraph([(1, 2, {"weight": 0.5}), (2, 3, {"since": 2019, 7: 1})])
    load_graph(given)
    assert "the NetworkX graph: weights of edges are not used; ignored weight, since, 7" in notes.text
    load_graph((sp.csr_matrix([[0, 0.5], [1, 0]]), None))
    assert [record.levelname for record in notes.records if "weights" in record.getMessage()] == ["WARNING"] * 3
    assert "the adjacency: weights of edges are not used; ignored values other than 0 and 1" in notes.text


def test_edges_without_weights_need_no_note(notes):
    load_graph(small_data())
    load_graph(nx.path_graph(3))
    for kind in (bool, int, float):
        load_graph((sp.csr_matrix(np.array([[0, 1], [1, 0]], dtype=kind)), None))
    assert "weights" not in notes.text


# -- scipy -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("convert", [sp.csr_matrix, sp.coo_matrix, sp.csc_array, sp.lil_matrix])
def test_a_scipy_adjacency_with_features(convert):
    adjacency = convert(np.array([[0, 2.5, 0], [0, 0, 0], [0, 0, 1]]))
    for x in ([[1, 2], [3, 4], [5, 6]], np.array([[1, 2], [3, 4], [5, 6]]), sp.csr_matrix([[1, 2], [3, 4], [5, 6]])):
        graph = load_graph((adjacency, x))
        assert (graph.num_nodes, graph.num_edges, graph.report.self_loops) == (3, 1, 1)
        assert as_dense(graph.x).tolist() == [[1, 2], [3, 4], [5, 6]]
    assert load_graph((adjacency, None)).num_features > 0


@pytest.mark.parametrize(
    ("adjacency", "x", "expected"),
    [
        (np.eye(2), np.eye(2), "the adjacency is a ndarray: expected a scipy sparse matrix"),
        (sp.csr_matrix((2, 3)), np.eye(2), r"the adjacency has shape \(2, 3\): expected a square"),
        (sp.csr_matrix((2, 2)), np.eye(3), "features have 3 rows for 2 nodes"),
        (sp.csr_matrix((2, 2)), np.array([["a"], ["b"]]), "the features are <U1"),
        (sp.csr_matrix((0, 0)), None, "the graph is empty"),
        (sp.lil_matrix([[0, 1], [np.nan, 0]]), None, "the adjacency holds nan in row 1, column 0: expected finite"),
        (sp.csr_matrix([[0, 1j], [0, 0]]), None, "the adjacency holds complex128: expected finite numbers"),
        (sp.coo_matrix(([1], ([0], [1])), (10**12, 10**12)), None, "the graph has 1,000,000,000,000 nodes for 2 ends"),
        (sp.csr_matrix([[0, np.inf], [0, 0]]), None, "the adjacency holds inf in row 0, column 1: expected finite"),
    ],
)
def test_a_bad_scipy_pair_is_one_sentence(adjacency, x, expected):
    with pytest.raises(SignnapError, match=f"^{expected}"):
        load_graph((adjacency, x))


@pytest.mark.parametrize("convert", [sp.csr_matrix, sp.csc_array])
@pytest.mark.parametrize("index", [9, -1])
def test_a_scipy_matrix_with_positions_outside_it_is_one_sentence(convert, index, sentence):
    whole, damaged = sp.eye(2), convert(np.eye(2))
    damaged.indices[0] = index
    assert sentence(load_graph, (damaged, None)).startswith("the adjacency came as a damaged scipy matrix (")
    assert sentence(load_graph, (whole, damaged)).startswith("the features came as a damaged scipy matrix (")
