"""The contract of all objectives: a pure forward pass, state in buffers, and no gradients between iterations."""

import copy
import math
import pkgutil
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec

import pytest
import torch
from torch import nn

import signnap
from dense import source_of
from signnap import CCA, NCE, AllPairs, BarlowTwins, InfoNCE
from signnap.errors import SignnapError
from signnap.interfaces import Objective, Terms
from signnap.methods.bgrl import Prediction
from signnap.methods.dgi import Critic, OriginalCritic
from signnap.methods.gcc import InBatch
from signnap.methods.mvgrl import CrossCritic
from signnap.methods.steady import PerBlock
from signnap.objectives.skipgram import SkipGram
from signnap.registry import OBJECTIVES

objectives = pytest.mark.parametrize("name", OBJECTIVES)


def state_of(module):
    return {name: value.clone() for name, value in module.state_dict().items()}


def same_state(left, right):
    return left.keys() == right.keys() and all(torch.allclose(left[k], right[k], 0, 0, equal_nan=True) for k in left)


def objective_of(name, nodes, seed=0):
    objective = OBJECTIVES[name].build(negatives=7, negatives_group=4)
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
    assert torch.equal(first.total, again.total) and torch.equal(first.total, sum(first.parts.values()))
    assert not torch.equal(first.total, objective(z1, z2, source_of(4)).total), "other negatives, other loss"
    first.total.backward()
    objective.update(z1.detach(), z2.detach(), first)
    assert not same_state(before, objective.state_dict())
    assert all(map(torch.equal, inputs, (z1, z2))) and torch.equal(torch.get_rng_state(), outside)


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
        numbers = (terms.total, *terms.parts.values(), terms.mutual_information_bound)
        assert all(number.shape == () and number.isfinite() for number in numbers)
        assert all(grad.isfinite().all() for grad in torch.autograd.grad(terms.total, (z1, z2)))
        objective.update(z1, z2, terms)
    assert isinstance(objective, Objective) and isinstance(objective.chance(), float)


@objectives
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"negatives": 0}, "the number of negatives is 0: expected at least 1"),
        ({"temperature": 0.0}, "the temperature is 0.0: expected a positive number"),
        ({"temperature": -1}, "the temperature is -1: expected a positive number"),
        ({"temperature": math.nan}, "the temperature is nan: expected a positive number"),
        ({"temperature": math.inf}, "the temperature is inf: expected a positive number"),
        (
            {"negatives_group": -1},
            "the number of anchors that share negatives is -1: expected at least 1, or 0 for all",
        ),
        ({"precision": "foo"}, "unknown precision 'foo'"),
        ({"momentum": 1.5}, "the momentum is 1.5: expected a number from 0 to 1"),
    ],
)
def test_bad_input(name, arguments, sentence):
    with pytest.raises(SignnapError, match=sentence):
        OBJECTIVES[name].build(**arguments)


@objectives
def test_objectives_are_determined_by_the_seed(name):
    z1, z2 = pair(10)
    totals = [objective_of(name, 10, seed)(z1, z2, source_of(3)).total for seed in (0, 0, 1)]
    assert torch.equal(totals[0], totals[1]) and not torch.equal(totals[0], totals[2])


#: Every objective, by its class: the named ones, and those that belong to a method.
KINDS = {
    NCE: lambda seed: NCE(negatives=7, negatives_group=4),
    InfoNCE: lambda seed: InfoNCE(negatives=7, negatives_group=4),
    AllPairs: lambda seed: AllPairs(projector=6),
    BarlowTwins: lambda seed: BarlowTwins(),
    CCA: lambda seed: CCA(),
    Prediction: lambda seed: Prediction(),
    **{kind: lambda seed, kind=kind: kind.drawn(8, seed) for kind in (Critic, OriginalCritic, CrossCritic)},
    InBatch: lambda seed: InBatch(temperature=0.5, batch=10),
    PerBlock: lambda seed: PerBlock([AllPairs(projector=6), AllPairs()]),
    SkipGram: lambda seed: with_context(SkipGram(torch.ones(10), 8, length=5, window=2, negatives=3), seed),
}
kinds = pytest.mark.parametrize("kind", KINDS)


def with_context(skipgram, seed):
    """Draw context vectors, because those of a new objective are zero."""
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
    """All values inside an object and its attributes, by path."""
    if isinstance(thing, list | tuple):
        thing = dict(enumerate(thing))
    elif hasattr(thing, "__dict__") and not isinstance(thing, torch.Tensor | Mapping | type):
        thing = vars(thing)
    if not isinstance(thing, Mapping):
        return {place: thing}
    return {at: value for name, part in thing.items() for at, value in kept(part, f"{place}.{name}").items()}


def learning(thing):
    """The paths of tensors with gradients in an object, except parameters."""
    parameter = lambda value: isinstance(value, nn.Parameter) and value.grad_fn is None
    return [at for at, value in kept(thing).items() if getattr(value, "requires_grad", False) and not parameter(value)]


def test_kinds_lists_every_objective_of_the_package():
    for module in pkgutil.walk_packages(signnap.__path__, "signnap."):
        if module.name != "signnap.__main__" and (find_spec("triton") or ".triton." not in module.name):
            import_module(module.name)
    found, left = set(), [Objective]
    while left:
        found |= (below := set(left.pop().__subclasses__()))
        left += below
    scores = lambda kind: kind.forward is not Objective.forward
    untried = {kind for kind in found if kind.__module__.startswith("signnap.") and scores(kind)} ^ set(KINDS)
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
def test_no_autograd_graph_survives_an_iteration(kind):
    objective, inputs = kind_of(kind), inputs_of(kind)
    for iteration in range(2):
        terms = objective(*inputs, source_of(iteration))
        objective.update(*inputs, terms)
        assert learning(objective) == [] and learning(terms.detached()) == []


@kinds
def test_random_state_depends_on_the_seed(kind):
    inputs = inputs_of(kind)
    made = [kind_of(kind, seed) for seed in (0, 0, 1)]
    totals = [objective(*inputs, source_of(3)).total for objective in made]
    assert torch.equal(totals[0], totals[1])
    assert torch.equal(totals[0], totals[2]) == (not made[0].state_dict())


def test_detached_terms_are_the_same_numbers_without_their_graph():
    total, part, bound, more = (torch.tensor(float(n), requires_grad=True) * 1 for n in range(4))
    terms = Terms(total, {"part": part}, bound, carry={"more": more})
    found = terms.detached()
    assert learning(found) == [] and len(learning(terms)) == 4
    assert kept(found) == kept(terms)
    assert Terms(total).detached().mutual_information_bound is None
