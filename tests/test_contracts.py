"""One contract for every encoder, perturbation and objective that a name or a setting can choose."""

import copy
import pkgutil
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import nn

import signnap
from dense import asymmetric_view, permuted, source_of
from signnap import perturb
from signnap.contracts import Encoder, Objective, Perturbation, Terms
from signnap.encoders import ENCODERS, build_encoder
from signnap.graph import Graph, SparseFeatures, View, as_dense
from signnap.methods import settings
from signnap.methods.bgrl import Prediction
from signnap.methods.dgi import Critic, OriginalCritic
from signnap.methods.gcc import InBatch
from signnap.methods.mvgrl import CrossCritic
from signnap.objectives import CCA, NCE, OBJECTIVES, AllPairs, BarlowTwins, InfoNCE, build_objective
from signnap.objectives.skipgram import SkipGram
from signnap.perturb import Compose, DropEdge, DropUnimportant, FeatureNoise, MaskFeatures
from signnap.perturb.centrality import CENTRALITIES
from signnap.perturb.features import NOISES

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
objectives = pytest.mark.parametrize("name", OBJECTIVES)
graphs = pytest.mark.parametrize("kind", GRAPHS)


def contents(view):
    """Everything in a view, copied."""
    x = view.x
    features = [x.values, x.indices, x.indptr] if isinstance(x, SparseFeatures) else [as_dense(x)]
    parts = [view.stored, *features, view.pattern.indptr, view.pattern.indices, view.pattern.mirror]
    return [part.clone() for part in parts]


def equal(left, right):
    return all(torch.equal(a, b) for a, b in zip(left, right, strict=True))


def state_of(module):
    return {name: value.clone() for name, value in module.state_dict().items()}


def same_state(left, right):
    return left.keys() == right.keys() and all(torch.allclose(left[k], right[k], 0, 0, equal_nan=True) for k in left)


def test_names_known_without_torch_are_those_of_the_registries():
    assert set(settings.BACKBONES) == set(ENCODERS)
    assert set(settings.OBJECTIVES) == set(OBJECTIVES)


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
    assert same_state(encoder.state_dict(), twin.state_dict())
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
    public = [getattr(room, name) for room in (signnap, perturb) for name in room.__all__]
    classes = {kind for kind in public if isinstance(kind, type) and not issubclass(kind, nn.Module)}
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


def objective_of(name, nodes, seed=0):
    objective = build_objective(name, negatives=7, share=4)
    objective.prepare(nodes, 8, source_of(seed))
    return objective


def pair(nodes, scale=1.0):
    return [(scale * torch.randn(nodes, 8, generator=source_of(seed))).requires_grad_() for seed in (1, 2)]


@objectives
def test_forward_is_pure_and_update_is_not(name):
    objective, (z1, z2), outside = objective_of(name, 10), pair(10), torch.get_rng_state()
    before, inputs = state_of(objective), [z1.detach().clone(), z2.detach().clone()]
    first, again = (objective(z1, z2, source_of(3)) for _ in range(2))
    assert same_state(before, objective.state_dict())
    assert torch.equal(first.total, again.total) and torch.equal(first.total, first.first + first.second)
    assert not torch.equal(first.total, objective(z1, z2, source_of(4)).total), "other negatives, other loss"
    first.total.backward()
    objective.update(z1.detach(), z2.detach(), first)
    assert not same_state(before, objective.state_dict())
    assert equal(inputs, (z1, z2)) and torch.equal(torch.get_rng_state(), outside)


@objectives
def test_all_state_is_in_the_state_dict(name):
    objective, (z1, z2) = objective_of(name, 10), pair(10)
    objective.update(z1, z2, objective(z1, z2, source_of(3)))
    restored = objective_of(name, 10, seed=9)
    restored.load_state_dict(copy.deepcopy(objective.state_dict()))
    for iteration in range(2):
        terms, twins = (o(z1, z2, source_of(iteration)) for o in (objective, restored))
        assert torch.equal(terms.total, twins.total)
        objective.update(z1, z2, terms)
        restored.update(z1, z2, twins)


@objectives
@pytest.mark.parametrize("nodes", [1, 2, 10])
@pytest.mark.parametrize("scale", [0.0, 1e-6, 1.0])
def test_objectives_are_finite_everywhere(name, nodes, scale):
    objective, (z1, z2) = objective_of(name, nodes), pair(nodes, scale)
    for iteration in range(2):
        terms = objective(z1, z2, source_of(iteration))
        numbers = (terms.total, terms.first, terms.second, terms.mutual_information_bound)
        assert all(number.shape == () and number.isfinite() for number in numbers)
        assert all(grad.isfinite().all() for grad in torch.autograd.grad(terms.total, (z1, z2)))
        objective.update(z1, z2, terms)
    assert isinstance(objective, Objective) and isinstance(objective.chance(), float)


@objectives
def test_objectives_repeat_themselves_by_seed(name):
    z1, z2 = pair(10)
    totals = [objective_of(name, 10, seed)(z1, z2, source_of(3)).total for seed in (0, 0, 1)]
    assert torch.equal(totals[0], totals[1]) and not torch.equal(totals[0], totals[2])


