"""One contract for every encoder and perturbation that a name or a setting can choose."""

import pkgutil
from importlib import import_module

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import nn

import signnap
from dense import asymmetric_view, permuted, source_of
from signnap import Compose, DropEdge, DropUnimportant, FeatureNoise, MaskFeatures, perturb
from signnap.encoders.wrap import build_encoder
from signnap.graph import Graph, SparseFeatures, View, as_dense
from signnap.interfaces import Encoder, Objective, Perturbation, Terms
from signnap.perturb.feature_noise import NOISES
from signnap.perturb.importance import CENTRALITIES
from signnap.registry import ENCODERS

PERTURBATIONS = {
    **{law: DropEdge(0.3, law) for law in ("exact", "bernoulli", "undirected")},
    **{kind: FeatureNoise(kind, 0.1) for kind in NOISES},
    "mask": MaskFeatures(0.5),
    **{name: DropUnimportant(0.3, 0.3, name) for name in CENTRALITIES},
    "all": Compose(DropEdge(0.3), MaskFeatures(0.5), *(FeatureNoise(kind, 0.1) for kind in NOISES)),
}


class Foreign(nn.Module):
    """The smallest module a user might bring."""

    def __init__(self, in_dim):
        super().__init__()
        self.layer = nn.Linear(in_dim, 8)

    def forward(self, x, edge_index):
        h = self.layer(x)
        return torch.relu(h.index_add(0, edge_index[1], h[edge_index[0]])) + h


def encoder_of(name, in_dim=5, **options):
    torch.manual_seed(0)
    backbone = Foreign(in_dim) if name == "foreign" else name
    return build_encoder(backbone, in_dim=in_dim, dim=8, heads=2, **options)


def graph_of(kind):
    """Graphs at the edge of what there is: 6 features, sparse where there are enough zeros."""
    rng = np.random.default_rng(0)
    nodes = 1 if kind == "one node" else 12
    pairs = rng.integers(0, 11, (2, 20)) if kind in ("ordinary", "sparse", "no words") else np.empty((2, 0))
    density = {"sparse": 0.15, "no words": 0.0}.get(kind, 1.0)
    x = rng.random((nodes, 6)) * (rng.random((nodes, 6)) < density)
    return Graph.from_edges(*pairs, sp.csr_matrix(x))


GRAPHS = ["ordinary", "sparse", "one node", "no edges", "no words"]
encoders = pytest.mark.parametrize("name", [*ENCODERS, "foreign"])
perturbations = pytest.mark.parametrize("name", PERTURBATIONS)
graphs = pytest.mark.parametrize("kind", GRAPHS)


def contents(view):
    """Everything in a view, copied."""
    x = view.x
    features = [x.values, x.indices, x.indptr] if isinstance(x, SparseFeatures) else [as_dense(x)]
    parts = [view.stored, *features, view.pattern.indptr, view.pattern.indices, view.pattern.mirror]
    return [part.clone() for part in parts]


def equal(left, right):
    return all(torch.equal(a, b) for a, b in zip(left, right, strict=True))


@encoders
def test_renumbering_the_nodes_renumbers_the_embeddings(name):
    view, order = asymmetric_view(nodes=12), torch.randperm(12, generator=source_of(1))
    encoder = encoder_of(name).double().eval()
    assert torch.allclose(encoder(permuted(view, order)), encoder(view)[order])


@encoders
@graphs
def test_encoders_are_finite_everywhere_and_reach_every_parameter(name, kind):
    encoder, view = encoder_of(name, 6), graph_of(kind).view(loop_value=1)
    before = contents(view)
    for seen in (view, PERTURBATIONS["all"](view, source_of(0)), DropEdge(1.0)(view, source_of(0))):
        encoder.zero_grad()
        z = encoder(seen)
        assert z.shape == (view.pattern.num_nodes, 8) and z.dtype == torch.float32 and z.isfinite().all()
        z.sin().sum().backward()
        assert all(p.grad is not None and p.grad.isfinite().all() for p in encoder.parameters())
    assert equal(before, contents(view)), "the view is as it was"


@encoders
def test_every_parameter_matters(name):
    encoder = encoder_of(name, layers=3, dropout=0.0)
    encoder(asymmetric_view(nodes=20, dtype=torch.float32)).sin().sum().backward()
    assert {n for n, p in encoder.named_parameters() if not p.grad.any()} == set()


@encoders
def test_encoders_repeat_themselves_by_seed(name):
    view, encoder, twin = asymmetric_view(dtype=torch.float32), encoder_of(name), encoder_of(name)
    assert equal(encoder.state_dict().values(), twin.state_dict().values())
    runs = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        runs.append(encoder(view))
    assert torch.equal(runs[0], runs[1])
    assert name == "foreign" or not torch.equal(runs[0], runs[2]), "dropout is active in training"
    state = torch.get_rng_state()
    assert torch.equal(encoder.eval()(view), twin.eval()(view))
    assert torch.equal(torch.get_rng_state(), state), "and neither active nor drawn outside it"


