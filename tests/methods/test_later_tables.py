"""Later tables: columns are found by name, and values of text columns may come and go."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st

from signnap import SIGNNAP, Graph, SignnapError
from signnap.graph import SparseFeatures, as_dense
from signnap.methods.input_checks import as_trained

NAMES = ("age", "city=Bergen", "city=Oslo", "size")


def graph_of(columns, sparse=False, nodes=5):
    """A graph whose column of each name holds that name's own numbers, wherever it stands."""
    numbers = {name: np.random.default_rng(sum(map(ord, name))).integers(1, 9, nodes) for name in columns}
    x = np.stack([*numbers.values()], axis=1).astype(np.float32)
    graph = Graph.from_edges([0, 1], [1, 2], x, name="later")
    return replace(graph, x=SparseFeatures.from_scipy(sp.csr_matrix(x)) if sparse else torch.from_numpy(x),
                   feature_names=tuple(columns))  # fmt: skip


def columns_of(graph):
    return {name: as_dense(graph.x)[:, place].tolist() for place, name in enumerate(graph.feature_names)}


@given(st.permutations(NAMES), st.booleans())
def test_any_order_becomes_that_of_training(order, sparse):
    graph = graph_of(order, sparse)
    found = as_trained(graph, 4, NAMES)
    assert found.feature_names == NAMES and columns_of(found) == columns_of(graph)
    assert isinstance(found.x, SparseFeatures) == sparse
    assert as_trained(found, 4, NAMES) is found


@pytest.mark.parametrize("sparse", [False, True])
def test_values_come_and_go(sparse, caplog):
    graph = graph_of(("size", "city=Rome", "city=Oslo", "city=Paris", "age"), sparse)
    with caplog.at_level("INFO", "signnap"):
        found = as_trained(graph, 4, NAMES)
    wanted = {name: columns_of(graph).get(name, [0.0] * 5) for name in NAMES}
    assert columns_of(found) == wanted
    assert caplog.messages == [
        "later: 2 values of text columns were not seen in training, and count as none: city=Rome, city=Paris",
        "later: 1 values of text columns are not here, and count as none: city=Bergen",
    ]
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]


def test_a_text_column_may_be_empty_throughout(caplog):
    graph = graph_of(("age", "city=", "size"))
    with caplog.at_level("INFO", "signnap"):
        found = as_trained(graph, 4, NAMES)
    assert columns_of(found) == columns_of(graph_of(("age", "size"))) | {n: [0.0] * 5 for n in NAMES[1:3]}
    assert caplog.messages == [
        "later: 2 values of text columns are not here, and count as none: city=Bergen, city=Oslo"
    ]


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        (("city=Oslo", "city=Bergen", "size"), "the model was trained on column 'age', which later does not have"),
        (("age=old", *NAMES[1:]), "the model was trained on numbers in column 'age', but later has text there"),
        ((*NAMES, "height"), "later has the column 'height', which the model was not trained on"),
        ((*NAMES, "town=Oslo"), "later has the column 'town', which the model was not trained on"),
        (("age", "size"), "the model was trained on column 'city', which later does not have"),
        (("age", "city", "size"), "the model was trained on text in column 'city', but later has numbers there"),
    ],
)
def test_other_columns_must_be_there(columns, sentence):
    with pytest.raises(SignnapError, match=f"^{sentence}$"):
        as_trained(graph_of(columns), 4, NAMES)


def test_a_name_that_two_columns_share_is_refused():
    x = np.arange(9, dtype=np.float32).reshape(3, 3)
    twice = replace(Graph.from_edges([0], [1], x, name="later"), feature_names=("f=1", "f=1", "f=x"))
    once = replace(twice, feature_names=("f=x", "f=1", "f=y"))
    words = "has two features named 'f=1': expected different names to find them by"
    for graph, names, owner in ((twice, once.feature_names, "later"), (once, twice.feature_names, "the model")):
        with pytest.raises(SignnapError, match=f"^{owner} {words}$"):
            as_trained(graph, 3, names)
    assert as_trained(twice, 3, twice.feature_names) is twice


def test_without_names_only_the_number_counts(caplog):
    bare = replace(graph_of(NAMES), feature_names=())
    assert as_trained(bare, 4, NAMES) is bare and as_trained(bare, 4, []) is bare
    assert caplog.messages == [
        "later: its 4 columns without names are taken for those of training in their order: "
        "age, city=Bergen, city=Oslo, size"
    ]
    with pytest.raises(SignnapError, match=r"^the model was trained on 3 features, but later has 4$"):
        as_trained(bare, 3, NAMES[:3])


def test_a_model_embeds_the_same_nodes_alike_in_any_order():
    here, later = graph_of(NAMES), graph_of(NAMES[::-1])
    model = SIGNNAP(dim=4, negatives=2, iterations=2).fit(here, stop_on_collapse=False)
    assert np.array_equal(model.transform(here), model.transform(later))
