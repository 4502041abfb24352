"""Edges, features, labels and ids of every array type, and the error messages for unusable ones."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from signnap.errors import SignnapError
from signnap.graph import Graph, SparseFeatures, as_dense, compact
from signnap.graph.arrays import as_tensor, feature_matrix

X = [[1.0, 2], [3, 4], [5, 6]]


def graph(source=(0, 1), target=(1, 2), x=X, **fields):
    return Graph.from_edges(source, target, x, **fields)


WHOLE = {
    "list": list,
    "tuple": tuple,
    "array": np.array,
    "big-endian": lambda rows: np.array(rows, dtype=">u2"),
    "tensor": torch.tensor,
    "short tensor": lambda rows: torch.tensor(rows, dtype=torch.int16),
}


@pytest.mark.parametrize("form", WHOLE)
def test_whole_numbers_of_every_form(form):
    made = graph(WHOLE[form]([0, 1]), WHOLE[form]([1, 2]), y=WHOLE[form]([0, 1, 2]), ids=WHOLE[form]([7, 8, 9]))
    assert made.fingerprint() == graph().fingerprint()
    assert (made.y.dtype, made.y.tolist(), made.ids.tolist()) == (torch.int64, [0, 1, 2], [7, 8, 9])
    assert repr(made) == "Graph(graph: 3 nodes, 2 edges, 2 features, 3 classes)"


@pytest.mark.parametrize("nothing", [[], np.array([]), torch.tensor([])])
def test_no_edges_of_every_form(nothing):
    assert graph(nothing, nothing).num_edges == 0


WORDS = torch.tensor([[0, 1, 0, 0, 0], [0, 0, 0, 2, 0], [0, 0, 0, 0, 0], [3, 0, 0, 0, 0]])
MATRICES = {
    "list": torch.Tensor.tolist,
    "array": torch.Tensor.numpy,
    "scipy": lambda x: sp.coo_matrix(x.numpy()),
    "whole": lambda x: x,
    "double": torch.Tensor.double,
    "bfloat16": torch.Tensor.bfloat16,
    "half": torch.Tensor.half,
    "gradients": lambda x: x.float().requires_grad_(),
    "sparse": torch.Tensor.to_sparse,
    "sparse rows": lambda x: x.float().to_sparse(1),
    "sparse csr": lambda x: x.half().to_sparse_csr(),
    "sparse bfloat16": lambda x: x.bfloat16().to_sparse(),
}


@pytest.mark.parametrize("form", MATRICES)
def test_features_of_every_form(form):
    found = compact(MATRICES[form](WORDS))
    assert isinstance(found, SparseFeatures)
    assert torch.equal(as_dense(found), WORDS.float())


@pytest.mark.parametrize("form", ["sparse", "sparse csr", "sparse bfloat16", "scipy"])
def test_sparse_features_stay_sparse(form):
    found = feature_matrix(MATRICES[form](WORDS))
    assert sp.issparse(found) and found.nnz == 3


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"source": [0.9, 1]}, r"endpoints of edges are float64 of shape \(2,\): expected whole numbers"),
        ({"target": torch.tensor([1.0, 2.0])}, "endpoints of edges are float32"),
        ({"target": [True, False]}, "endpoints of edges are bool"),
        ({"source": ["a", "b"]}, "endpoints of edges are <U1"),
        ({"source": [0, 2**70]}, "endpoints of edges are object"),
        ({"source": [[0], [1]]}, r"endpoints of edges are int64 of shape \(2, 1\): expected .* of shape \(edges,\)"),
        ({"source": 0}, r"endpoints of edges are int64 of shape \(\)"),
        (
            {"source": [[0], [1, 2]]},
            "endpoints of edges came as a list that is no array: expected rows of equal length",
        ),
        ({"source": [0, 1, 2]}, "the edges have 3 sources for 2 targets: expected one each"),
        ({"target": np.array([1, 2**63], dtype=np.uint64)}, "edge number 1 is .* but nodes are numbered 0 to 2"),
        ({"x": [1.0, 2, 3]}, r"features are float64 of shape \(3,\): expected numbers of shape \(nodes, features\)"),
        ({"x": torch.ones(3)}, r"features are float32 of shape \(3,\)"),
        ({"x": torch.ones(3).to_sparse()}, r"features are float32 of shape \(3,\)"),
        ({"x": torch.ones(3, 1, 1)}, r"features are float32 of shape \(3, 1, 1\)"),
        ({"x": torch.ones(3, 1, dtype=torch.complex64)}, "features are complex64"),
        ({"x": [["a"], ["b"], ["c"]]}, "features are <U1"),
        ({"x": [[1], [1, 2], [3]]}, "the features came as a list that is no array: expected rows of equal length"),
        ({"x": None}, "features are object"),
        ({"y": [0, 1]}, r"labels are torch.int64 of shape \(2,\): expected whole numbers of shape \(3,\)"),
        ({"y": torch.zeros(3, 1).long()}, r"labels are torch.int64 of shape \(3, 1\)"),
        ({"y": [0.5, 1, 2]}, "labels are torch.float64"),
        (
            {"y": np.array([0, 1, 2**64 - 1], np.uint64)},
            r"the label of node 2 is 18446744073709551615: expected .* 2\^63",
        ),
        ({"y": ["a", "b", "c"]}, "the labels came as <U1: expected numbers"),
        ({"ids": ["a", "a\0", "b"]}, r"the id of node 1 is 'a\\x00': expected one that does not end in a NUL"),
        ({"ids": ["a", "b"]}, r"the ids have shape \(2,\): expected \(3,\), one per node"),
    ],
)
def test_unusable_input(given, sentence):
    with pytest.raises(SignnapError, match=sentence):
        graph(**given)


@pytest.mark.parametrize("form", [np.array, torch.tensor])
def test_labels_and_ids_are_copied(form):
    y, ids = form([0, 1, 2]), form([7, 8, 9])
    made = graph(y=y, ids=ids)
    y[0] = ids[0] = 5
    assert (made.y.tolist(), made.ids.tolist()) == ([0, 1, 2], [7, 8, 9])


def test_tensors_and_arrays_are_not_copied():
    tensor, array = torch.arange(3), np.arange(3)
    assert as_tensor(tensor) is tensor
    as_tensor(array)[0] = 7
    assert array[0] == 7


def test_the_error_names_the_array():
    with pytest.raises(SignnapError, match="the array came as object: expected numbers"):
        as_tensor([None])
    with pytest.raises(SignnapError, match="the test part came as a list that is no array"):
        as_tensor([[1], [2, 3]], "test part")
