"""Foreign modules as encoders, and the choice of an encoder by name."""

import numpy as np
import pytest
import torch
from torch import nn

from dense import asymmetric_view, matrix, source_of
from signnap import NCE, SIGNNAP, Compose, DropEdge, FeatureNoise
from signnap.encoders.wrap import Adapted, build_encoder
from signnap.errors import SignnapError
from signnap.graph import Graph, SparseFeatures, as_dense
from signnap.interfaces import Encoder


class SumOfSenders(nn.Module):
    """The plainest message passing there is, with a look at what arrives."""

    def forward(self, x, edge_index):
        self.seen = x, edge_index
        return torch.zeros_like(x).index_add(0, edge_index[1], x[edge_index[0]])


def test_a_foreign_module_gets_the_kept_edges_in_the_direction_of_the_graph_convolution():
    view = asymmetric_view()
    encoder = Adapted(SumOfSenders())
    stored = (matrix(view.pattern, view.stored) != 0).double().fill_diagonal_(0)
    assert torch.allclose(encoder(view), stored @ view.x)
    x, edge_index = encoder.module.seen
    assert edge_index.dtype == torch.int64 and not (edge_index[0] == edge_index[1]).any()
    assert x.layout == torch.strided


def test_a_foreign_module_gets_sparse_and_noisy_features_as_a_dense_tensor():
    view = Graph.from_edges([0], [1], np.eye(6)).view()
    assert isinstance(view.x, SparseFeatures)
    encoder = Adapted(SumOfSenders())
    for seen in (view, FeatureNoise("gaussian", 1.0)(view, source_of(0))):
        encoder(seen)
        assert torch.equal(encoder.module.seen[0], as_dense(seen.x))


def pyg_model(name):
    models = pytest.importorskip("torch_geometric.nn.models")
    torch.manual_seed(0)
    if name == "gin":
        return models.GIN(12, 16, num_layers=2, out_channels=8)
    return models.GAT(12, 16, num_layers=2, out_channels=8, v2=True, heads=2, dropout=0.2)


@pytest.mark.parametrize("name", ["gin", "gatv2"])
def test_models_of_pyg_learn(name, small_graph):
    encoder, view, source = build_encoder(pyg_model(name), in_dim=12), small_graph.view(), source_of(1)
    assert isinstance(encoder, Adapted)
    objective, perturb = NCE(negatives=16, negatives_group=4), Compose(DropEdge(0.2), FeatureNoise())
    objective.prepare(40, 8, source)
    optimizer = torch.optim.Adam(encoder.parameters(), lr=0.01)
    losses = []
    for _ in range(30):
        z1, z2 = encoder.encode([perturb(view, source), perturb(view, source)])
        terms = objective(z1, z2, source)
        optimizer.zero_grad()
        terms.total.backward()
        assert all(p.grad is not None and p.grad.isfinite().all() for p in encoder.parameters())
        optimizer.step()
        objective.update(z1, z2, terms)
        losses.append(terms.total.item())
    assert sum(losses[-5:]) < 0.95 * sum(losses[:5])


@pytest.mark.parametrize("name", ["gin", "gatv2"])
def test_models_of_pyg_as_a_backbone(name, small_graph):
    module = pyg_model(name)
    before = [p.clone() for p in module.parameters()]
    model = SIGNNAP(backbone=module, iterations=3, negatives=8).fit(small_graph)
    assert model.transform(small_graph).shape == (40, 8)
    assert all(torch.equal(a, b) for a, b in zip(before, module.parameters(), strict=True)), (
        "the user's stays as it was"
    )
    trained = list(model.encoder_.parameters())
    assert not all(torch.equal(a, b) for a, b in zip(before, trained, strict=True))


def test_an_encoder_is_handed_through():
    encoder = Adapted(nn.Identity())
    assert build_encoder(encoder, in_dim=3) is encoder
    assert isinstance(build_encoder("gcn", in_dim=3), Encoder)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"backbone": "jknt"}, "unknown backbone 'jknt', did you mean 'jknet'"),
        ({"backbone": "gcn", "layers": 0}, "gcn has 0 layers of width 128: expected at least one of each"),
        ({"backbone": "sage", "dim": 0}, "sage has 2 layers of width 0"),
    ],
)
def test_bad_input(arguments, sentence):
    with pytest.raises(SignnapError, match=sentence):
        build_encoder(in_dim=3, **arguments)
