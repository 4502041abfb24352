"""The loop: a pure function of its seed, whatever happens around it, and a state that continues bit for bit."""

import pytest
import torch
from torch import nn

from signnap import SIGNNAP, InfoNCE
from signnap.errors import SignnapError
from signnap.interfaces import Step
from signnap.registry import ENCODERS
from signnap.train.loop import iterate, lockstep
from signnap.train.run import Run, _matmul_precision


def own_encoder():
    """A PyG model with dropout and batch norm: draws from the default generator, and has buffers."""
    GIN = pytest.importorskip("torch_geometric.nn").GIN
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return GIN(12, 8, num_layers=2, dropout=0.5, norm="batch_norm")


def finished(run, until=6):
    for _ in iterate(run, until):
        pass
    return run


@pytest.mark.parametrize("objective", ["nce", "infonce"])
@pytest.mark.parametrize("backbone", [*ENCODERS, "own"])
def test_a_state_continues_bit_for_bit_from_every_iteration(backbone, objective, small_graph, start, snapshot, same):
    backbone = own_encoder() if backbone == "own" else backbone
    run = start(small_graph, backbone, objective=objective)
    states = [snapshot(run)] + [snapshot(run) for _ in iterate(run, 6)]
    assert [state["iteration"] for state in states] == list(range(7))
    assert all(value.isfinite().all() for value in states[-1]["modules"].values())
    for state in states:
        torch.manual_seed(state["iteration"])  # nothing may come from here
        other = start(small_graph, backbone, objective=objective, seed=1)  # and nothing from this seed
        other.restore(state)
        assert same(snapshot(finished(other)), states[-1]), state["iteration"]


class Drops(InfoNCE):
    """An objective of one's own with a layer that draws."""

    def forward(self, z1, z2, generator):
        return super().forward(nn.functional.dropout(z1), z2, generator)


def test_an_objective_may_draw_as_layers_do(small_graph, start, snapshot, same):
    begin = lambda: start(small_graph, objective=Drops(negatives=16, temperature=0.5))
    run = begin()
    states = [snapshot(run) for _ in iterate(run, 4)]
    torch.manual_seed(7)  # nothing may come from here
    assert same(snapshot(finished(begin(), 4)), states[-1])
    other = begin()
    other.restore(states[1])
    assert same(snapshot(finished(other, 4)), states[-1])


def test_how_coarse_a_gpu_multiplies_is_not_asked_on_a_cpu(small_graph, start, monkeypatch):
    """Torch refuses to answer in its old words where it was told in its new ones."""

    def refuse(**_):
        raise RuntimeError("you have used a mix of the legacy and new APIs")

    monkeypatch.setattr("signnap.train.run._matmul_precision", refuse)
    finished(start(small_graph), 2)


class NewWords:
    """As torch once it was told in its new words."""

    fp32_precision = "tf32"

    @property
    def allow_tf32(self):
        raise RuntimeError("you have used a mix of the legacy and new APIs")


class OldWords:
    allow_tf32 = True


@pytest.mark.parametrize(
    ("kind", "name", "said"),
    [(NewWords, "fp32_precision", {False: "ieee", True: "tf32"}), (OldWords, "allow_tf32", {False: False, True: True})],
)
def test_torch_is_told_in_the_words_that_it_understands(kind, name, said, monkeypatch):
    products = kind()
    monkeypatch.setattr(torch.backends.cuda, "matmul", products)
    before = getattr(products, name)
    for allow_tf32, meanwhile in said.items():
        with _matmul_precision(allow_tf32=allow_tf32):
            assert getattr(products, name) == meanwhile
        assert getattr(products, name) == before


def test_one_seed_one_result(small_graph, start, snapshot, same):
    result = snapshot(finished(start(small_graph)))
    assert same(snapshot(finished(start(small_graph))), result)
    other = snapshot(finished(start(small_graph, seed=1)))
    assert all(
        not torch.equal(value, other["modules"][name])
        for name, value in result["modules"].items()
        if name != "objective.log_z"
    )


def test_draws_and_modes_of_the_caller_do_not_matter(small_graph, start, snapshot, same):
    result = snapshot(finished(start(small_graph, own_encoder())))
    run = start(small_graph, own_encoder())
    for step in iterate(run, 6):
        torch.rand(7)
        torch.manual_seed(int(step.total))
        run.task.modules.eval()
    assert same(snapshot(run), result)