@encoders
def test_encoding_several_views_is_encoding_each(name):
    encoder, source = encoder_of(name, 6).eval(), source_of(0)
    view = graph_of("sparse").view()
    views = [view, DropEdge(0.5)(view, source), *(PERTURBATIONS["all"](view, source) for _ in range(2))]
    for found, seen in zip(encoder.encode(views), views, strict=True):
        assert torch.equal(found, encoder(seen))


@encoders
@pytest.mark.parametrize("noise", [None, "gaussian"])
def test_the_layout_of_features_makes_no_difference(name, noise):
    view = graph_of("sparse").view()
    if noise:
        view = FeatureNoise(noise, 1.0)(view, source_of(0))
    dense = view.with_features(as_dense(view.x))
    encoder = encoder_of(name, 6).eval()
    found, wanted = encoder(view), encoder(dense)
    assert torch.allclose(found, wanted, atol=1e-6)
    grads = [torch.autograd.grad(z.sin().sum(), list(encoder.parameters())) for z in (found, wanted)]
    assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(*grads, strict=True))


@encoders
@pytest.mark.parametrize("layers", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("dim", [2, 6])
def test_any_depth_and_width(name, layers, dim):
    backbone = Foreign(5) if name == "foreign" else name
    encoder = build_encoder(backbone, in_dim=5, dim=dim, layers=layers, heads=2)
    z = encoder(asymmetric_view(dtype=torch.float32))
    assert z.shape == (9, 8 if name == "foreign" else dim) and z.isfinite().all()


def test_every_public_perturbation_is_held_to_the_contract():
    modules = [import_module(each.name) for each in pkgutil.iter_modules(perturb.__path__, "signnap.perturb.")]
    found = [getattr(signnap, name) for name in signnap.__all__]
    found += [kind for each in modules for kind in vars(each).values() if "signnap." in getattr(kind, "__module__", "")]
    classes = {kind for kind in found if isinstance(kind, type) and not issubclass(kind, nn.Module)}
    tried = {Perturbation, *map(type, PERTURBATIONS.values())}
    untried = {kind for kind in classes if issubclass(kind, Perturbation)} ^ tried
    assert not untried, f"public or in PERTURBATIONS, but not in both: {untried}"


@perturbations
@graphs
def test_perturbations_draw_from_the_generator_alone_and_change_a_copy(name, kind):
    perturb, view, outside = PERTURBATIONS[name], graph_of(kind).view(loop_value=1), torch.get_rng_state()
    before = contents(view)
    first, again = (perturb(view, source_of(1)) for _ in range(2))
    assert isinstance(perturb, Perturbation) and isinstance(first, View)
    assert equal(contents(first), contents(again))
    assert first.pattern is view.pattern and first.x.shape == view.x.shape
    assert as_dense(first.x).isfinite().all()
    assert equal(before, contents(view)), "the given view is as it was"
    assert torch.equal(torch.get_rng_state(), outside), "torch's own generator is untouched"


@perturbations
def test_perturbations_differ_between_draws(name):
    perturb, view, source = PERTURBATIONS[name], graph_of("sparse").view(), source_of(1)
    drawn = [contents(perturb(view, source)) for _ in range(4)]
    assert not all(equal(drawn[0], other) for other in drawn[1:])


def test_your_own_parts_need_only_the_contract():
    class Constant(Encoder):
        def forward(self, view):
            return torch.ones(view.pattern.num_nodes, 2)

    view = graph_of("ordinary").view()
    assert build_encoder(own := Constant(), in_dim=6) is own
    assert [z.shape for z in own.encode([view, view])] == [(12, 2)] * 2
    silent = Objective()
    silent.prepare(12, 2, source_of(0))
    assert silent.chance() is None and silent.update(None, None, None) is None
    with pytest.raises(NotImplementedError):
        silent(None, None, source_of(0))
    with pytest.raises(NotImplementedError):
        Encoder()(view)


@pytest.mark.parametrize("bound", [None, 0.5])
def test_the_numbers_of_terms_are_free_of_their_graph(bound):
    loss = torch.ones((), requires_grad=True) * 2
    terms = Terms(loss, {"near": loss + 1, "far": loss + 2}, None if bound is None else loss * bound)
    wanted = {"loss": 2.0, "near": 3.0, "far": 4.0} | ({} if bound is None else {"mutual_information_bound": 1.0})
    assert {name: float(number) for name, number in terms.numbers().items()} == wanted
    assert not any(number.requires_grad for number in terms.numbers().values())
