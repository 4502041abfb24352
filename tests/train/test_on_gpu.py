"""The accelerator path, on an accelerator: recorded iterations, seeds together, resuming, and agreement with a CPU."""

import logging
from dataclasses import replace

import pytest
import scipy.sparse as sp
import torch
from torch import nn

from signnap import SIGNNAP, Graph, InfoNCE, method_class
from signnap.graph import as_dense, compact
from signnap.interfaces import Encoder
from signnap.ops.triton import MAX_DIM
from signnap.perturb.feature_noise import NOISES
from signnap.registry import ENCODERS, METHODS
from signnap.train.loop import iterate, lockstep
from signnap.train.run_folder import RunFolder

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device is visible"),
]


@pytest.fixture
def gpu_graph(small_graph):
    return small_graph.to("cuda")


def losses(run, until=12, **options):
    return [float(step.total) for step in iterate(run, until, **options)]


@pytest.mark.parametrize("share", [1, 8])
@pytest.mark.parametrize("objective", ["nce", "infonce"])
@pytest.mark.parametrize("backbone", ENCODERS)
def test_recorded_iterations_are_ordinary_ones(backbone, objective, share, gpu_graph, start):
    runs = [start(gpu_graph, backbone, objective=objective, share=share) for _ in range(2)]
    recorded, ordinary = losses(runs[0]), losses(runs[1], capture=False)
    assert recorded == pytest.approx(ordinary, rel=1e-5)
    assert len(set(recorded)) == 12, "every replay must draw its own views and negatives"


METHODS_ON_GPU = [name for name in METHODS if method_class(name).trains and name != "signnap"]


@pytest.mark.parametrize("name", METHODS_ON_GPU)
def test_other_methods_are_recorded_alike(name, gpu_graph):
    """Sums over edges may come in any order there, so that losses agree to fewer digits."""
    kind, found = method_class(name), []
    small = {"dim": 8, "hidden": 8, "projector": 8, "negatives": 16, "temperature": 0.5, "split": "per-class:5:5"}
    used = {k: v for k, v in small.items() if k in kind.parameters() and (k != "split" or kind.uses_labels)}
    for capture in (True, False):
        model = kind(**used)
        run = model.run(model.training_view(gpu_graph, model.settings_for(gpu_graph.name).split))
        found.append(losses(run, 8, capture=capture))
    assert found[0] == pytest.approx(found[1], rel=1e-3) and len(set(found[0])) == 8


@pytest.mark.parametrize("name", [*METHODS_ON_GPU, "signnap"])
def test_looks_between_recorded_iterations_change_nothing(name, gpu_graph):
    kind, found = method_class(name), []
    small = {"dim": 8, "hidden": 8, "projector": 8, "negatives": 16, "temperature": 0.5, "split": "per-class:5:5"}
    used = {k: v for k, v in small.items() if k in kind.parameters() and (k != "split" or kind.uses_labels)}
    for looks in (True, False):
        model = kind(**used)
        run, totals = model.run(model.training_view(gpu_graph, model.settings_for(gpu_graph.name).split)), []
        for step in iterate(run, 8):
            if looks:
                run.task.describe(step, run.encoder)
            totals.append(float(step.total))
        found.append(totals)
    assert found[0] == pytest.approx(found[1], rel=1e-3) and len(set(found[0])) == 8


def test_a_late_recording_draws_the_same(gpu_graph, start, monkeypatch):
    """Another process may keep the device from what the recording began with until its first replay is under way."""
    begin = torch.cuda.CUDAGraph.capture_begin

    def late(*args, **options):
        torch.cuda._sleep(10**9)
        return begin(*args, **options)

    runs = [start(gpu_graph) for _ in range(2)]
    step = runs[0].task.step
    runs[0].task.step = lambda: (torch.cuda._sleep(2 * 10**9), step())[1]
    monkeypatch.setattr(torch.cuda.CUDAGraph, "capture_begin", late)
    assert losses(runs[0], 5) == pytest.approx(losses(runs[1], 5, capture=False), rel=1e-5)


@pytest.mark.parametrize("kind", NOISES)
def test_noise_on_sparse_features_is_recorded(kind, gpu_graph, start, caplog):
    caplog.set_level(logging.INFO)
    graph = replace(gpu_graph, x=compact(sp.random(40, 200, 0.1, random_state=0)).to("cuda"))
    runs = [start(graph, noise=f"{kind}:0.1") for _ in range(2)]
    recorded, ordinary = losses(runs[0]), losses(runs[1], capture=False)
    assert recorded == pytest.approx(ordinary, rel=1e-5) and len(set(recorded)) == 12
    assert "without a recorded graph" not in caplog.text


WIDE = MAX_DIM + 8  # too wide for the kernels of the contrast


@pytest.mark.parametrize("share", [1, 8])
def test_wide_embeddings_are_recorded_too(share, gpu_graph, start):
    runs = [start(gpu_graph, dim=WIDE, share=share) for _ in range(2)]
    assert losses(runs[0]) == pytest.approx(losses(runs[1], capture=False), rel=1e-5)


