"""NetworkX graphs whose nodes and attributes do not fit a table, and attributes that nobody asked for."""

import logging

import networkx as nx
import pytest

from signnap import load_graph
from signnap.errors import SignnapError


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
    assert load_graph(given).feature_names == ("x0", "x1")  # the other is left out, as a note says


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
