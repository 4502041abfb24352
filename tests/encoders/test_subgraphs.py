"""Encoders of padded subgraphs against the same layers run graph by graph, and masked batch norm against torch's."""

import pytest
import torch
from blocks import blocks
from torch import nn
from torch.nn.functional import normalize

from dense import agree, source_of
from signnap.encoders.subgraphs import MaskedBatchNorm, SubgraphGCN, SubgraphGIN
from signnap.graph import SparseFeatures

SIZES, ROOM = [7, 1, 5, 9, 2], 11


def draw(*shape, seed=1):
    return torch.randn(*shape, generator=source_of(seed), dtype=torch.float64)


def drawn(module, seed=2):
    """The module in float64 with parameters that are not all the same."""
    source = source_of(seed)
    module = module.double()
    for parameter in module.parameters():
        parameter.data = 0.5 * torch.randn(parameter.shape, generator=source, dtype=torch.float64)
    return module


@pytest.mark.parametrize("sizes", [SIZES, [1]])
def test_masked_batch_norm_is_batch_norm_of_the_real_rows(sizes):
    _, real = blocks(sizes, ROOM)
    ours, twin = drawn(MaskedBatchNorm(4)), drawn(nn.BatchNorm1d(4))
    for seed in range(3 if len(sizes) > 1 else 0):
        x = (3 * draw(len(sizes), ROOM, 4, seed=seed) + 5).requires_grad_()
        spoilt = torch.where(real[:, :, None], x, 1e6 * x)  # padding may hold anything
        agree(ours(spoilt, real)[real], twin(x[real]), [x], rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(ours.running_mean, twin.running_mean)
        torch.testing.assert_close(ours.running_var, twin.running_var)
    x = draw(len(sizes), ROOM, 4)
    torch.testing.assert_close(ours.eval()(x, real)[real], twin.eval()(x[real]))
    assert ours.train()(x, real).isfinite().all()


def slow_layer(layer, graphs, hs):
    """One GIN layer: every node of every graph by itself, but batch norm over all of them at once."""
    sums = [torch.stack([h[i] + sum(h[j] for j in range(len(a)) if a[i, j]) for i in range(len(a))])
            for a, h in zip(graphs, hs, strict=True)]  # fmt: skip

    def norm(number, rows):
        ours = layer.norms[number]
        mean, variance = rows.mean(dim=0), rows.var(dim=0, unbiased=False)
        return ours.weight * (rows - mean) / (variance + ours.eps).sqrt() + ours.bias

    rows = layer.second(norm(0, layer.first(torch.cat(sums))).relu())
    rows = norm(2, norm(1, rows).relu()).relu()
    return list(rows.split([len(a) for a in graphs]))


def slow_gin(gin, positions, adjacency, real):
    graphs = [block[mask][:, mask] for block, mask in zip(adjacency, real, strict=True)]
    hs = []
    for a, p in zip(graphs, positions, strict=True):
        flag = torch.tensor([[1.0], *[[0.0]] * (len(a) - 1)], dtype=torch.float64)
        hs.append(torch.cat([p[: len(a)], gin.degrees.weight[a.sum(dim=1).long()], flag], dim=1))
    out = [gin.readouts[0](h.sum(dim=0)) for h in hs]
    for layer, readout in zip(gin.layers, list(gin.readouts)[1:], strict=True):
        hs = slow_layer(layer, graphs, hs)
        out = [z + readout(h.sum(dim=0)) for z, h in zip(out, hs, strict=True)]
    return torch.stack([z / z.norm() for z in out])


def test_gin_is_that_of_each_graph_by_itself():
    adjacency, real = blocks(SIZES, ROOM)
    gin = drawn(SubgraphGIN(3, 6, 4, layers=4, dropout=0.0))
    positions = draw(len(SIZES), ROOM, 3) * real[:, :, None]
    found = gin(positions, adjacency.double(), real)
    agree(found, slow_gin(gin, positions, adjacency, real), gin.parameters(), rtol=1e-7, atol=1e-9)
    torch.testing.assert_close(found.norm(dim=1), torch.ones(len(SIZES), dtype=torch.float64))


def test_gin_has_the_shapes_of_the_spec():
    gin = SubgraphGIN(32, 64, 64, layers=4, dropout=0.5)
    assert [(layer.first.in_features, layer.second.out_features) for layer in gin.layers] == [(49, 64)] + [(64, 64)] * 3
    assert [readout.in_features for readout in gin.readouts] == [49, 64, 64, 64, 64]
    assert gin.degrees.weight.shape == (513, 16)


def test_degrees_above_512_are_alike():
    room = 540
    adjacency = torch.zeros(2, room, room)
    for star, leaves in zip(adjacency, (520, 530), strict=True):
        star[0, 1 : leaves + 1] = star[1 : leaves + 1, 0] = 1
    gin = SubgraphGIN(1, 4, 4, layers=1, dropout=0.0)
    assert gin(torch.zeros(2, room, 1), adjacency, torch.ones(2, room, dtype=torch.bool)).isfinite().all()


def test_dropout_is_for_training_only():
    adjacency, real = blocks(SIZES, ROOM)
    gin = SubgraphGIN(0, 6, 8, layers=2, dropout=0.5)
    nothing = torch.zeros(len(SIZES), ROOM, 0)
    assert not torch.equal(gin(nothing, adjacency, real), gin(nothing, adjacency, real))
    gin.eval()
    assert torch.equal(gin(nothing, adjacency, real), gin(nothing, adjacency, real))


def slow_gcn(gcn, x, a):
    """The seed's row of D^{-1/2} (A+I) D^{-1/2} relu(…) W + b of one graph by itself."""
    looped = a.double() + torch.eye(len(a), dtype=torch.float64)
    scale = torch.diag(looped.sum(dim=1).rsqrt())
    flag = torch.zeros(len(a), 1, dtype=torch.float64)
    flag[0] = 1
    h = scale @ looped @ scale @ (torch.cat([x, flag], dim=1) @ gcn.first) + gcn.biases[0]
    for weight, bias in zip(gcn.later, list(gcn.biases)[1:], strict=True):
        h = scale @ looped @ scale @ h.relu() @ weight + bias
    return normalize(h[0], dim=0)


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_gcn_is_that_of_each_graph_by_itself(layers):
    adjacency, real = blocks(SIZES, ROOM)
    gcn = drawn(SubgraphGCN(5, 6, 4, layers=layers, dropout=0.0))
    x, nodes = draw(20, 5), torch.randint(20, (len(SIZES), ROOM), generator=source_of(0))
    found = gcn(gcn.project(x)[nodes], adjacency.double())
    wanted = [slow_gcn(gcn, x[n[m]], a[m][:, m]) for n, m, a in zip(nodes, real, adjacency, strict=True)]
    agree(found, torch.stack(wanted), gcn.parameters(), rtol=1e-7, atol=1e-9)


def test_sparse_features_are_the_same_as_dense_ones():
    gcn, x = SubgraphGCN(5, 6, 4, layers=2, dropout=0.0), draw(20, 5).float().relu()
    sparse = SparseFeatures.from_scipy(x.numpy())
    agree(gcn.project(sparse), gcn.project(x), [gcn.first], rtol=1e-5, atol=1e-5)


def test_features_are_dropped_in_training_only():
    gcn, x = SubgraphGCN(5, 6, 4, layers=2, dropout=0.5), torch.ones(400, 5)
    gcn.first.data[:] = 1
    assert set(gcn.project(x).flatten().tolist()) == {0.0, 2.0, 4.0, 6.0, 8.0, 10.0}
    assert (gcn.eval().project(x) == 5).all()