#: Every objective, by its class: the named ones, and those that belong to a method.
KINDS = {
    NCE: lambda seed: NCE(negatives=7, share=4),
    InfoNCE: lambda seed: InfoNCE(negatives=7, share=4),
    AllPairs: lambda seed: AllPairs(projector=6),
    BarlowTwins: lambda seed: BarlowTwins(),
    CCA: lambda seed: CCA(),
    Prediction: lambda seed: Prediction(),
    **{kind: lambda seed, kind=kind: kind.drawn(8, seed) for kind in (Critic, OriginalCritic, CrossCritic)},
    InBatch: lambda seed: InBatch(temperature=0.5, batch=10),
    SkipGram: lambda seed: with_context(SkipGram(torch.ones(10), 8, length=5, window=2, negatives=3), seed),
}
kinds = pytest.mark.parametrize("kind", KINDS)


def with_context(skipgram, seed):
    """All vectors of a new one are zero, whatever the walks."""
    nn.init.normal_(skipgram.context, generator=source_of(seed))
    return skipgram


def kind_of(kind, seed=0):
    objective = KINDS[kind](seed)
    objective.prepare(10, 8, source_of(seed))
    return objective


def inputs_of(kind):
    if kind is SkipGram:
        return pair(10)[0], torch.randint(10, (6, 5), generator=source_of(2))
    if kind is CrossCritic:
        return [z.detach().view(2, 5, 8).requires_grad_() for z in pair(10)]
    return pair(10)


def kept(thing, place=""):
    """Everything that an object holds, in whatever it is made of, by its place."""
    if isinstance(thing, list | tuple):
        thing = dict(enumerate(thing))
    elif hasattr(thing, "__dict__") and not isinstance(thing, torch.Tensor | Mapping | type):
        thing = vars(thing)
    if not isinstance(thing, Mapping):
        return {place: thing}
    return {at: value for name, part in thing.items() for at, value in kept(part, f"{place}.{name}").items()}


def learning(thing):
    """Where an object holds a tensor that wants gradients, other than what is to be learned."""
    parameter = lambda value: isinstance(value, nn.Parameter) and value.grad_fn is None
    return [at for at, value in kept(thing).items() if getattr(value, "requires_grad", False) and not parameter(value)]


def test_every_objective_is_held_to_the_contract():
    for module in pkgutil.walk_packages(signnap.__path__, "signnap."):
        if module.name != "signnap.__main__" and (find_spec("triton") or not module.name.startswith("signnap.gpu.")):
            import_module(module.name)
    found, left = set(), [Objective]
    while left:
        found |= (below := set(left.pop().__subclasses__()))
        left += below
    untried = {kind for kind in found if kind.__module__.startswith("signnap.")} ^ set(KINDS)
    assert not untried, f"in the package or in KINDS, but not in both: {untried}"


def same(left, right):
    both = isinstance(left, torch.Tensor) and isinstance(right, torch.Tensor)
    return torch.allclose(left, right, 0, 0, equal_nan=True) if both else left == right


@kinds
@pytest.mark.parametrize("updates", [0, 1])
def test_forward_changes_nothing(kind, updates):
    objective, inputs, outside = kind_of(kind), inputs_of(kind), torch.get_rng_state()
    for _ in range(updates):
        objective.update(*inputs, objective(*inputs, source_of(2)))
    held = lambda: kept({"state": objective, "inputs": [(z._version, z.detach()) for z in inputs]})
    before = copy.deepcopy(held())
    first, again = (objective(*inputs, source_of(3)) for _ in range(2))
    assert torch.equal(first.total, again.total), "one seed, one loss"
    first.total.backward()
    assert inputs[0].grad.isfinite().all() and inputs[0].grad.any()
    after = held()
    assert before.keys() == after.keys()
    assert [place for place in after if not same(before[place], after[place])] == []
    assert torch.equal(torch.get_rng_state(), outside), "torch's own generator is untouched"


@kinds
def test_no_iteration_is_kept_for_the_next_one_s_gradient(kind):
    objective, inputs = kind_of(kind), inputs_of(kind)
    for iteration in range(2):
        terms = objective(*inputs, source_of(iteration))
        objective.update(*inputs, terms)
        assert learning(objective) == [] and learning(terms.detached()) == []


@kinds
def test_what_an_objective_draws_depends_on_the_seed(kind):
    inputs = inputs_of(kind)
    made = [kind_of(kind, seed) for seed in (0, 0, 1)]
    totals = [objective(*inputs, source_of(3)).total for objective in made]
    assert torch.equal(totals[0], totals[1])
    assert torch.equal(totals[0], totals[2]) == (not made[0].state_dict())


def test_detached_terms_are_the_same_numbers_without_their_graph():
    numbers = [torch.tensor(float(n), requires_grad=True) * 1 for n in range(5)]
    terms = Terms(*numbers[:4], carry={"more": numbers[4]})
    found = terms.detached()
    assert learning(found) == [] and len(learning(terms)) == 5
    assert kept(found) == kept(terms)
    assert Terms(*numbers[:3]).detached().mutual_information_bound is None


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