@pytest.mark.parametrize(("backbone", "dim"), [*((name, 8) for name in ENCODERS), ("gcn", WIDE)])
def test_cpu_and_gpu_agree_without_chance(backbone, dim, small_graph, gpu_graph, start):
    """With nothing dropped and all nodes as negatives of everybody, no randomness is left but the first weights."""

    settings = {"dim": dim, "drop_edge": 0.0, "dropout": 0.0, "share": 0, "negatives": 40}
    runs = [start(graph, backbone, **settings) for graph in (small_graph, gpu_graph)]
    everybody = torch.arange(40, dtype=torch.int32)[None]
    bank = {name: value.clone() for name, value in runs[0].task.objective.bank.state_dict().items()}
    runs[1].task.objective.bank.load_state_dict(bank)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("signnap.objectives.nce.draw_negatives", lambda n, k, share, g: everybody.to(g.device))
        found = [losses(run, 5, capture=False) for run in runs]
    assert found[0] == pytest.approx(found[1], rel=2e-4)


def test_seeds_together_are_seeds_alone(gpu_graph, start):
    alone = [losses(start(gpu_graph, seed=seed)) for seed in range(3)]
    runs = [start(gpu_graph, seed=seed) for seed in range(3)]
    together = [[float(step.total) for _, step in steps] for steps in lockstep(runs, 12)]
    for seed, one in enumerate(zip(*together, strict=True)):
        assert list(one) == pytest.approx(alone[seed], rel=1e-5)


def test_a_run_resumes_where_it_was(gpu_graph, tmp_path):
    settings = {"dim": 8, "negatives": 16, "temperature": 0.5}
    whole = SIGNNAP(iterations=40, **settings).fit(gpu_graph, device="cuda")
    SIGNNAP(iterations=20, **settings).fit(gpu_graph, device="cuda", out=tmp_path / "run")
    rest = SIGNNAP(iterations=40, **settings).fit(gpu_graph, device="cuda", out=tmp_path / "run", resume=True)
    assert rest.transform(gpu_graph) == pytest.approx(whole.transform(gpu_graph), abs=1e-4)
    assert [r["iteration"] for r in RunFolder(tmp_path / "run").read_metrics()][-1] == 40


class Waits(Encoder):
    """An encoder that looks at its numbers, or waits in a way that only a recording notices."""

    def __init__(self, how):
        super().__init__()
        self.layer, self.how = nn.Linear(12, 8), how

    def forward(self, view):
        z = self.layer(as_dense(view.x))
        if self.how == "looks":
            return z / float(z.detach().abs().max())
        torch.cuda.synchronize()
        return z


@pytest.mark.parametrize("how", ["looks", "synchronises"])
def test_what_cannot_be_recorded_trains_without(how, gpu_graph, start, caplog):
    encoder = Waits(how)
    with caplog.at_level(logging.INFO, logger="signnap"):
        recorded = losses(start(gpu_graph, encoder))
    assert "training without a recorded graph" in caplog.text
    assert ("waits for the device" in caplog.text) == (how == "looks")
    assert recorded == pytest.approx(losses(start(gpu_graph, encoder), capture=False), rel=1e-5)
    assert torch.rand(3, device="cuda").isfinite().all(), "the default generator still works"
    assert torch.cuda.current_stream() == torch.cuda.default_stream()


def test_a_failed_recording_leaves_the_default_generator_where_it_was(gpu_graph, start):
    torch.cuda.manual_seed(3)
    wanted = torch.rand(3, device="cuda")
    torch.cuda.manual_seed(3)
    losses(start(gpu_graph, Waits("synchronises")))
    assert torch.equal(torch.rand(3, device="cuda"), wanted)


class Moves(InfoNCE):
    """An objective of one's own that replaces its state instead of changing it in place."""

    def __init__(self):
        super().__init__(negatives=16, temperature=0.5)
        self.register_buffer("weight", torch.ones(()))

    def forward(self, z1, z2, generator):
        terms = super().forward(z1, z2, generator)
        return replace(terms, total=terms.total * self.weight)

    def update(self, z1, z2, terms):
        super().update(z1, z2, terms)
        self.weight = self.weight + 1


def test_a_state_that_is_replaced_is_not_recorded(gpu_graph, start, caplog):
    with caplog.at_level(logging.INFO, logger="signnap"):
        recorded = losses(start(gpu_graph, objective=Moves()))
    assert "a part of this model replaces objective.weight instead of changing it in place" in caplog.text
    assert recorded == pytest.approx(losses(start(gpu_graph, objective=Moves()), capture=False), rel=1e-5)


def test_a_graph_without_edges_trains(gpu_graph, start):
    bare = Graph.from_edges([], [], as_dense(gpu_graph.x).cpu(), name="bare").to("cuda")
    assert len(set(losses(start(bare)))) == 12


@pytest.mark.parametrize("precision", ["tf32", "bf16"])
def test_coarse_products_come_close(precision, gpu_graph, start):
    coarse, fine = (losses(start(gpu_graph, dim=128, precision=p, share=8)) for p in (precision, "float32"))
    assert coarse == pytest.approx(fine, rel=0.05) and coarse != fine
    assert not torch.backends.cuda.matmul.allow_tf32