def test_the_caller_s_generator_is_left_alone(small_graph, start):
    before = torch.get_rng_state()
    finished(start(small_graph, own_encoder()))
    assert torch.equal(torch.get_rng_state(), before)


def test_runs_side_by_side_do_not_touch_each_other(small_graph, start, snapshot, same):
    first, second = start(small_graph), start(small_graph, "sage", objective="infonce")
    for _ in zip(iterate(first, 6), iterate(second, 6), strict=True):
        pass
    assert same(snapshot(first), snapshot(finished(start(small_graph))))
    assert same(snapshot(second), snapshot(finished(start(small_graph, "sage", objective="infonce"))))


def test_a_loop_that_was_left_goes_on(small_graph, start, snapshot, same):
    run = start(small_graph)
    for _ in iterate(run, 6):
        if run.iteration == 2:
            break
    assert run.iteration == 2
    assert list(iterate(run, 2)) == []
    assert same(snapshot(finished(run)), snapshot(finished(start(small_graph))))


class Recorder:
    """A task of one parameter, whose loss is that parameter, that writes down what happens to it."""

    def __init__(self):
        self.modules = nn.ParameterDict({"w": nn.Parameter(torch.tensor(1.0))})
        self.generators = {"layers": torch.Generator().manual_seed(0)}
        self.allow_tf32 = False
        self.seen = []

    def step(self):
        assert self.modules.training
        self.seen.append(("step", self.modules["w"].item()))
        return Step(self.modules["w"] * 1, {}, ("outputs",))

    def advance(self, step):
        assert step.outputs == ("outputs",)
        self.seen.append(("advance", self.modules["w"].item()))


def test_banks_advance_after_the_optimiser_and_before_the_caller_looks():
    task = Recorder()
    run = Run(task, lr=0.25, weight_decay=0.0)
    for _ in iterate(run, 2):
        task.seen.append(("yield", run.iteration))
        task.modules.eval()
    whats, values = zip(*task.seen, strict=True)
    assert whats == ("step", "advance", "yield") * 2
    assert values == pytest.approx((1, 0.75, 1, 0.75, 0.5, 2), abs=1e-6)  # Adam's first steps are lr long


def test_weight_decay_and_learning_rate_reach_the_optimiser():
    group = Run(Recorder(), lr=0.125, weight_decay=0.5).optimizer.param_groups[0]
    assert (group["lr"], group["weight_decay"], group["betas"]) == (0.125, 0.5, (0.9, 0.999))


def test_nothing_to_learn_is_one_sentence(small_graph):
    class Untouched(nn.Module):
        def forward(self, x, edge_index):
            return x

    with pytest.raises(SignnapError, match=r"nothing to learn: expected an encoder with at least one parameter"):
        SIGNNAP(Untouched(), negatives=16).fit(small_graph)


def test_a_state_of_another_shape_is_not_taken(small_graph, start, snapshot):
    state = snapshot(start(small_graph, dim=16))
    with pytest.raises(RuntimeError):
        start(small_graph).restore(state)


def test_runs_in_lockstep_end_as_they_would_alone(small_graph, start, snapshot, same):
    alone = [snapshot(finished(start(small_graph, seed=seed))) for seed in range(3)]
    runs = [start(small_graph, seed=seed) for seed in range(3)]
    seen = [[run.iteration for run, _ in steps] for steps in lockstep(runs, 6)]
    assert seen == [[n] * 3 for n in range(1, 7)]
    assert all(same(snapshot(run), wanted) for run, wanted in zip(runs, alone, strict=True))


def test_runs_that_are_behind_go_first_and_runs_may_be_taken_out(small_graph, start):
    ahead, behind, gone = (start(small_graph, seed=seed) for seed in range(3))
    finished(ahead, 2)
    runs, seen = [ahead, behind, gone], []
    for steps in lockstep(runs, 4):
        seen.append([run for run, _ in steps])
        if behind.iteration == 3 and gone in runs:
            runs.remove(gone)
    assert seen == [[behind, gone]] * 2 + [[ahead, behind, gone], [ahead, behind]]
    assert [run.iteration for run in (ahead, behind, gone)] == [4, 4, 3]


def test_a_step_does_not_keep_its_graph(small_graph, start):
    for step in iterate(start(small_graph), 2):
        tensors = [step.total, *step.numbers.values(), *step.outputs[:2], step.outputs[2].total]
        assert all(not tensor.requires_grad for tensor in tensors)
